"""Seals and heads: what they say, and that whatever is read of them is one or none."""

from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from gateway.audit.reader import Segment
from gateway.audit.schema import BlockKind
from gateway.audit.seals import Head, Seals, hashes_at, head_in, key_id, seal_block, seal_in
from gateway.audit.segment import _header

OCTETS = b"abcdefghij"
HEAD = Head("ab" * 16, 3, 10, 7, 1_790_000_000_000, sha256(OCTETS).hexdigest())
SIGNED = HEAD._replace(key="0" * 64, signature="1" * 128)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=5,
)


def content_of(head: Head) -> bytes:
    return seal_block(head)[12:]


def test_a_seal_says_what_its_head_says():
    for head in (HEAD, SIGNED):
        assert seal_in(content_of(head), head.log, head.segment, head.offset) == head
        assert head_in(head.line().encode()) == head
        assert "\n" not in head.line()


def test_the_block_of_a_seal_is_a_good_block():
    head = _header(1, 1, "0" * 64)
    (block,) = Segment("s", head + seal_block(HEAD)).blocks()
    assert block.kind == BlockKind.SEAL


def test_all_that_a_head_says_but_who_signed_it_is_in_its_statement():
    others = {
        HEAD._replace(**{name: value}).statement()
        for name, value in {
            "log": "cd",
            "segment": 4,
            "offset": 11,
            "sequence": 8,
            "time_ms": 1,
            "sha256": "0" * 64,
        }.items()
    }
    assert len(others) == 6
    assert HEAD.statement() not in others
    assert SIGNED.statement() == HEAD.statement()


@given(st.binary(max_size=2000))
def test_any_octets_are_a_seal_or_none(octets: bytes):
    assert seal_in(octets, "ab", 1, 0) is None
    assert head_in(octets) is None


@given(st.sampled_from(Head._fields), JSON)
def test_a_head_with_anything_in_one_of_its_fields_is_one_or_none(name: str, value: object):
    import json

    line = json.dumps(SIGNED._asdict() | {name: value}).encode()
    found = head_in(line)
    assert found is None or json.loads(found.line()) == json.loads(line)


def test_what_nests_deeply_is_none():
    assert head_in(b"[" * 1000) is None
    assert head_in(b"1" * 5000) is None


def test_a_signature_without_its_key_is_no_head():
    assert head_in(SIGNED._replace(key="").line().encode()) is None
    assert head_in(SIGNED._replace(signature="").line().encode()) is None


def test_a_seal_is_right_if_the_octets_in_front_of_it_are_those():
    for octets, last, problem in (
        (OCTETS, 7, None),
        (b"abcdefghiJ", 7, "records 3 to 7 are not what they were when they were sealed"),
        (OCTETS, 8, "records 3 to 8 are not what they were when they were sealed"),
        (b"abcdefghiJ", 3, "record 3 is not what it was when it was sealed"),
    ):
        seals = Seals(octets, HEAD.log, HEAD.segment)
        seals.note_records(3)
        seals.look(5, 10, content_of(HEAD), last)
        assert seals.flaw == (None if problem is None else (5, 10, problem))
        assert seals.last == (HEAD if problem is None else None)


def test_of_several_that_are_not_right_the_first_is_told_and_the_last_right_one_counts():
    seals = Seals(b"abcdefghiJ", HEAD.log, HEAD.segment)
    first = HEAD._replace(offset=4, sequence=2, sha256=sha256(b"abcd").hexdigest())
    seals.note_records(1)
    seals.look(1, 4, content_of(first), 2)
    seals.note_records(3)
    seals.look(2, 10, content_of(HEAD), 7)
    seals.look(3, 10, b"nothing", 7)
    assert seals.last == first
    assert seals.flaw is not None
    assert seals.flaw[0] == 2


def test_what_changed_in_front_of_all_records_is_told_too():
    seals = Seals(b"abcdefghiJ", HEAD.log, HEAD.segment)
    seals.look(0, 10, content_of(HEAD), 0)
    assert seals.flaw == (0, 10, "what is in front of the seal is not what was sealed")


def test_a_seal_that_cannot_be_read_is_told():
    seals = Seals(OCTETS, HEAD.log, HEAD.segment)
    seals.look(0, 10, b"{}", 0)
    assert seals.flaw == (0, 10, "the seal cannot be read")


def test_hashes_are_of_what_is_there():
    wanted = [(0, sha256(b"").hexdigest()), (3, sha256(b"abc").hexdigest())]
    assert list(hashes_at(OCTETS, [3, 0, 3, 11])) == wanted


def test_a_key_is_shown_by_the_beginning_of_its_hash():
    assert key_id("00" * 32) == sha256(bytes(32)).hexdigest()[:16]
