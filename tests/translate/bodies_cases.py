"""Cases for the rows of bodies."""

from translate.cases import (
    TO_0_10,
    TO_1_0,
    Seen,
    annotation,
    in_1_0,
    loses,
    new_message,
    old_message,
    row,
    s,
    sym,
)
from translate.messages import (
    body_list,
    body_map,
    context,
    data,
    message_0_10,
    sent_to_1_0,
    sequences,
    value,
    view_1_0,
)

from gateway.amqp_0_10 import _spec_constants as old
from gateway.amqp_1_0 import types as new
from gateway.message import Message
from gateway.translate.escrow import HEADER
from gateway.wire.tagged import Tagged
from gateway.wire.work import ELEMENTS_MAX

# Bodies.


@row("body.data", TO_1_0, TO_0_10)
def data_is_joined() -> None:
    assert in_1_0(old_message(b"abc"))["body"] == [b"abc"]
    assert Seen(new_message(body=data(b"a", b"", b"bc"))).body == b"abc"


@loses("body.data")
def several_data_sections() -> Message:
    return new_message(to="q", body=data(b"a", b"b"))


JMS_TYPED = [(sym("x-opt-jms-msg-type"), Tagged(new.BYTE, 2))]
TYPED_STREAM = [(sym("x-opt-jms-msg-type"), Tagged(new.BYTE, 4))]


@row("body.value-map", TO_1_0, TO_0_10)
def maps_are_maps() -> None:
    encoded = body_map([("b", Tagged(old.STR16, "x")), ("a", Tagged(old.INT32, 1))])
    made = in_1_0(old_message(encoded, content_type="amqp/map"))
    pairs = [(s("b"), s("x")), (s("a"), Tagged(new.INT, 1))]
    assert made["body"] == view_1_0(value(Tagged(new.MAP, pairs)))["body"]
    seen = Seen(new_message(body=value(Tagged(new.MAP, pairs))))
    assert (seen.body, seen.mp.content_type) == (encoded, "amqp/map")
    broken = in_1_0(old_message(b"no map", content_type="amqp/map"))
    assert (broken["body"], broken["content_type"]) == ([b"no map"], "amqp/map")


@loses("body.value-map")
def a_map_with_a_symbol() -> Message:
    body = value(Tagged(new.MAP, [(s("a"), sym("x"))]))
    return new_message(to="q", body=body)


@row("body.value-list", TO_1_0, TO_0_10)
def lists_are_lists() -> None:
    encoded = body_list([Tagged(old.STR16, "x"), Tagged(old.INT32, 1)])
    items = [s("x"), Tagged(new.INT, 1)]
    made = in_1_0(old_message(encoded, content_type="amqp/list"))
    assert made["body"] == view_1_0(value(Tagged(new.LIST, items)))["body"]
    assert annotation(made, "x-opt-jms-msg-type") == (new.BYTE, 4)
    seen = Seen(new_message(body=value(Tagged(new.LIST, items))))
    assert (seen.body, seen.mp.content_type) == (encoded, "amqp/list")


@loses("body.value-list")
def a_list_with_a_bit() -> Message:
    return old_message(body_list([Tagged(old.BIT, True)]), content_type="amqp/list")


JMS_MAP_OCTETS = b"\0\0\0\2a\0\x0ahi\0b\0\x06\0\0\0\7"
JMS_STREAM_OCTETS = b"\x01\1\2\xff\4\0\1\5\0A\7\0\0\0\0\0\0\0\2\x0b\3\0\0\0\1z"


@row("body.jms-map", TO_1_0)
def the_java_clients_map() -> None:
    made = in_1_0(old_message(JMS_MAP_OCTETS, content_type="jms/map-message"))
    pairs = [(s("a"), s("hi")), (s("b"), Tagged(new.INT, 7))]
    assert made["body"] == view_1_0(value(Tagged(new.MAP, pairs)))["body"]
    assert annotation(made, "x-opt-jms-msg-type") == (new.BYTE, 2)


@loses("body.jms-map")
def a_java_map() -> Message:
    return old_message(JMS_MAP_OCTETS, content_type="jms/map-message")


@row("body.jms-stream", TO_1_0)
def the_java_clients_stream() -> None:
    made = in_1_0(old_message(JMS_STREAM_OCTETS, content_type="jms/stream-message"))
    items = [
        Tagged(new.BOOLEAN, True),
        Tagged(new.BYTE, -1),
        Tagged(new.SHORT, 1),
        Tagged(new.CHAR, "A"),
        Tagged(new.LONG, 2),
        Tagged(new.NULL, None),
        Tagged(new.BINARY, b"z"),
    ]
    assert made["body"] == view_1_0(value(Tagged(new.LIST, items)))["body"]
    assert annotation(made, "x-opt-jms-msg-type") == (new.BYTE, 4)


