"""What the receiver of messages cannot take goes in another way, or not at all."""

from translate.cases import Seen, in_1_0, old_message
from translate.messages import arrived_1_0, body_list, context, sent_to_1_0

from gateway.translate import message as translation


def test_an_upstream_that_takes_no_user_but_ours_is_told_none() -> None:
    sent = old_message(user_id=b"me")
    ctx = context(upstream="up", user_id=False)
    assert [loss.row for loss in translation.to_1_0(sent, ctx).losses] == ["properties.user-id"]
    assert in_1_0(sent, ctx)["user_id"] is None
    assert translation.to_1_0(old_message(), ctx).losses == []


def test_an_upstream_that_takes_no_lists_gets_their_octets() -> None:
    octets = body_list([])
    sent = old_message(octets, content_type="amqp/list")
    ctx = context(upstream="up", value_lists=False)
    payload, losses = sent_to_1_0(sent, ctx)
    assert losses == []
    assert in_1_0(sent, ctx)["content_type"] == "amqp/list"
    again = Seen(arrived_1_0(payload, "x", "k"))
    assert (again.body, again.mp.content_type) == (octets, "amqp/list")
