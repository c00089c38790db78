"""Messages that one part of a log has folded, and another part knows, too."""

from gateway.accounting.steps.strays import had_left, strays
from gateway.audit.schema import Kind

WORDS = "ordinal bigint, part bigint, word bigint, bits bigint"
RECORDS = "message bigint, part bigint"


def found(frames, records: list[tuple], words: list[tuple]) -> list[tuple]:
    rows = strays(frames.table(RECORDS, *records), frames.table(WORDS, *words)).collect()
    return sorted((row["ordinal"], row["message"]) for row in rows)


def test_what_one_part_has_folded_and_another_part_has_records_of_is_a_stray(frames):
    words = [(3, 100, 1, 0b101)]  # messages 64 and 66
    records = [(64, 200), (64, 201), (65, 200), (66, 100), (2, 200)]
    assert found(frames, records, words) == [(3, 64)]


def test_what_two_parts_have_folded_is_a_stray_of_both(frames):
    words = [(3, 100, 0, 0b110), (4, 200, 0, 0b010), (4, 200, 7, 0b111)]
    assert {(3, 1), (4, 1)} <= set(found(frames, [], words))
    assert found(frames, [], [(3, 100, 0, 0b100), (4, 200, 0, -1 << 63)]) == []


def test_what_a_book_has_no_records_of_and_is_not_newer_had_left(frames):
    sent, came = int(Kind.SENT), int(Kind.RECEIVED)
    records = [
        *((5, 2, sent), (5, 3, sent)),  # of segments behind the book alone
        *((6, 1, came), (6, 2, sent)),
        *((7, 2, came), (8, 2, sent)),
    ]
    frame = frames.table("message bigint, ordinal bigint, kind tinyint", *records)
    assert [row["message"] for row in had_left(frame, 7, 2).collect()] == [5]
