"""Cases for the rows of header, properties, annotations and escrow."""

from typing import Any

from translate.cases import (
    TO_0_10,
    TO_1_0,
    Seen,
    U,
    annotation,
    in_1_0,
    loses,
    new_message,
    old_message,
    prop,
    row,
    s,
    sym,
)
from translate.messages import (
    NOW_MS,
    arrived_1_0,
    body_map,
    context,
    data,
    message_0_10,
    sent_to_0_10,
    sent_to_1_0,
    value,
    view_1_0,
)

from gateway.amqp_0_10 import _spec_constants as old
from gateway.amqp_0_10._spec_structs import DeliveryProperties, ReplyTo
from gateway.amqp_1_0 import types as new
from gateway.amqp_1_0._spec import Header
from gateway.message import Condition, Message
from gateway.translate import ids, mapping_rows
from gateway.translate import message as translation
from gateway.translate.segment import open_header
from gateway.wire.tagged import Tagged

# Header and properties.


@row("header.durable", TO_1_0, TO_0_10)
def durable_is_persistent() -> None:
    assert in_1_0(old_message(dp=DeliveryProperties(delivery_mode=2)))["durable"] is True
    assert in_1_0(old_message())["durable"] is False
    assert Seen(new_message(header=Header(durable=True))).dp.delivery_mode == 2
    assert Seen(new_message()).dp.delivery_mode == 1


@row("header.priority", TO_1_0, TO_0_10)
def priority_is_copied_up_to_9() -> None:
    assert in_1_0(old_message(dp=DeliveryProperties(priority=7)))["priority"] == 7
    assert in_1_0(old_message())["priority"] is None
    assert Seen(new_message(header=Header(priority=3))).dp.priority == 3
    assert Seen(new_message(header=Header(priority=200))).dp.priority == 9
    assert Seen(new_message()).dp.priority is None


@loses("header.priority")
def a_priority_above_9() -> Message:
    return new_message(to="q", header=Header(priority=10))


@row("header.ttl", TO_1_0, TO_0_10)
def ttl_is_what_is_left() -> None:
    assert in_1_0(old_message(dp=DeliveryProperties(ttl=500)))["ttl"] == 500
    assert in_1_0(old_message(dp=DeliveryProperties(ttl=0)))["ttl"] is None
    long = in_1_0(old_message(dp=DeliveryProperties(ttl=2**33)))
    assert (long["ttl"], long["absolute_expiry_time"]) == (None, NOW_MS + 2**33)
    message = new_message(header=Header(ttl=500))
    late = context()
    late.now_ms = NOW_MS + 100
    assert Seen(message, late).dp.ttl == 400
    longest = in_1_0(old_message(dp=DeliveryProperties(ttl=2**64 - 1)))
    assert (longest["ttl"], longest["absolute_expiry_time"]) == (None, NOW_MS + 2**62)


@loses("header.ttl")
def a_ttl_beyond_2_to_the_62() -> Message:
    return old_message(dp=DeliveryProperties(ttl=2**62 + 1))


@row("header.delivery-count", TO_1_0, TO_0_10)
def redelivered_is_a_count_above_0() -> None:
    assert in_1_0(old_message(dp=DeliveryProperties(redelivered=True)))["delivery_count"] == 1
    assert Seen(new_message(header=Header(delivery_count=3))).dp.redelivered
    assert not Seen(new_message()).dp.redelivered


@row("properties.absolute-expiry-time", TO_1_0, TO_0_10)
def expiration_is_seconds_or_ms() -> None:
    seconds = in_1_0(old_message(dp=DeliveryProperties(expiration=1_800_000_000)))
    assert seconds["absolute_expiry_time"] == 1_800_000_000_000
    expiring = new_message(absolute_expiry_time=1_800_000_000_000)
    assert Seen(expiring).dp.expiration == 1_800_000_000
    assert Seen(expiring, context(java=True)).dp.expiration == 1_800_000_000_000


