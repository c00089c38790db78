"""Copies that go to the shadow of a queue: where, marked how, and who is to answer them."""

from support.face_1_0 import message as encoded
from support.upstream_relays import publish_encoded
from support.upstream_world import UpstreamWorld

from gateway.amqp_0_10._spec_structs import DeliveryProperties, MessageProperties, ReplyTo
from gateway.amqp_0_10.structs import write_header
from gateway.amqp_1_0 import _spec, sections
from gateway.audit.shares import SHARES
from gateway.bridge.remote.moving import Moving
from gateway.bridge.remote.remote import OnRejected, Placement
from gateway.bridge.remote.shadows import Shadowing
from gateway.config.placement import rules_of
from gateway.config.upstreams import NodeSection
from gateway.translate.facts import arrival_0_10, message_from_0_10
from gateway.translate.mapping_rows import number
from gateway.translate.profiles.profile import Profile
from gateway.translate.towards_1_0.hop import SHADOW_OF, shadow_mark
from gateway.translate.view import READER

TTL_MS = 5_000
UNREACHABLE = number("addresses.reply-to-unreachable")


def world(profile=None):
    """The local queue q, whose shadow is at the upstream."""
    node = {"queue": "q", "upstream": None, "shadow": {"upstream": "broker"}}
    rules = rules_of([NodeSection.model_validate(node)], {})
    w = UpstreamWorld(profile=profile, rules=rules)
    placement = Placement(w.upstream, spool=True, on_rejected=OnRejected.DROP)
    w.placements.shadows["q"] = Shadowing(
        placement, share=SHARES, octets_max=1 << 20, ttl_ms=TTL_MS, mark=shadow_mark("q")
    )
    w.world.queue("q")
    w.connect()
    return w


def test_they_go_to_the_shadows_address_marked_and_for_a_while():
    w = world()
    publish_encoded(w, encoded(b"1"))
    (copy,) = w.broker.received()
    assert w.broker.asked_for == ["q.shadow"]
    found = sections.scan(copy.payload)
    annotations = sections.annotations(copy.payload, found.message_annotations)
    assert {key.value: value.value for key, value in annotations} == {SHADOW_OF: "q"}
    assert sections.header(copy.payload, found).ttl == TTL_MS
    w.broker.settle(copy)
    w.step()
    assert w.world.depth("q") == 1
    w.world.check()


def test_what_has_no_node_there_ends_and_its_queue_has_it():
    w = world()
    w.broker.refusals["q.shadow"] = _spec.Error(condition="amqp:not-found")
    publish_encoded(w, encoded(b"1"))
    w.broker.link("q.shadow", sends=False).send_detach(
        closed=True, error=_spec.Error(condition="amqp:not-found")
    )
    w.pass_time(60_000)
    publish_encoded(w, encoded(b"2"))
    assert w.world.depth("q") == 2
    w.world.check()


def test_nobody_answers_the_copy_of_a_request_by_way_of_the_gateway():
    w = world(Profile(dynamic_nodes=True))
    w.world.queue("answers")
    reply_to = ReplyTo(exchange="", routing_key="answers")
    header = write_header(DeliveryProperties(routing_key="q"), MessageProperties(reply_to=reply_to))
    message = message_from_0_10(
        arrival_0_10(header, len(header)),
        header + b"?",
        len(header),
        id=w.bridge.numbers.next_message(),
        exchange="",
        now_ms=w.now_ms,
        times_in_ms=False,
        publisher=1,
        reader=READER,
    )
    w.host.publishing.publish(message, None, 0)
    w.step()
    (copy,) = w.broker.received()
    assert copy.payload[-1:] == b"?"
    assert w.broker.asked_for == ["q.shadow"]  # and no node for replies
    assert w.faces.translated.lost[UNREACHABLE] == 1


def test_it_ends_when_a_rule_ends_it():
    w = world()
    publish_encoded(w, encoded(b"1"))
    del w.placements.shadows["q"]
    Moving(w.bridge, w.placements, [w.upstream]).carry_out()
    w.step()
    assert len(w.broker.received()) == 1
    assert w.host.nodes.shadows.queues() == []
    publish_encoded(w, encoded(b"2"))
    assert w.broker.received() == []
    w.world.check()
