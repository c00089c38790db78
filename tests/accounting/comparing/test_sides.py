"""What both sides say of one id, or one queue, in one row: on frames of a few lines."""

from gateway.accounting.comparing.sides import by_id, by_queue

ITEMS = (
    "id_digest bigint, surely bigint, at_most bigint, time_ms bigint, body_digest bigint,"
    " nodes array<string>, log int, message bigint, text string"
)


def test_what_is_said_of_an_id_is_in_one_row(frames):
    ours = frames.table(
        ITEMS,
        (7, 1, 1, 20, 5, ["q"], 0, 101, None),
        (7, 0, 1, 10, 0, ["r"], 1, 102, None),
        (8, 1, 1, 30, 6, ["q"], 0, 103, None),
    )
    theirs = frames.table(ITEMS, (7, 1, 1, 40, 5, ["q"], 0, None, "order-7"))
    rows = {row["id_digest"]: row.asDict(recursive=True) for row in _both(ours, theirs)}
    assert set(rows) == {7, 8}
    names = ["here", "here_at_most", "there", "there_at_most", "here_first_ms", "there_last_ms"]
    assert [rows[7][name] for name in names] == [1, 2, 1, 1, 10, 40]
    assert [rows[8][name] for name in names] == [1, 1, 0, 0, 30, None]
    assert (sorted(rows[7]["here_nodes"]), rows[7]["there_nodes"]) == (["q", "r"], ["q"])
    assert (rows[7]["here_least_body"], rows[7]["there_greatest_body"]) == (5, 5)
    assert (rows[7]["text"], rows[8]["text"]) == ("order-7", None)
    # Of several logs it is not told in which of them which message is.
    assert [rows[each]["here_message"] for each in (7, 8)] == [None, 103]
    assert [rows[8][name] for name in ("here_log", "there_log", "there_message")] == [0, None, None]


def _both(ours, theirs):
    return by_id(ours, theirs, queues=True, texts=True).collect()


def test_queues_are_compared_by_how_many_they_had(frames):
    ours = frames.table(
        ITEMS,
        (7, 1, 1, 20, 5, ["q", "r"], 0, 101, None),
        (8, 0, 1, 10, 0, ["r"], 1, 102, None),
    )
    theirs = frames.table(ITEMS, (None, 3, 3, None, None, ["s"], 0, None, None))
    names = ("queue", "here", "here_at_most", "there", "there_at_most")
    rows = [tuple(row[name] for name in names) for row in by_queue(ours, theirs).collect()]
    assert sorted(rows) == [("q", 1, 1, 0, 0), ("r", 1, 2, 0, 0), ("s", 0, 0, 3, 3)]