@loses("properties.absolute-expiry-time")
def an_expiry_below_a_second() -> Message:
    return new_message(to="q", absolute_expiry_time=1_800_000_000_001)


@row("properties.creation-time", TO_1_0, TO_0_10)
def timestamp_is_seconds_or_ms() -> None:
    java = in_1_0(old_message(dp=DeliveryProperties(timestamp=1_700_000_000_123)))
    assert java["creation_time"] == 1_700_000_000_123
    created = new_message(creation_time=1_700_000_000_123)
    assert Seen(created).dp.timestamp == 1_700_000_000
    assert Seen(created, context(java=True)).dp.timestamp == 1_700_000_000_123


@loses("properties.creation-time")
def a_creation_below_a_second() -> Message:
    return new_message(to="q", creation_time=1_700_000_000_123)


@row("properties.to", TO_1_0, TO_0_10)
def to_is_the_node() -> None:
    dp = DeliveryProperties(routing_key="k")
    assert in_1_0(old_message(exchange="x", dp=dp))["to"] == "x"
    assert in_1_0(old_message(dp=dp))["to"] == "k"
    seen = Seen(new_message("x", "k", to="elsewhere"))
    assert (seen.dp.exchange, seen.dp.routing_key) == ("x", "k")


@loses("properties.to")
def an_odd_to() -> Message:
    return new_message(to="elsewhere")


@row("properties.subject", TO_1_0, TO_0_10)
def subject_is_header_or_key_or_type() -> None:
    dp = DeliveryProperties(routing_key="k")
    subject = ("qpid.subject", Tagged(old.STR16, "told"))
    kind = ("x-jms-type", Tagged(old.STR16, "type"))
    assert in_1_0(old_message(exchange="x", dp=dp))["subject"] == "k"
    told = in_1_0(old_message(exchange="x", dp=dp, headers=[subject, kind]))
    assert told["subject"] == "told"
    assert prop(told, "x-jms-type") == (new.STRING, "type")
    assert prop(told, "qpid.subject") is None
    assert in_1_0(old_message(dp=dp, headers=[kind]))["subject"] == "type"
    assert in_1_0(old_message(dp=dp))["subject"] is None
    assert Seen(new_message(subject="a")).headers["qpid.subject"] == Tagged(old.STR16, "a")


@loses("properties.subject")
def a_subject_too_long_for_a_header() -> Message:
    return new_message(to="q", subject="s" * 70_000)


@row("delivery.discard-unroutable", TO_1_0)
@row("delivery.immediate", TO_1_0)
@row("delivery.resume-id", TO_1_0)
@row("delivery.resume-ttl", TO_1_0)
@row("header.other-structs", TO_1_0)
def what_only_0_10_has_comes_back_from_escrow() -> None:
    dp = DeliveryProperties(
        discard_unroutable=True, immediate=True, resume_id="r", resume_ttl=9, routing_key="q"
    )
    others = b"\0\0\0\4\4\2\3\0"
    payload, losses = sent_to_1_0(message_0_10(dp, None, b"", "", others), context())
    assert losses == []
    header, _, _ = sent_to_0_10(arrived_1_0(payload, "", "q"), context())
    back = open_header(header, len(header), 32)
    assert back.delivery.discard_unroutable and back.delivery.immediate
    assert (back.delivery.resume_id, back.delivery.resume_ttl) == ("r", 9)
    assert back.others == others


@loses("delivery.discard-unroutable")
def a_discard_unroutable() -> Message:
    return old_message(dp=DeliveryProperties(discard_unroutable=True))


@loses("delivery.immediate")
def an_immediate() -> Message:
    return old_message(dp=DeliveryProperties(immediate=True))


@loses("delivery.resume-id")
def a_resume_id() -> Message:
    return old_message(dp=DeliveryProperties(resume_id="r"))


