"""A reply finds its way: within the gateway, to an upstream, and back from it."""

from translate.cases import Seen, new_message, old_message
from translate.fields_cases import Reachable, far_message
from translate.messages import arrived_1_0, context, sent_to_1_0

from gateway.amqp_0_10._spec_structs import ReplyTo
from gateway.message import Message
from gateway.translate import message as translation
from gateway.translate.context import Context

HERE = ReplyTo(exchange="", routing_key="q")
NODES = Reachable({("", "q"): "temp-1", ("", "late"): ""})


def towards(reply_to: ReplyTo, **settings: object) -> tuple[Context, bytes]:
    ctx = context(upstream="up", reply_address=NODES, gateway="this", **settings)
    return ctx, sent_to_1_0(old_message(reply_to=reply_to), ctx)[0]


def from_upstream(payload: bytes) -> Message:
    return arrived_1_0(payload, "far-x", "k")


def test_a_request_that_comes_back_here_names_the_node_that_it_named() -> None:
    _, payload = towards(HERE)
    assert Seen(from_upstream(payload), context(gateway="this")).mp.reply_to == HERE


def test_at_another_gateway_the_reply_goes_back_by_the_upstream() -> None:
    _, payload = towards(HERE)
    pair = Seen(from_upstream(payload), context(gateway="another")).mp.reply_to
    assert pair == ReplyTo(exchange="upstream.up", routing_key="temp-1")


def test_without_escrow_too_the_reply_goes_back_by_the_upstream() -> None:
    ctx, payload = towards(HERE, escrow=False)
    pair = Seen(from_upstream(payload), context(gateway="this")).mp.reply_to
    assert pair == ReplyTo(exchange="upstream.up", routing_key="temp-1")
    assert sum(ctx.counts.lost) == 0


def test_an_address_of_the_upstream_goes_back_there_as_it_was() -> None:
    pair = Seen(far_message(reply_to="/queues/a%20b")).mp.reply_to
    assert pair == ReplyTo(exchange="upstream.up", routing_key="/queues/a%20b")
    _, payload = towards(pair)
    again = Seen(from_upstream(payload)).mp.reply_to
    assert again == pair


def test_a_reply_node_that_is_on_its_way_is_no_loss() -> None:
    ctx = context(upstream="up", reply_address=NODES, gateway="this")
    reply_to = ReplyTo(exchange="", routing_key="late")
    assert translation.to_1_0(old_message(reply_to=reply_to), ctx).losses == []
    assert sum(ctx.counts.lost) == 0


def test_a_node_here_comes_before_an_address_at_the_upstream() -> None:
    assert Seen(far_message(reply_to="q")).mp.reply_to == HERE


def test_what_came_from_a_client_names_nothing_at_an_upstream() -> None:
    pair = Seen(new_message(reply_to="far/away")).mp.reply_to
    assert pair == ReplyTo(exchange="", routing_key="far/away")
