"""Nodes at an upstream by which replies come back to nodes of the gateway."""

import pytest
from support.bridge_world import Producer
from support.face_1_0 import message as encoded
from support.frames_1_0 import give_up
from support.own_rules import own_rules
from support.upstream_world import UpstreamWorld

from gateway.amqp_0_10._spec_structs import DeliveryProperties, MessageProperties, ReplyTo
from gateway.amqp_0_10.structs import write_header
from gateway.amqp_1_0 import _spec, sections
from gateway.amqp_1_0._spec import Error, Source
from gateway.audit.schema import Kind, Reason
from gateway.faces.access.client_access import ClientAccess
from gateway.faces.leaving import GONE
from gateway.permissions.actions import Action
from gateway.translate.facts import arrival_0_10, message_from_0_10
from gateway.translate.mapping_rows import number
from gateway.translate.profiles.profile import Profile
from gateway.translate.profiles.templates import Template
from gateway.translate.view import READER
from gateway.wire.buffers import Reader

UNREACHABLE = number("addresses.reply-to-unreachable")
DYNAMIC = None  # what an attach that asks for a node says of its address


class Container:
    """Answers each dynamic source with a node of its own, as long as it `makes` them."""

    def __init__(self):
        self.made = 0
        self.makes = True

    def prepare(self, broker):
        broker.answers[DYNAMIC] = lambda event: self.answer(broker, event)

    def answer(self, broker, event):
        if not self.makes:
            event.link.refuse(Error(condition="amqp:not-implemented"))
            return
        self.made += 1
        broker.accept(event, source=Source(address=f"reply-{self.made}", dynamic=True))


def world(*, container=None, prepare=None, profile=None, **settings):
    """Queue q at the upstream, queue `answers` here with somebody who takes replies."""
    w = UpstreamWorld(profile=profile or Profile(dynamic_nodes=True), **settings).place("q")
    w.world.queue("answers")
    w.container = container or Container()
    w.connect(prepare=prepare or w.container.prepare)
    return w


def request(w, body=b"?", *, key="answers", exchange="", publisher=None, by=1, user=None):
    """A 0-10 client asks what lives upstream, and names a node of ours for the reply."""
    properties = MessageProperties(
        reply_to=ReplyTo(exchange=exchange, routing_key=key),
        user_id=user.encode() if user else None,
    )
    header = write_header(DeliveryProperties(routing_key="q"), properties)
    message = message_from_0_10(
        arrival_0_10(header, len(header)),
        header + body,
        len(header),
        id=w.bridge.numbers.next_message(),
        exchange="",
        now_ms=w.now_ms,
        publisher=by,
        times_in_ms=False,
        reader=READER,
    )
    w.host.publishing.publish(message, publisher or Producer(), 1)
    w.step()


def reply_to(payload):
    """The reply-to of a message as the container got it."""
    found = sections.scan(payload)
    return _spec.Properties.decode(Reader(payload, found.properties)).reply_to


def named(w):
    """The reply-to of all that the container got, taken."""
    return [reply_to(each.payload) for each in w.broker.received()]


def consumer(w, queue="answers"):
    outlet, _ = w.world.subscribe(queue)
    return outlet


def test_a_request_names_a_node_there_by_which_the_reply_comes_back():
    w = world()
    request(w)
    assert named(w) == ["reply-1"]
    outlet = consumer(w)
    w.broker.deliver(DYNAMIC, encoded(b"!"))
    w.step()
    assert [body[-1:] for body in outlet.bodies()] == [b"!"]
    assert w.broker.states() == [_spec.Accepted()]
    w.check()


def test_one_node_serves_all_requests_that_name_the_same_node_of_ours():
    w = world()
    w.world.queue("others")
    for key in ("answers", "others", "answers"):
        request(w, key=key)
    assert named(w) == ["reply-1", "reply-2", "reply-1"]
    assert w.container.made == 2


