import pytest
from support.frames_1_0 import give_up
from support.management import NODE, Manager
from support.upstream_world import UpstreamWorld

from gateway.amqp_1_0 import _spec, events, types
from gateway.faces.upstream_1_0.managing.management import (
    CREDIT,
    NOTHING,
    UNANSWERED,
    read_response,
)
from gateway.translate.profiles.profile import Profile
from gateway.wire.tagged import Tagged

REFUSED = _spec.Error(condition="amqp:not-allowed", description="not here")


class Asker:
    """Remembers answers."""

    def __init__(self):
        self.told = []

    def on_answer(self, token, answer):
        self.told.append((token, answer.status, answer.text))


def world(**more):
    return UpstreamWorld(profile=Profile(management="rabbitmq"), **more)


def ask(w, path="/queues/q", *, method="DELETE", body=NOTHING, token=1, asker=None, **more):
    asker = asker or Asker()
    w.upstream.management.ask(method, path, body, asker, token, **more)
    w.step()
    return asker


def test_requests_go_over_a_pair_of_links_in_one_session():
    w = world()
    broker = w.connect()
    assert broker.attached == []
    ask(w)
    sender, receiver = broker.attached
    assert sender.attach.name == receiver.attach.name
    assert (sender.attach.role, receiver.attach.role) == (_spec.SENDER, _spec.RECEIVER)
    assert sender.link.session is receiver.link.session
    for attach in (sender.attach, receiver.attach):
        assert attach.properties["paired"] == Tagged(types.BOOLEAN, True)
        assert (attach.source.address, attach.target.address) == (NODE, NODE)


def test_there_is_credit_for_the_answer_before_a_request_is_sent():
    w = world()
    broker = w.connect()
    ask(w)
    told = [
        type(event)
        for event in broker.events
        if isinstance(event, (events.FlowReceived, events.DeliveryReceived))
    ]
    assert told == [events.FlowReceived, events.DeliveryReceived]


def test_a_request_is_a_message_and_its_answer_finds_the_asker():
    w = world()
    manager = Manager(w.connect())
    body = Tagged(types.MAP, [(Tagged(types.STRING, "durable"), Tagged(types.BOOLEAN, True))])
    asker = ask(w, method="PUT", body=body, token=7)
    ask(w, "/queues/other", token=8, asker=asker)
    assert manager.take() == [
        ("PUT", "/queues/q", {"durable": True}),
        ("DELETE", "/queues/other", None),
    ]
    manager.unanswered.reverse()
    manager.answer(204)
    manager.answer(409, "it is another")
    w.step()
    assert asker.told == [(8, 204, "status 204"), (7, 409, "it is another")]
    w.pass_time(60_000)
    assert len(asker.told) == 2


@pytest.mark.parametrize("begun", [False, True])
def test_the_credit_of_responses_that_are_given_up_is_given_again(begun):
    w = world()
    manager = Manager(w.connect())
    asker = ask(w, token=7)
    responses = manager.broker.link(NODE)
    for _ in range(2 * CREDIT):
        assert responses.credit > 0
        give_up(responses, begun=begun)
        w.step()
    manager.take()
    manager.answer(204)
    w.step()
    assert asker.told == [(7, 204, "status 204")]


def test_many_requests_keep_their_order_and_have_credit():
    w = world()
    manager = Manager(w.connect(credit=3))
    asker = Asker()
    for token in range(50):
        ask(w, f"/queues/{token}", token=token, asker=asker)
    seen = []
    for _ in range(50):
        seen += [path for _, path, _ in manager.take()]
        manager.answer()
        manager.broker.link(NODE, sends=False).send_flow(credit=3)
        w.step()
    assert seen == [f"/queues/{token}" for token in range(50)]
    assert [token for token, _, _ in asker.told] == list(range(50))


def test_a_peer_without_such_a_node_is_an_answer():
    w = world()
    w.connect(prepare=lambda b: b.refusals.update({NODE: REFUSED}))
    asker = ask(w, patient=True)
    assert asker.told == [(1, UNANSWERED, "amqp:not-allowed: not here")]
    assert not w.upstream.management.ask("GET", "/", NOTHING, asker, 2)


def test_a_request_that_gets_no_answer_ends_after_a_while():
    w = world(attach_timeout_ms=5_000)
    w.connect()
    asker = ask(w)
    w.pass_time(4_000)
    assert asker.told == []
    w.pass_time(2_000)
    assert asker.told == [(1, UNANSWERED, "its management does not answer")]


@pytest.mark.parametrize(("patient", "waits"), [(True, True), (False, False)])
def test_a_patient_request_waits_for_a_connection(patient, waits):
    w = world(attach_timeout_ms=5_000)
    asker = ask(w, patient=patient)
    w.pass_time(60_000)
    manager = Manager(w.connect())
    assert (asker.told == []) is waits
    assert len(manager.take()) == (1 if waits else 0)


def test_what_a_lost_connection_leaves_is_asked_again():
    w = world()
    manager = Manager(w.connect())
    asker = ask(w)
    assert len(manager.take()) == 1
    w.lose()
    manager = Manager(w.connect())
    assert manager.take() == [("DELETE", "/queues/q", None)]
    manager.answer()
    w.step()
    assert asker.told == [(1, 200, "status 200")]


def test_a_request_over_which_the_session_ends_twice_is_given_up():
    w = world()
    broker = w.connect()
    manager = Manager(broker)
    asker = ask(w)
    for _ in range(2):
        assert len(manager.take()) == 1
        assert asker.told == []
        broker.link(NODE, sends=False).session.send_end(error=REFUSED)
        w.step()
    assert asker.told == [(1, UNANSWERED, "the session ended")]
    again = ask(w, "/queues/r")
    assert manager.take() == [("DELETE", "/queues/r", None)]
    del manager.unanswered[:2]
    manager.answer()
    w.step()
    assert again.told == [(1, 200, "status 200")]


def test_when_one_link_is_detached_the_pair_is_made_anew():
    w = world()
    broker = w.connect()
    manager = Manager(broker)
    asker = ask(w)
    manager.take()
    broker.link(NODE, sends=True).send_detach(error=REFUSED)
    w.step()
    w.pass_time(2_000)
    assert len(manager.take()) == 1
    assert len(broker.links(NODE, sends=True)) == len(broker.links(NODE, sends=False)) == 1
    del manager.unanswered[0]
    manager.answer()
    w.step()
    assert asker.told == [(1, 200, "status 200")]


@pytest.mark.parametrize("payload", [b"", b"\x00", b"\x00\x53\x77\x40"])
def test_what_is_no_response_answers_nothing(payload):
    assert read_response(payload)[0] == -1