@loses("delivery.resume-ttl")
def a_resume_ttl() -> Message:
    return old_message(dp=DeliveryProperties(resume_ttl=1))


@loses("header.other-structs")
def another_struct() -> Message:
    return message_0_10(None, None, b"", "", b"\0\0\0\4\4\2\3\0")


@row("properties.message-id", TO_1_0, TO_0_10)
def message_ids_are_uuids_in_0_10() -> None:
    assert in_1_0(old_message(message_id=U))["message_id"] == (new.UUID, U)
    assert Seen(new_message(message_id=Tagged(new.UUID, U))).mp.message_id == U
    spelt = s("ID:" + ids.text_of_uuid(U))
    assert Seen(new_message(message_id=spelt)).mp.message_id == U
    odd = Seen(new_message(message_id=s("odd"))).mp.message_id
    assert odd is not None and ids.is_name_based(odd)
    assert odd == Seen(new_message(message_id=s("odd"))).mp.message_id
    assert odd != Seen(new_message(message_id=Tagged(new.BINARY, b"odd"))).mp.message_id


@loses("properties.message-id")
def an_id_that_is_no_uuid() -> Message:
    return new_message(to="q", message_id=s("odd"))


@row("properties.correlation-id", TO_1_0, TO_0_10)
def correlation_ids_are_octets_in_0_10() -> None:
    assert in_1_0(old_message(correlation_id=b"abc"))["correlation_id"] == (new.STRING, "abc")
    assert in_1_0(old_message(correlation_id=b"\xff"))["correlation_id"] == (new.BINARY, b"\xff")
    assert Seen(new_message(correlation_id=Tagged(new.ULONG, 77))).mp.correlation_id == b"77"
    assert Seen(new_message(correlation_id=s("\u00e9"))).mp.correlation_id == b"\xc3\xa9"
    spelt = ids.text_of_uuid(U).encode()
    assert Seen(new_message(correlation_id=Tagged(new.UUID, U))).mp.correlation_id == spelt


@loses("properties.correlation-id")
def a_correlation_id_that_is_a_number() -> Message:
    return new_message(to="q", correlation_id=Tagged(new.ULONG, 77))


@row("replies.miss", TO_1_0)
def a_reply_finds_the_requesters_own_id() -> None:
    ctx = context()
    request = new_message(message_id=s("odd"), reply_to="q")
    uuid = Seen(request, ctx).mp.message_id
    assert uuid is not None
    for answer in (uuid, ids.text_of_uuid(uuid).encode(), b"ID:" + ids.text_of_uuid(uuid).encode()):
        assert in_1_0(old_message(correlation_id=answer), ctx)["correlation_id"] == (
            new.STRING,
            "odd",
        )
    _, losses = sent_to_1_0(old_message(correlation_id=uuid), context())
    assert losses == ["replies.miss"]


@row("properties.user-id", TO_1_0, TO_0_10)
def user_id_is_copied() -> None:
    assert in_1_0(old_message(user_id=b"me"))["user_id"] == b"me"
    assert Seen(new_message(user_id=b"me")).mp.user_id == b"me"
    seen = Seen(new_message(user_id=b"m" * 70_000))
    assert (seen.mp.user_id, seen.losses) == (None, ["properties.user-id"])


@row("properties.reply-to", TO_1_0, TO_0_10)
def reply_to_is_an_address() -> None:
    for exchange, key, address in (("", "q", "q"), ("x", "k", "x/k"), ("x", None, "x/")):
        reply_to = ReplyTo(exchange=exchange, routing_key=key)
        assert in_1_0(old_message(reply_to=reply_to))["reply_to"] == address
    for address, exchange, key in (("q", "", "q"), ("x", "x", ""), ("x/a/b", "x", "a/b")):
        assert Seen(new_message(reply_to=address)).mp.reply_to == ReplyTo(
            exchange=exchange, routing_key=key
        )