def test_a_request_waits_until_the_node_has_its_address():
    asked = []

    def prepare(broker):
        broker.answers[DYNAMIC] = asked.append

    w = world(prepare=prepare)
    request(w)
    assert w.broker.received() == []
    w.broker.accept(asked[0], source=Source(address="late", dynamic=True))
    w.step()
    assert named(w) == ["late"]


@pytest.mark.parametrize(("exchange", "address"), [("", "r"), ("far", "x/far/r")])
def test_a_node_that_lives_there_goes_by_its_address_there(exchange, address):
    profile = Profile(dynamic_nodes=True, exchange=Template("x/{exchange|plain}/{key}"))
    w = world(profile=profile).place("r", exchange="far")
    request(w, key="r", exchange=exchange)
    assert named(w) == [address]
    assert w.container.made == 0


def test_without_nodes_there_a_request_goes_with_our_name_and_that_is_a_loss():
    w = world(profile=Profile())
    request(w)
    assert named(w) == ["answers"]
    assert w.faces.translated.lost[UNREACHABLE] == 1


def test_an_upstream_that_refuses_the_node_gets_the_request_all_the_same():
    container = Container()
    container.makes = False
    w = world(container=container)
    request(w, b"a")
    request(w, b"b")
    assert named(w) == ["answers", "answers"]
    assert w.faces.translated.lost[UNREACHABLE] == 2
    assert len(w.broker.attached) == 2  # the queue, and the node: asked for once


def test_a_durable_reply_is_accepted_when_it_is_safe_here():
    w = world()
    w.world.queue("kept", durable=True)
    request(w, key="kept")
    w.world.auto_commit = False
    w.broker.deliver(DYNAMIC, encoded(b"!", header=_spec.Header(durable=True)))
    w.step()
    assert w.broker.states() == []
    w.world.commit()
    w.step()
    assert w.broker.states() == [_spec.Accepted()]


def test_a_reply_to_a_node_that_is_gone_is_rejected_and_so_is_the_node():
    w = world()
    request(w)
    w.host.declaring.delete_queue("answers", None, if_unused=False, if_empty=False)
    w.broker.deliver(DYNAMIC, encoded(b"!"))
    w.step()
    [state] = w.broker.states()
    assert state.error.condition == "amqp:not-found"
    assert w.broker.links(DYNAMIC, sends=True) == []


def test_a_reply_that_is_no_message_is_rejected_and_the_next_one_comes():
    w = world()
    request(w)
    outlet = consumer(w)
    w.broker.deliver(DYNAMIC, b"\x00\x53\x75\xa0")
    w.broker.deliver(DYNAMIC, encoded(b"!"))
    w.step()
    wrong, right = w.broker.states()
    assert (wrong.error.condition, right) == ("amqp:decode-error", _spec.Accepted())
    assert (len(outlet.deliveries), w.counts.undecodable) == (1, 1)
    assert w.bridge.counts.refusals == {Reason.UNDECODABLE: 1}


def test_a_reply_of_another_message_format_comes_as_octets():
    w = world()
    request(w)
    outlet = consumer(w)
    w.broker.deliver(DYNAMIC, b"anything", message_format=7)
    w.step()
    assert [each.message.message_format for each in outlet.deliveries] == [7]
    assert w.broker.states() == [_spec.Accepted()]


def test_credit_for_replies_is_given_again_before_it_ends():
    w = world()
    request(w)
    outlet = consumer(w)
    for _ in range(3):
        for number_ in range(60):
            w.broker.deliver(DYNAMIC, encoded(b"%d" % number_))
        w.step()
    assert len(outlet.deliveries) == 180
    assert w.broker.link(DYNAMIC).credit >= 50


def test_the_credit_of_replies_that_are_given_up_is_given_again():
    w = world()
    request(w)
    link = w.broker.link(DYNAMIC)
    for _ in range(300):
        assert link.credit > 0
        give_up(link)
        w.step()


