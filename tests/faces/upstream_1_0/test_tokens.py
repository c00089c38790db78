"""Tokens for nodes: first of all on a connection, one for each address, renewed, refused, late."""

import pytest
from support.bridge_world import Producer
from support.face_1_0 import message as encoded
from support.frames_1_0 import give_up
from support.service_bus import NAMESPACE, ServiceBus
from support.upstream_world import UpstreamWorld

from gateway.amqp_1_0 import _spec, events
from gateway.errors import DecodeError
from gateway.faces.dialled.settings import CbsToken
from gateway.faces.upstream_1_0 import tokens as cbs_1_0
from gateway.message import Condition, OutcomeKind
from gateway.translate.profiles.profile import Profile
from gateway.translate.profiles.templates import Template
from gateway.wire.limits import Limits

HOUR_MS = 3_600_000


class Tokens:
    """Numbered tokens that are good for an hour; `problem`: why there are none."""

    def __init__(self):
        self.made = []
        self.problem = ""
        self.lifetime_ms = HOUR_MS

    def __call__(self, audience, now_ms):
        if self.problem:
            return CbsToken(problem=self.problem)
        self.made.append(audience)
        expires_ms = now_ms + self.lifetime_ms if self.lifetime_ms else 0
        return CbsToken("kind", f"token {len(self.made)}", expires_ms=expires_ms)


def world(tokens=None, *, profile=None, **more):
    w = UpstreamWorld(
        profile=profile or Profile(browse="none"),
        tokens=tokens or Tokens(),
        hostname=NAMESPACE,
        **more,
    )
    return w.place("q", "r")


def test_the_token_comes_before_the_link():
    w = world()
    producer = Producer()
    w.publish(b"x", publisher=producer)
    bus = w.connect(kind=ServiceBus)
    assert [address for address in addresses(bus)] == ["$cbs", "$cbs", "q"]
    assert bus.refused == []
    (put,) = bus.puts
    assert put["operation"] == "put-token"
    assert put["type"] == "kind"
    assert put["name"] == f"sb://{NAMESPACE}/q"
    assert put["token"] == "token 1"
    assert put["expiration"] == w.now_ms + HOUR_MS
    for delivery in bus.received():
        bus.settle(delivery)
    w.step()
    assert producer.published[0][1].kind == OutcomeKind.ACCEPTED
    w.check()


def addresses(bus):
    found = []
    for event in bus.attached:
        attach = event.attach
        found.append((attach.source if attach.role else attach.target).address)
    return found


def test_each_address_has_its_token_and_all_its_links_share_it():
    w = world()
    bus = w.connect(kind=ServiceBus)
    w.subscribe("q")
    w.subscribe("q")
    w.subscribe("r")
    w.publish(b"x", key="q", publisher=Producer())
    assert sorted(bus.paths()) == ["q", "r"]
    assert len(bus.links("q", sends=True)) == 2
    assert bus.refused == []


@pytest.mark.parametrize("begun", [False, True])
def test_the_credit_of_answers_that_are_given_up_is_given_again(begun):
    w = world()
    w.subscribe("q")
    bus = w.connect(kind=ServiceBus)
    answers = bus.link("$cbs")
    for _ in range(2 * cbs_1_0.CREDIT):
        assert answers.credit > 0
        give_up(answers, begun=begun)
        w.step()
    w.subscribe("r")
    assert bus.paths() == ["q", "r"]
    assert bus.refused == []


@pytest.mark.parametrize("code", [200, 202])
def test_both_codes_of_success_count(code):
    w = world()
    consumer, _ = w.subscribe()
    w.connect(kind=ServiceBus, statuses={"q": (code, "")})
    assert consumer.attached == 1