@loses("body.jms-stream")
def a_java_stream() -> Message:
    return old_message(JMS_STREAM_OCTETS, content_type="jms/stream-message")


@row("body.java-object", TO_1_0, TO_0_10)
def a_java_object() -> None:
    made = in_1_0(old_message(b"\xac\xed", content_type="application/java-object-stream"))
    assert made["content_type"] == "application/x-java-serialized-object"
    assert annotation(made, "x-opt-jms-msg-type") == (new.BYTE, 1)
    seen = Seen(
        new_message(body=data(b"\xac\xed"), content_type="application/x-java-serialized-object")
    )
    assert seen.mp.content_type == "application/java-object-stream"


@row("body.text", TO_1_0, TO_0_10)
def text_is_data_or_a_value() -> None:
    text = old_message(b"hi", content_type="text/plain")
    assert in_1_0(text)["body"] == [b"hi"]
    assert in_1_0(text, context(text_body_value=True))["body"] == [(new.STRING, "hi")]
    seen = Seen(new_message(body=value(s("hi"))))
    assert (seen.body, seen.mp.content_type) == (b"hi", "text/plain")


@loses("body.text")
def a_text_value() -> Message:
    return new_message(to="q", body=value(s("hi")))


@row("body.value-binary", TO_0_10)
def a_binary_value() -> None:
    seen = Seen(new_message(body=value(Tagged(new.BINARY, b"\0"))))
    assert (seen.body, seen.mp.content_type) == (b"\0", None)


@loses("body.value-binary")
def a_binary() -> Message:
    return new_message(to="q", body=value(Tagged(new.BINARY, b"\0")))


@row("body.value-null", TO_1_0, TO_0_10)
def a_null_text() -> None:
    null = [("JMS_AMQP_NULL", Tagged(old.BOOLEAN, True))]
    made = in_1_0(old_message(headers=null, content_type="text/plain"))
    assert made["body"] == [(new.NULL, None)]
    assert annotation(made, "x-opt-jms-msg-type") == (new.BYTE, 5)
    seen = Seen(new_message(body=value(Tagged(new.NULL, None))))
    assert (seen.body, seen.mp.content_type) == (b"", None)


@loses("body.value-null")
def a_null() -> Message:
    return new_message(to="q", body=value(Tagged(new.NULL, None)))


@row("body.empty", TO_1_0, TO_0_10)
def an_empty_body() -> None:
    made = in_1_0(old_message())
    assert (made["body"], made["annotations"]) == ([b""], {})
    seen = Seen(new_message(to="q", body=data(b"")))
    assert (seen.body, seen.has_body, HEADER in seen.headers) == (b"", True, False)
    assert in_1_0(old_message(None))["body"] == [b""]
    for message in (new_message(body=b""), new_message(body=value(Tagged(new.NULL, None)))):
        assert not Seen(message).has_body


@loses("body.empty")
def no_body() -> Message:
    return new_message(to="q", body=b"")


@row("body.value-other", TO_0_10)
def another_value_is_a_list_of_one() -> None:
    seen = Seen(new_message(body=value(Tagged(new.INT, 5))))
    assert seen.body == body_list([Tagged(old.INT32, 5)])
    assert seen.mp.content_type == "amqp/list"


@loses("body.value-other")
def a_number() -> Message:
    return new_message(to="q", body=value(Tagged(new.INT, 5)))


@row("body.sequence", TO_0_10)
def sequences_are_joined() -> None:
    one, two = Tagged(new.INT, 1), Tagged(new.INT, 2)
    seen = Seen(new_message(body=sequences([one], [], [two])))
    assert seen.body == body_list([Tagged(old.INT32, 1), Tagged(old.INT32, 2)])


@loses("body.sequence")
def a_sequence() -> Message:
    return new_message(to="q", body=sequences([Tagged(new.INT, 1)]))


@row("body.unread", TO_1_0)
def a_body_of_too_many_values_is_not_read() -> None:
    many = body_list([Tagged(old.VOID, None)] * (ELEMENTS_MAX + 1))
    message = old_message(many, content_type="amqp/list")
    payload, losses = sent_to_1_0(message, context())
    made = view_1_0(payload)
    assert (made["body"], made["content_type"]) == ([many], "amqp/list")
    assert losses == ["body.unread"]


@row("body.opaque", TO_0_10)
def a_value_that_0_10_lacks_is_opaque() -> None:
    body = value(Tagged(new.LIST, [Tagged(new.DECIMAL32, b"1234")]))
    seen = Seen(new_message(to="q", body=body))
    assert (seen.body, seen.mp.content_type) == (body, "application/x-amqp-1.0-value")
    assert seen.losses == ["body.opaque"]
    assert in_1_0(message_0_10(seen.dp, seen.mp, seen.body))["body"] == view_1_0(body)["body"]