@loses("properties.reply-to")
def a_reply_to_that_reads_otherwise() -> Message:
    return old_message(reply_to=ReplyTo(exchange="", routing_key="x"))


@row("addresses.reply-to-unknown", TO_0_10)
def an_unknown_reply_to_is_a_key() -> None:
    ctx = context()
    seen = Seen(new_message(to="q", reply_to="far/away"), ctx)
    assert seen.mp.reply_to == ReplyTo(exchange="", routing_key="far/away")
    assert ctx.counts.escrowed[mapping_rows.ROWS["addresses.reply-to-unknown"].number] == 1


@loses("addresses.reply-to-unknown")
def an_unknown_reply_to() -> Message:
    return new_message(to="q", reply_to="far/away")


def far_message(**properties: Any) -> Message:
    """A message of upstream "up"."""
    return new_message(exchange="far-x", to="far-x", key="k", **properties)


@row("addresses.reply-to-upstream", TO_1_0, TO_0_10)
def a_foreign_reply_to_is_an_address_at_the_upstream() -> None:
    pair = ReplyTo(exchange="upstream.up", routing_key="far/away")
    assert Seen(far_message(reply_to="far/away")).mp.reply_to == pair
    ctx = context(upstream="up", escrow=False)
    assert in_1_0(old_message(reply_to=pair), ctx)["reply_to"] == "far/away"


@loses("addresses.reply-to-upstream")
def a_foreign_reply_to_that_is_too_long() -> Message:
    return far_message(reply_to="z" * 300)


class Reachable:
    """Upstream addresses of these nodes of ours."""

    def __init__(self, addresses: dict[tuple[str, str], str]) -> None:
        self.addresses = addresses

    def address_of(self, exchange: str, key: str) -> str | None:
        return self.addresses.get((exchange, key))


@row("addresses.reply-node", TO_1_0)
def an_upstream_knows_our_nodes_by_addresses_of_its_own() -> None:
    ctx = context(upstream="up", reply_address=Reachable({("", "q"): "temp-1"}))
    sent = old_message(reply_to=ReplyTo(exchange="", routing_key="q"))
    assert in_1_0(sent, ctx)["reply_to"] == "temp-1"
    assert sum(ctx.counts.lost) == 0


@row("addresses.reply-to-unreachable", TO_1_0)
def a_node_of_ours_may_be_out_of_reach() -> None:
    sent = old_message(reply_to=ReplyTo(exchange="x", routing_key="k"))
    for reachable in (None, Reachable({})):
        ctx = context(upstream="up", reply_address=reachable)
        made = translation.to_1_0(sent, ctx)
        assert [loss.row for loss in made.losses] == ["addresses.reply-to-unreachable"]
        assert in_1_0(sent, context(upstream="up", reply_address=reachable))["reply_to"] == "x/k"


@row("properties.content-type", TO_1_0, TO_0_10)
def content_type_stands_beside_data() -> None:
    png = in_1_0(old_message(b"\x89", content_type="image/png"))
    assert png["content_type"] == "image/png"
    assert in_1_0(old_message(body_map([]), content_type="amqp/map"))["content_type"] is None
    assert Seen(new_message(body=data(b"\x89"), content_type="image/png")).mp.content_type == (
        "image/png"
    )
    bad = new_message(body=data(b"\xff"), content_type="text/plain")
    assert Seen(bad).mp.content_type is None
    utf_8 = new_message(body=data(b"a"), content_type="text/plain; charset=utf-8")
    assert Seen(utf_8).mp.content_type == "text/plain; charset=utf-8"
    assert Seen(utf_8, context(java=True)).mp.content_type == "text/plain"


@loses("properties.content-type")
def a_content_type_beside_a_value() -> Message:
    body = value(Tagged(new.MAP, []))
    jms = [(sym("x-opt-jms-msg-type"), Tagged(new.BYTE, 2))]
    return new_message(to="q", body=body, content_type="odd/type", annotations=jms)


