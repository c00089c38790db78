"""Records are counted, whatever is in them, and what a message says of its size is believed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.net.tls.records import HELLO_MAX, ClearMessages, Records
from gateway.wire.work import OCTETS_OPENED, TLS_RECORD


def record(content: bytes, kind: int = 23) -> bytes:
    return bytes([kind, 3, 3]) + len(content).to_bytes(2) + content


def hello(says: int, body: bytes = b"") -> bytes:
    return b"\1" + says.to_bytes(3) + body


def test_a_record_of_one_octet_costs_as_much_as_any() -> None:
    records = Records()
    records.add(record(b"x") * 1000)
    piece, units, *_ = records.piece(10 * TLS_RECORD)
    assert piece == record(b"x") * 10
    assert units == 10 * TLS_RECORD + len(piece) // OCTETS_OPENED
    assert records.octets == 990 * 6


def test_large_records_are_one_piece() -> None:
    records = Records()
    came = record(bytes(16_000)) * 4
    records.add(came)
    assert records.piece(10 * TLS_RECORD)[:2] == (came, 4 * TLS_RECORD + len(came) // OCTETS_OPENED)
    assert not records.ready
    assert records.octets == 0


def test_what_comes_of_a_record_is_opened_when_it_comes() -> None:
    records = Records()
    came = record(bytes(1000)) + record(b"next")
    records.add(came[:500])
    assert records.piece(TLS_RECORD)[0] == came[:500]
    assert not records.ready
    records.add(came[500:])
    assert records.piece(TLS_RECORD)[0] == came[500:]


def test_half_a_head_waits_for_the_rest() -> None:
    records = Records()
    records.add(record(b"x")[:4])
    assert not records.ready
    records.add(record(b"x")[4:])
    assert records.piece(1)[0] == record(b"x")


@given(
    st.lists(st.binary(max_size=300), min_size=1, max_size=20),
    st.lists(st.integers(1, 400), min_size=1),
    st.integers(1, 5 * TLS_RECORD),
)
def test_however_it_comes_every_octet_is_given_once_and_each_record_is_charged(
    contents: list[bytes], cuts: list[int], limit: int
) -> None:
    came = b"".join(record(each) for each in contents)
    records, given_out, units, at, turn = Records(), b"", 0, 0, 0
    while at < len(came):
        step = cuts[turn % len(cuts)]
        turn += 1
        records.add(came[at : at + step])
        at += step
        while records.ready:
            piece, cost, *_ = records.piece(limit)
            assert piece
            given_out += piece
            units += cost
    assert given_out == came
    assert units // TLS_RECORD >= len(contents)


@given(st.lists(st.binary(max_size=50), min_size=1), st.integers(1, 60))
def test_of_a_handshake_each_record_is_given_when_it_is_whole(
    contents: list[bytes], step: int
) -> None:
    whole = [record(each, 22) for each in contents]
    came = b"".join(whole)
    records, found = Records(), []
    for at in range(0, len(came), step):
        records.add(came[at : at + step])
        while records.has_whole:
            found.append(records.whole())
    assert found == whole


@pytest.mark.parametrize("said", [b"GET / HTTP/1.1\r\n", b"\x80\x2e\1\3\1", b"\x16\3\1\xff\xff"])
def test_what_is_no_record_is_given_at_once(said: bytes) -> None:
    records = Records()
    records.add(said)
    assert records.whole() == said


@pytest.mark.parametrize("step", [1, 3, 1000])
@pytest.mark.parametrize(("says", "too_large"), [(HELLO_MAX, False), (HELLO_MAX + 1, True)])
def test_a_hello_says_how_large_it_will_be(says: int, too_large: bool, step: int) -> None:
    messages = ClearMessages(1 << 16)
    said = hello(100, bytes(100)) + hello(says, bytes(20))
    answers = [
        messages.too_large(record(said[at : at + step], 22)) for at in range(0, len(said), step)
    ]
    assert any(answers) is too_large


def test_other_messages_may_be_larger() -> None:
    said = b"\x0b" + (HELLO_MAX + 1).to_bytes(3)
    assert not ClearMessages(2 * HELLO_MAX).too_large(record(said, 22))
    assert ClearMessages(HELLO_MAX).too_large(record(said, 22))


@pytest.mark.parametrize("cut", [3, 20, 27, 40])
def test_what_a_piece_held_beside_its_content_may_be_new_keys(cut: int) -> None:
    came = record(bytes(4 + 17)) + record(bytes(5 + 17)) + record(bytes(100 + 17))
    records = Records()
    pieces = []
    for part in (came[:cut], came[cut:]):
        records.add(part)
        while records.ready:
            pieces.append(records.piece(10 * TLS_RECORD))
    assert sum(piece.whole for piece in pieces) == 3
    assert sum(piece.content_most for piece in pieces) == 109
    assert pieces[-1].key_updates(pieces[-1].content_most - 4) == 0
    assert pieces[-1].key_updates(pieces[-1].content_most - 5) == 1