def test_a_token_is_put_anew_before_it_expires_and_links_stay():
    w = world()
    w.subscribe()
    bus = w.connect(kind=ServiceBus)
    link = bus.link("q")
    w.pass_time(HOUR_MS * 3 // 4 - 1)
    assert bus.paths() == ["q"]
    w.pass_time(1)
    assert bus.puts[0]["token"] == "token 2"
    w.pass_time(10 * HOUR_MS)
    assert len(bus.puts) >= 13
    assert bus.link("q") is link
    assert w.counts.links_detached == 0


def test_a_token_that_does_not_say_when_it_expires_is_put_every_half_hour():
    tokens = Tokens()
    tokens.lifetime_ms = 0
    w = world(tokens)
    w.subscribe()
    bus = w.connect(kind=ServiceBus)
    w.pass_time(HOUR_MS)
    assert bus.paths() == ["q"] * 3


def exchange_world(**more):
    """Each key of an exchange is an address, and the link of the last one is kept."""
    profile = Profile(exchange=Template("{exchange|word}.{key|percent}"))
    return world(profile=profile, addresses_max=1, **more).place(exchange="events")


def publish_each(w, bus, *keys):
    for key in keys:
        w.publish(b"x", exchange="events", key=key, publisher=Producer())
        for delivery in bus.received():
            bus.settle(delivery)
        w.step()


def test_a_token_that_nobody_uses_any_more_is_not_renewed():
    w = exchange_world()
    bus = w.connect(kind=ServiceBus)
    publish_each(w, bus, "a", "b")
    w.pass_time(HOUR_MS)
    assert bus.paths() == ["events.a", "events.b", "events.b"]


def test_tokens_of_addresses_without_links_make_room_for_others():
    w = exchange_world(limits=Limits(links_max=5))
    bus = w.connect(kind=ServiceBus)
    keys = [f"k{number}" for number in range(20)]
    publish_each(w, bus, *keys)
    assert bus.refused == []
    w.pass_time(HOUR_MS)
    assert len(bus.paths()) == len(keys) + 1


def test_a_token_that_is_refused_is_a_refusal_of_the_node_and_operators_hear_why():
    w = world()
    consumer, _ = w.subscribe()
    bus = w.connect(kind=ServiceBus, statuses={"q": (401, "InvalidSignature")})
    assert consumer.cancelled == [Condition.UNAUTHORIZED_ACCESS]
    assert consumer.why == ["token for q: 401 InvalidSignature"]
    assert w.upstream.health.last_error == "token for q: 401 InvalidSignature"
    assert "q" not in addresses(bus)


def test_an_entity_that_is_not_there_is_not_found():
    w = world()
    consumer, _ = w.subscribe()
    w.connect(kind=ServiceBus, statuses={"q": (404, "no such entity")})
    assert consumer.cancelled == [Condition.NOT_FOUND]


def test_another_entity_is_not_concerned_by_a_refusal():
    w = world()
    w.subscribe("q")
    consumer, _ = w.subscribe("r")
    bus = w.connect(kind=ServiceBus, statuses={"q": (401, "")})
    bus.deliver("r", encoded(b"x"))
    w.step()
    assert len(consumer.deliveries) == 1


def test_a_service_that_is_out_of_order_is_asked_again():
    w = world()
    consumer, _ = w.subscribe()
    bus = w.connect(kind=ServiceBus, statuses={"q": (500, "internal")})
    assert consumer.cancelled == []
    assert w.upstream.health.last_error == "token for q: 500 internal"
    bus.statuses.clear()
    w.pass_time(5_000)
    assert consumer.attached == 1


def test_a_service_that_does_not_answer_is_asked_again_until_the_client_has_waited_enough():
    w = world(attach_timeout_ms=10_000)
    producer = Producer()
    w.publish(b"x", publisher=producer)
    bus = w.connect(kind=ServiceBus, statuses={"q": None})
    consumer, _ = w.subscribe()
    w.pass_time(12_000)
    assert consumer.cancelled == [Condition.INTERNAL_ERROR]
    assert "no answer to put-token" in w.upstream.health.last_error
    assert producer.published == []
    bus.statuses.clear()
    w.pass_time(60_000)
    assert len(bus.received()) == 1


def test_a_renewal_that_is_refused_is_tried_again_while_the_token_before_it_is_good():
    w = world()
    consumer, _ = w.subscribe()
    bus = w.connect(kind=ServiceBus)
    bus.statuses["q"] = (401, "expired")
    w.pass_time(HOUR_MS * 3 // 4)
    assert w.upstream.health.last_error == "token for q: 401 expired"
    assert consumer.cancelled == []
    bus.statuses.clear()
    w.pass_time(5_000)
    assert len(bus.puts) == 3
    w.pass_time(60_000)
    assert len(bus.puts) == 3


def test_without_a_token_of_our_own_nothing_is_asked():
    tokens = Tokens()
    tokens.problem = "cannot read key"
    w = world(tokens)
    consumer, _ = w.subscribe()
    bus = w.connect(kind=ServiceBus)
    assert consumer.why == ["token for q: cannot read key"]
    assert bus.puts == []


def test_a_new_connection_knows_no_token():
    w = world()
    consumer, _ = w.subscribe()
    w.connect(kind=ServiceBus)
    w.lose()
    bus = w.connect(kind=ServiceBus)
    assert bus.paths() == ["q"]
    bus.deliver("q", encoded(b"x"))
    w.step()
    assert len(consumer.deliveries) == 1


def test_a_request_that_is_lost_with_its_connection_is_made_again():
    w = world()
    consumer, _ = w.subscribe()
    w.connect(kind=ServiceBus, statuses={"q": None})
    assert consumer.attached == 0
    w.lose()
    w.connect(kind=ServiceBus)
    assert consumer.attached == 1


def test_the_node_of_tokens_may_detach_its_links():
    w = world()
    w.subscribe()
    bus = w.connect(kind=ServiceBus)
    bus.link("$cbs", sends=True).send_detach(closed=True)
    bus.link("$cbs", sends=False).send_detach(closed=True)
    w.step()
    consumer, _ = w.subscribe("r")
    w.pass_time(5_000)
    assert consumer.attached == 1
    assert bus.link("q").attached


def test_a_request_that_the_node_rejects_is_a_failure():
    w = world()
    w.subscribe()

    def prepare(bus):
        def reject(event):
            error = _spec.Error(condition="amqp:internal-error", description="no")
            bus.settle(event, _spec.Rejected(error=error))

        bus._put_token = reject

    w.connect(kind=ServiceBus, prepare=prepare)
    assert w.upstream.health.last_error == "token for q: amqp:internal-error: no"


def test_an_answer_to_nobody_and_one_that_is_none_are_passed_over():
    w = world()
    consumer, _ = w.subscribe()
    bus = w.connect(kind=ServiceBus, statuses={"q": None})
    bus.deliver("$cbs", encoded(b"no answer"))
    bus.deliver("$cbs", b"\x00")
    w.step()
    assert len(bus.take_all(events.DispositionReceived)) >= 1
    assert consumer.attached == 0
    assert w.upstream.health.connected


def test_an_answer_needs_a_correlation_id_and_a_status_code():
    with pytest.raises(DecodeError):
        cbs_1_0.answer(encoded(b"x"))