@row("properties.content-encoding", TO_1_0, TO_0_10)
def content_encoding_is_copied_but_charsets_move() -> None:
    gzip = in_1_0(old_message(b"z", content_type="text/plain", content_encoding="gzip"))
    assert (gzip["content_type"], gzip["content_encoding"]) == ("text/plain", "gzip")
    charset = in_1_0(old_message(b"z", content_type="text/plain", content_encoding="utf-8"))
    assert charset["content_type"] == "text/plain; charset=utf-8"
    assert charset["content_encoding"] is None
    assert in_1_0(old_message(b"z", content_encoding="identity"))["content_encoding"] is None
    assert Seen(new_message(body=data(b"z"), content_encoding="gzip")).mp.content_encoding == "gzip"


@loses("properties.content-encoding")
def an_encoding_beside_a_value() -> Message:
    jms = [(sym("x-opt-jms-msg-type"), Tagged(new.BYTE, 2))]
    body = value(Tagged(new.MAP, []))
    return new_message(to="q", body=body, content_encoding="gzip", annotations=jms)


@row("properties.app-id", TO_1_0, TO_0_10)
def app_id_is_a_property() -> None:
    assert prop(in_1_0(old_message(app_id=b"app")), "x-amqp-0-10.app-id") == (new.STRING, "app")
    seen = Seen(new_message(application=[(s("x-amqp-0-10.app-id"), s("app"))]))
    assert (seen.mp.app_id, seen.headers) == (b"app", {"x-amqp-1.0": seen.headers["x-amqp-1.0"]})


@loses("properties.app-id")
def an_app_id_that_would_be_text() -> Message:
    binary = Tagged(new.BINARY, b"app")
    return new_message(to="q", application=[(s("x-amqp-0-10.app-id"), binary)])


@row("properties.group-id", TO_1_0, TO_0_10)
def group_id_is_a_header() -> None:
    header = ("JMSXGroupID", Tagged(old.STR16, "g"))
    assert in_1_0(old_message(headers=[header]))["group_id"] == "g"
    assert Seen(new_message(group_id="g")).headers["JMSXGroupID"] == header[1]


@loses("properties.group-id")
def a_group_id_too_long() -> Message:
    return new_message(to="q", group_id="g" * 70_000)


@row("properties.group-sequence", TO_1_0, TO_0_10)
def group_sequence_is_a_header() -> None:
    header = ("JMSXGroupSeq", Tagged(old.INT32, 4))
    assert in_1_0(old_message(headers=[header]))["group_sequence"] == 4
    assert Seen(new_message(group_sequence=4)).headers["JMSXGroupSeq"] == header[1]
    large = Seen(new_message(group_sequence=2**31)).headers["JMSXGroupSeq"]
    assert large == Tagged(old.UINT32, 2**31)
    negative = in_1_0(old_message(headers=[("JMSXGroupSeq", Tagged(old.INT32, -1))]))
    assert prop(negative, "JMSXGroupSeq") == (new.INT, -1)


@loses("properties.group-sequence")
def a_property_under_the_sequences_name() -> Message:
    return new_message(
        to="q", group_sequence=1, application=[(s("JMSXGroupSeq"), Tagged(new.INT, 2))]
    )


@row("annotations.delivery-time", TO_1_0, TO_0_10)
def delivery_time_is_an_annotation() -> None:
    header = ("x-qpid-not-valid-before", Tagged(old.INT64, 5))
    seen = in_1_0(old_message(headers=[header]))
    assert annotation(seen, "x-opt-delivery-time") == (new.LONG, 5)
    later = [(sym("x-opt-delivery-time"), Tagged(new.TIMESTAMP, 5))]
    assert Seen(new_message(annotations=later)).headers["x-qpid-not-valid-before"] == header[1]


@loses("annotations.delivery-time")
def a_delivery_time_of_another_type() -> Message:
    later = [(sym("x-opt-delivery-time"), Tagged(new.TIMESTAMP, 5))]
    return new_message(to="q", annotations=later)


TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
OTHER_TRACE = "00-11111111111111111111111111111111-2222222222222222-01"


@row("annotations.trace-context", TO_1_0, TO_0_10)
def an_intermediarys_trace_context_is_a_header_and_an_annotation_again() -> None:
    message = new_message(
        to="q", annotations=[(sym("traceparent"), s(TRACE)), (sym("tracestate"), s("a=1"))]
    )
    seen = Seen(message)
    assert seen.headers["traceparent"] == Tagged(old.STR16, TRACE)
    assert seen.headers["tracestate"] == Tagged(old.STR16, "a=1")
    again = in_1_0(message_0_10(seen.dp, seen.mp, seen.body))
    assert again == view_1_0(message.payload)
    # Whoever sends it on with a context of his own is its publisher.
    table = [(name, each) for name, each in seen.headers.items() if name != "traceparent"]
    seen.mp.application_headers = [*table, ("traceparent", Tagged(old.STR16, OTHER_TRACE))]
    edited = in_1_0(message_0_10(seen.dp, seen.mp, seen.body))
    assert prop(edited, "traceparent") == (new.STRING, OTHER_TRACE)
    assert annotation(edited, "traceparent") is None


@loses("annotations.trace-context")
def an_intermediarys_trace_context() -> Message:
    return new_message(to="q", annotations=[(sym("traceparent"), s(TRACE))])


@row("properties.content-length", TO_1_0, TO_0_10)
def content_length_is_computed() -> None:
    assert in_1_0(old_message(b"abc", content_length=99))["body"] == [b"abc"]
    assert Seen(new_message(body=data(b"ab", b"c"))).mp.content_length == 3


@row("properties.reply-to-group-id", TO_0_10)
@row("annotations.message", TO_0_10)
@row("footer", TO_0_10)
def what_only_1_0_has_comes_back_from_escrow() -> None:
    message = new_message(
        reply_to_group_id="r",
        annotations=[(sym("x-opt-a"), s("1")), (Tagged(new.ULONG, 7), s("2"))],
        footer=[(sym("f"), s("3"))],
    )
    seen = Seen(message)
    assert list(seen.headers) == ["x-amqp-1.0"]
    again = message_0_10(seen.dp, seen.mp, seen.body)
    assert in_1_0(again) == view_1_0(message.payload)


@loses("properties.reply-to-group-id")
def a_reply_to_group_id() -> Message:
    return new_message(to="q", reply_to_group_id="r")


@loses("annotations.message")
def an_annotation() -> Message:
    return new_message(to="q", annotations=[(sym("x-opt-a"), s("1"))])


@loses("footer")
def a_footer() -> Message:
    return new_message(to="q", body=data(b""), footer=[(sym("f"), s("3"))])


@row("annotations.delivery", TO_0_10)
def delivery_annotations_end_here() -> None:
    section = b"\x00\x53\x71\xc1\x05\x02\xa3\x01a\x40"
    seen = Seen(arrived_1_0(section + data(b"x"), "", "q"))
    assert (seen.body, seen.losses) == (b"x", [])


@row("annotations.jms-destination", TO_1_0, TO_0_10)
def jms_is_told_kinds_and_tells_them() -> None:
    reply_to = ReplyTo(exchange="amq.topic", routing_key="k")
    made = in_1_0(old_message(reply_to=reply_to), context(jms=True))
    assert annotation(made, "x-opt-jms-dest") == (new.BYTE, 0)
    assert annotation(made, "x-opt-jms-reply-to") == (new.BYTE, 1)
    told = [(sym("x-opt-jms-reply-to"), Tagged(new.BYTE, 1))]
    assert Seen(new_message(annotations=told, reply_to="k")).mp.reply_to == reply_to