def test_a_node_that_ends_there_is_asked_for_anew_by_the_next_request():
    w = world()
    request(w)
    w.broker.link(DYNAMIC).send_detach(
        closed=True, error=Error(condition="amqp:resource-deleted", description="gone")
    )
    w.step()
    request(w)
    assert named(w) == ["reply-1", "reply-2"]


def test_nodes_end_with_their_connection_and_later_requests_get_others():
    w = world()
    request(w)
    assert named(w) == ["reply-1"]
    w.lose()
    w.connect(prepare=w.container.prepare)
    request(w)
    assert named(w)[-1] == "reply-2"
    outlet = consumer(w)
    w.broker.deliver(DYNAMIC, encoded(b"!"))
    w.step()
    assert len(outlet.deliveries) == 1


def test_what_became_of_a_reply_is_not_said_of_one_that_the_next_connection_brings():
    w = world().place("far")
    w.host.bindings.bind("far", "amq.fanout", "", {}, b"")
    request(w, exchange="amq.fanout")
    w.broker.deliver(DYNAMIC, encoded(b"1"))
    w.step()
    w.lose()
    w.connect(prepare=w.container.prepare)
    w.broker.deliver(DYNAMIC, encoded(b"2"))
    w.step()
    [first, second] = [each for each in w.broker.received() if each.payload[-1:] != b"?"]
    w.broker.settle(first)
    w.step()
    assert w.broker.states() == []  # it was of the first reply, whose connection is gone
    w.broker.settle(second)
    w.step()
    assert w.broker.states() == [_spec.Accepted()]


def test_the_oldest_node_makes_room_for_one_more():
    w = world(reply_nodes_max=2)
    for key in ("one", "two", "three"):
        w.world.queue(key)
        request(w, key=key)
    assert named(w) == ["reply-1", "reply-2", "reply-3"]
    assert len(w.broker.links(DYNAMIC, sends=True)) == 2
    request(w, key="one")
    assert named(w) == ["reply-4"]


def test_nodes_go_with_the_queue_whose_requests_they_serve():
    w = world()
    request(w)
    [sent] = w.broker.received()
    w.broker.settle(sent)
    w.step()
    w.upstream.unserve(w.host.topology.find_queue("q"))
    w.step()
    assert w.broker.links(DYNAMIC, sends=True) == []


# Who may have what comes by them published.


class Users:
    """`faces.face.Logins`."""

    def __init__(self, *names):
        self.names = set(names)

    def has(self, name):
        return name in self.names


def ruled(*rules, users=("alice", "mallory"), **more):
    """The same world under access rules, with a connection of each user, numbered from 1."""
    w = world(**more)
    w.faces.access.adopt(own_rules(*rules, "allow: connect"), "f", w.bridge.turns.spread)
    w.faces.logins = Users(*users)
    for number_, user in enumerate(users, 1):
        login(w, number_, user)
    return w


def login(w, connection, user, proved=True):
    book, address = w.faces.access, f"10.0.0.{connection}"
    access = ClientAccess(book.in_force, w.faces.counts, w.bridge, connection, address, GONE)
    assert book.admit(access, user, user if proved else "", w.host) is None
    return access


def records(w, kind):
    return [each for each in w.world.blocks.raw() if each["kind"] == kind]


def refused_access(w):
    return [
        (each["actor"], each["address"], each["message"])
        for each in records(w, Kind.ACCESS_REFUSED)
    ]


def queue_of(w, name, *, user="", connection=0, **settings):
    w.world.queue(name, **settings)
    made = w.host.topology.find_queue(name)
    made.settings.maker, made.settings.made_by = user, connection


def test_who_may_not_publish_to_a_node_gets_no_answers_published_there():
    w = ruled("allow: publish, queue: q", "allow: publish, queue: answers, users: alice")
    request(w, by=1)
    request(w, by=2)
    assert named(w) == ["reply-1", "answers"]
    assert w.faces.translated.lost[UNREACHABLE] == 1
    assert w.faces.counts.access_refused[Action.PUBLISH] == 1
    asked = records(w, Kind.RECEIVED)[-1]["message"]
    assert refused_access(w) == [("mallory", "10.0.0.2", asked)]
    w.check()


