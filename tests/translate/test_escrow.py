"""Escrow: what it restores, what it refuses, and that nothing a peer puts there can harm."""

from base64 import urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from translate.cases import Seen, annotation, in_1_0, new_message, old_message, s, sym
from translate.generated import maps_1_0, messages_0_10, messages_1_0, values_1_0
from translate.messages import (
    arrived_0_10,
    context,
    message_0_10,
    sent_to_0_10,
    sent_to_1_0,
    view_1_0,
)

from gateway.amqp_0_10 import _spec_constants as old
from gateway.amqp_0_10._spec_structs import DeliveryProperties, ReplyTo
from gateway.amqp_0_10.types import Array
from gateway.amqp_1_0 import types as new
from gateway.errors import DecodeError
from gateway.message import Message
from gateway.translate.content import digest_content
from gateway.translate.escrow import HEADER, NOTHING, Deposit, digest, open_escrow
from gateway.translate.message import to_0_10, to_1_0
from gateway.wire.tagged import Tagged


def test_a_value_is_handed_out_while_the_visible_one_stands() -> None:
    deposit = Deposit(1000)
    assert deposit.keep("a", digest(b"seen"), s("original"))
    assert deposit.keep("b", NOTHING, None)
    text = deposit.text()
    assert text is not None and text.startswith("1")
    withdrawal = open_escrow(text, 1000, 8)
    entry = withdrawal.take("a", digest(b"seen"))
    assert entry is not None and entry.present and entry.value == s("original")
    absent = withdrawal.take("b", NOTHING)
    assert absent is not None and not absent.present
    assert withdrawal.take("a", digest(b"seen")) is None
    assert withdrawal.stale == 0


def test_an_edited_visible_value_makes_the_entry_stale() -> None:
    deposit = Deposit(1000)
    deposit.keep("a", digest(b"seen"), s("original"))
    withdrawal = open_escrow(deposit.text() or "", 1000, 8)
    assert withdrawal.take("a", digest(b"edited")) is None
    assert withdrawal.stale == 1
    assert withdrawal.entries == {}


def test_where_there_was_nothing_an_edit_loses_nothing() -> None:
    deposit = Deposit(1000)
    for path, original in (("a", None), ("b", None), ("c", s("c")), ("d", s("d"))):
        deposit.keep(path, digest(b"seen"), original)
    withdrawal = open_escrow(deposit.text() or "", 1000, 8)
    assert withdrawal.lost() == 2
    for path in ("a", "c"):
        assert withdrawal.take(path, digest(b"edited")) is None
    assert withdrawal.lost() == 2


@pytest.mark.parametrize(("to", "losses"), [(None, []), ("other", ["escrow.stale"])])
def test_a_0_10_client_that_sends_a_message_on_loses_the_address_if_it_had_one(
    to: str | None, losses: list[str]
) -> None:
    seen = Seen(new_message(to=to))
    assert HEADER in seen.headers
    seen.dp.routing_key = "elsewhere"
    payload, lost = sent_to_1_0(message_0_10(seen.dp, seen.mp, seen.body), context())
    assert (view_1_0(payload)["to"], lost) == ("elsewhere", losses)


@given(st.integers(0, 400), st.lists(st.binary(max_size=60), max_size=8))
def test_the_string_is_never_longer_than_allowed(text_max: int, values: list[bytes]) -> None:
    deposit = Deposit(text_max)
    kept = [
        deposit.keep(f"path-{at}", at, Tagged(new.BINARY, octets))
        for at, octets in enumerate(values)
    ]
    text = deposit.text()
    assert (text is not None) == any(kept)
    if text is not None:
        assert len(text) <= text_max
        entries = open_escrow(text, text_max, 8).entries
        assert sorted(entries) == [f"path-{at}" for at, was in enumerate(kept) if was]


def test_no_escrow_at_all_where_it_is_off() -> None:
    assert not Deposit(0).keep("a", NOTHING, None)


@pytest.mark.parametrize(
    "text",
    ["", "1", "2AAAA", "1!!!", "1\u00e9", "1" + urlsafe_b64encode(b"\x40").decode()],
)
def test_what_is_no_escrow_is_refused(text: str) -> None:
    with pytest.raises(DecodeError):
        open_escrow(text, 1000, 8)