@row("annotations.jms-msg-type", TO_1_0, TO_0_10)
def jms_type_is_made_and_kept() -> None:
    simple = body_map([("a", Tagged(old.INT32, 1))])
    made = in_1_0(old_message(simple, content_type="amqp/map"))
    assert annotation(made, "x-opt-jms-msg-type") == (new.BYTE, 2)
    text = [(sym("x-opt-jms-msg-type"), Tagged(new.BYTE, 5))]
    seen = Seen(new_message(body=data(b"x"), annotations=text))
    again = in_1_0(message_0_10(seen.dp, seen.mp, seen.body))
    assert annotation(again, "x-opt-jms-msg-type") == (new.BYTE, 5)


@loses("annotations.jms-msg-type")
def a_jms_type_of_text() -> Message:
    text = [(sym("x-opt-jms-msg-type"), Tagged(new.BYTE, 5))]
    return new_message(to="q", body=data(b"x"), annotations=text)


@row("message-format", TO_0_10)
def a_foreign_format_is_refused() -> None:
    ctx = context()
    made = translation.to_0_10(arrived_1_0(b"opaque", "", "q", 0x80013701), ctx)
    assert made.refusal is not None
    assert made.refusal.condition == Condition.NOT_IMPLEMENTED
    assert [(loss.row, loss.policy) for loss in made.losses] == [("message-format", "refuse")]
    assert ctx.counts.lost[mapping_rows.ROWS["message-format"].number] == 1


@row("delivery.routing-key", TO_1_0, TO_0_10)
def a_long_key_is_cut_at_a_character() -> None:
    seen = Seen(new_message("x", "\u00e9" * 200, subject="s"))
    assert seen.dp.routing_key == "\u00e9" * 127
    again = in_1_0(message_0_10(seen.dp, seen.mp, seen.body, "x"))
    assert (again["subject"], again["to"]) == ("s", None)


@loses("delivery.routing-key")
def a_long_key() -> Message:
    return new_message("", "k" * 256, to="k" * 256)


@row("header.malformed", TO_1_0, TO_0_10)
def what_does_not_decode_is_told() -> None:
    twice = [("a", Tagged(old.INT8, 1)), ("a", Tagged(old.INT8, 2))]
    payload, losses = sent_to_1_0(old_message(headers=twice), context())
    assert losses == ["header.malformed"]
    assert prop(view_1_0(payload), "a") == (new.BYTE, 2)
    broken = b"\x00\x53\x74\xc1\x03\x02\xa1\x09"
    assert Seen(arrived_1_0(broken, "", "q")).losses == ["header.malformed"]


@row("escrow.stale", TO_1_0, TO_0_10)
def an_edited_field_wins() -> None:
    seen = Seen(new_message(to="q", message_id=s("odd")))
    seen.mp.message_id = U
    payload, losses = sent_to_1_0(message_0_10(seen.dp, seen.mp, seen.body), context())
    assert losses == ["escrow.stale"]
    assert view_1_0(payload)["message_id"] == (new.UUID, U)
    kept = in_1_0(old_message(reply_to=ReplyTo(exchange="x", routing_key=None)))
    escrow = [(sym("x-opt-amqp-0-10"), Tagged(*annotation(kept, "x-opt-amqp-0-10")))]
    edited = Seen(new_message(to="q", reply_to="x/new", annotations=escrow))
    assert edited.mp.reply_to == ReplyTo(exchange="x", routing_key="new")
    assert edited.losses == ["escrow.stale"]


@row("escrow.malformed", TO_1_0, TO_0_10)
def what_is_no_escrow_is_dropped() -> None:
    header = [("x-amqp-1.0", Tagged(old.STR16, "2nonsense"))]
    assert sent_to_1_0(old_message(headers=header), context())[1] == ["escrow.malformed"]
    note = [(sym("x-opt-amqp-0-10"), Tagged(new.INT, 1))]
    assert Seen(new_message(to="q", annotations=note)).losses == ["escrow.malformed"]