@pytest.mark.parametrize(("exchange", "key"), [("sx", "k"), ("", "nothing here")])
def test_neither_is_an_exchange_nor_a_queue_that_is_not_there(exchange, key):
    w = ruled("allow: publish, queue: q")
    if exchange:
        w.host.declaring.declare_exchange(exchange, "fanout")
    request(w, by=2, exchange=exchange, key=key)
    assert w.container.made == 0
    assert len(refused_access(w)) == 1


@pytest.mark.parametrize(
    ("rules", "temporary", "made"),
    [
        (["allow: consume, temporary: true, own: true"], True, 1),
        (["allow: consume, temporary: true, own: true"], False, 0),
        (["allow: browse, temporary: true, own: true"], True, 0),
        (["allow: [publish, consume], temporary: true, own: true"], True, 1),
    ],
)
def test_who_has_a_reply_queue_of_its_own_needs_nothing_more(rules, temporary, made):
    w = ruled(*rules)
    queue_of(w, "mine", user="alice", auto_delete=temporary)
    request(w, by=2, key="mine")
    assert w.container.made == 0
    request(w, by=1, key="mine")
    assert w.container.made == made


def test_each_user_has_a_node_of_its_own_and_the_log_says_whose():
    w = ruled("allow: publish")
    request(w, by=1)
    w.broker.deliver(DYNAMIC, encoded(b"!"))
    w.step()
    answer = records(w, Kind.RECEIVED)[-1]
    for by in (2, 1):
        request(w, by=by)
    assert named(w) == ["reply-1", "reply-2", "reply-1"]
    links = [each for each in records(w, Kind.LINK_ATTACHED) if each["actor"]]
    assert [(each["actor"], each["node"]) for each in links] == [
        ("alice", "answers"),
        ("mallory", "answers"),
    ]
    assert links[0]["peer"].endswith(": reply-1 at broker")
    assert answer["link"] == links[0]["link"]


def withdraws_rule(w):
    w.faces.access.adopt(own_rules("allow: connect"), "f", w.bridge.turns.spread)


def withdraws_user(w):
    w.faces.logins.names.remove("alice")


@pytest.mark.parametrize("withdraw", [withdraws_rule, withdraws_user])
def test_an_answer_that_may_not_be_published_any_longer_is_refused(withdraw):
    w = ruled("allow: publish")
    request(w, by=1)
    consumer(w)
    w.faces.access.dismiss(w.faces.access.client(1))
    withdraw(w)
    w.broker.deliver(DYNAMIC, encoded(b"!"))
    w.step()
    [state] = w.broker.states()
    assert state.error.condition == "amqp:unauthorized-access"
    assert w.bridge.counts.refusals == {Reason.NOT_ALLOWED: 1}
    refused = records(w, Kind.REFUSED)[-1]["message"]
    assert refused_access(w) == [("alice", "10.0.0.1", refused)]
    assert w.broker.links(DYNAMIC, sends=True) == []
    w.check()


@pytest.mark.parametrize(
    ("user", "made"),
    [("alice", 1), ("alice@QPID", 1), ("alice@ELSEWHERE", 0), ("mallory", 0), ("eve", 0), ("", 0)],
)
def test_who_has_gone_is_known_by_the_user_id(user, made):
    w = ruled("deny: publish, users: mallory, queue: answers", "allow: publish")
    request(w, by=77, user=user)
    assert w.container.made == made
    assert len(refused_access(w)) == 1 - made


def test_without_a_login_what_the_connection_has_made_is_its_own():
    w = ruled("allow: publish, own: true", users=())
    for number_ in (5, 6):
        login(w, number_, "anonymous", proved=False)
    queue_of(w, "mine", connection=5)
    for by in (6, 5):
        request(w, by=by, key="mine")
    assert named(w) == ["mine", "reply-1"]