def test_a_string_above_the_limit_is_refused_unread() -> None:
    deposit = Deposit(1000)
    deposit.keep("a", NOTHING, s("x" * 100))
    text = deposit.text() or ""
    with pytest.raises(DecodeError):
        open_escrow(text, len(text) - 1, 8)


@given(
    st.text(max_size=60) | st.binary(max_size=60).map(lambda o: "1" + urlsafe_b64encode(o).decode())
)
def test_any_string_is_an_escrow_or_a_decode_error(text: str) -> None:
    try:
        open_escrow(text, 1000, 8)
    except DecodeError:
        return


PATHS = """
annotations annotations.x-opt-delivery-time app.JMSXGroupID app.JMSXGroupSeq app.a app.qpid.subject
app.x-amqp-0-10.app-id app.x-jms-type body dp.discard-unroutable dp.expiration dp.priority
dp.resume-id dp.resume-ttl dp.timestamp dp.ttl footer header.priority jms-msg-type mp.app-id mp.body
mp.content-encoding mp.content-type mp.correlation-id mp.reply-to odd-names other-structs
properties.content-encoding properties.content-type properties.correlation-id
properties.creation-time properties.absolute-expiry-time properties.group-id
properties.group-sequence properties.message-id properties.reply-to properties.reply-to-group-id
properties.subject properties.to routing-key subject-from
"""
paths = st.sampled_from(PATHS.split())
RECIPES = ("data", "text", "binary", "null", "none", "opaque", "octets", "other", "sequence", "?")
recipes = st.builds(
    lambda kind, rest: Tagged(new.LIST, [sym(kind), *rest]),
    st.sampled_from(RECIPES),
    st.lists(values_1_0, max_size=2),
)
maps = maps_1_0(values_1_0, values_1_0).map(lambda pairs: Tagged(new.MAP, pairs))
originals = st.dictionaries(paths, st.none() | values_1_0 | recipes | maps, max_size=6)


def forged(entries: dict[str, Tagged | None]) -> str:
    """An escrow whose entries match what this file's messages show: nothing, or an empty body."""
    deposit = Deposit(60_000)
    for path, value in entries.items():
        visible = digest_content(None, b"") if path in ("body", "jms-msg-type") else NOTHING
        deposit.keep(path, visible, value)
    return deposit.text() or "1"


@given(st.binary(max_size=20), originals)
def test_a_forged_escrow_from_0_10_never_breaks_the_translation(
    body: bytes, entries: dict[str, Tagged | None]
) -> None:
    header = [("x-amqp-1.0", Tagged(old.STR16, forged(entries)))]
    forgery = old_message(body, headers=header)
    payload, _ = sent_to_1_0(forgery, context(escrow_max=60_000))
    view_1_0(payload)


@given(originals)
def test_a_forged_escrow_from_1_0_never_breaks_the_translation(
    entries: dict[str, Tagged | None],
) -> None:
    note = [(sym("x-opt-amqp-0-10"), s(forged(entries)))]
    header, body, _ = sent_to_0_10(new_message(annotations=note), context(escrow_max=60_000))
    arrived_0_10(header, body, "")


def test_escrow_is_no_source_for_user_id_or_routing() -> None:
    entries: dict[str, Tagged | None] = {
        "mp.user-id": Tagged(new.BINARY, b"root"),
        "dp.exchange": s("elsewhere"),
        "dp.routing-key": s("elsewhere"),
    }
    seen = Seen(new_message(annotations=[(sym("x-opt-amqp-0-10"), s(forged(entries)))]))
    assert seen.mp.user_id is None
    assert (seen.dp.exchange, seen.dp.routing_key) == ("", "q")
    assert seen.losses == ["escrow.stale"] * 3


def test_a_0_10_client_that_edits_one_header_loses_only_that_one() -> None:
    message = new_message(application=[(s("a"), sym("one")), (s("b"), sym("two"))])
    seen = Seen(message)
    headers = dict(seen.headers)
    headers["a"] = Tagged(old.STR16, "edited")
    seen.mp.application_headers = list(headers.items())
    payload, losses = sent_to_1_0(message_0_10(seen.dp, seen.mp, seen.body), context())
    application = view_1_0(payload)["application"]
    assert application == {
        repr((new.STRING, "a")): (new.STRING, "edited"),
        repr((new.STRING, "b")): (new.SYMBOL, "two"),
    }
    assert losses == ["escrow.stale"]


def test_a_0_10_client_that_edits_the_body_is_not_given_the_old_kind() -> None:
    seen = Seen(new_message(body=b"\x00\x53\x77\xa1\x02hi"))
    again = in_1_0(message_0_10(seen.dp, seen.mp, b"changed"))
    assert (again["body"], again["content_type"]) == ([b"changed"], "text/plain")


def test_a_1_0_client_that_drops_a_property_does_not_get_it_back() -> None:
    kept = in_1_0(old_message(headers=[("a", Tagged(old.BIN8, b"1"))]))
    note = [(sym("x-opt-amqp-0-10"), Tagged(*annotation(kept, "x-opt-amqp-0-10")))]
    seen = Seen(new_message(to="q", annotations=note))
    assert "a" not in seen.headers
    assert seen.losses == ["escrow.stale"]


def test_above_the_limit_the_rows_policy_applies() -> None:
    large = Tagged(old.ARRAY, Array(old.STR16, ["x" * 400]))
    small = Tagged(old.ARRAY, Array(old.INT8, [1]))
    message = old_message(headers=[("large", large), ("small", small)])
    made = to_1_0(message, context(escrow_max=200))
    assert [(loss.row, loss.policy) for loss in made.losses] == [("values.compound", "drop")]
    payload, _ = sent_to_1_0(message, context(escrow_max=200))
    note = annotation(view_1_0(payload), "x-opt-amqp-0-10")
    assert len(note[1]) <= 200


@given(messages_0_10())
def test_without_escrow_no_0_10_message_is_refused_or_marked(message: Message) -> None:
    made = to_1_0(message, context(escrow=False))
    assert made.refusal is None
    seen = view_1_0(made.head + made.data_head + made.body[made.body_at :])
    assert annotation(seen, "x-opt-amqp-0-10") is None


@given(messages_1_0())
def test_without_escrow_no_1_0_message_is_refused_or_marked(message: Message) -> None:
    made = to_0_10(message, context(escrow=False))
    assert made.refusal is None
    assert "x-amqp-1.0" not in Seen(message, context(escrow=False)).headers


@given(maps_1_0(st.text(max_size=5).map(s), values_1_0))
def test_the_java_client_gets_every_message_too(pairs: list[tuple[Tagged, Tagged]]) -> None:
    Seen(new_message(application=pairs), context(java=True))


def test_a_restored_time_is_still_milliseconds_for_the_java_client() -> None:
    made = old_message(dp=DeliveryProperties(timestamp=1_700_000_000_123, routing_key="q"))
    kept = in_1_0(made)
    note = [(sym("x-opt-amqp-0-10"), Tagged(*annotation(kept, "x-opt-amqp-0-10")))]
    again = new_message(to="q", annotations=note, creation_time=kept["creation_time"])
    assert Seen(again).dp.timestamp == 1_700_000_000_123
    assert Seen(again, context(java=True)).dp.timestamp == 1_700_000_000_123


def test_the_exact_reply_to_comes_back_where_the_node_is_unknown() -> None:
    kept = in_1_0(old_message(reply_to=ReplyTo(exchange="far", routing_key=None)))
    assert kept["reply_to"] == "far/"
    note = [(sym("x-opt-amqp-0-10"), Tagged(*annotation(kept, "x-opt-amqp-0-10")))]
    back = Seen(new_message(to="q", annotations=note, reply_to="far/"))
    assert back.mp.reply_to == ReplyTo(exchange="far", routing_key=None)


def test_many_short_escrows_each_have_the_string_of_their_own() -> None:
    for number in [*range(600), *range(600)]:
        deposit = Deposit(1000)
        assert deposit.keep(f"path {number}", NOTHING, None)
        text = deposit.text()
        assert text is not None
        assert list(open_escrow(text, 1000, 8).entries) == [f"path {number}"]
