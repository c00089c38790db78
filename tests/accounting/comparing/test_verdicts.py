"""Do both sides agree: each verdict, on rows of one frame."""

from gateway.accounting.comparing.logs import Facts
from gateway.accounting.comparing.verdicts import (
    Span,
    counted,
    in_share,
    judged,
    span_of,
    within,
)
from gateway.audit.digests import digest, is_in_share
from gateway.audit.shares import share_of

COLUMNS = {
    "name": "string",
    "id_digest": "bigint",
    **{
        f"{side}{name}": "bigint"
        for side in ("here", "there")
        for name in ("", "_at_most", "_first_ms", "_last_ms", "_least_body", "_greatest_body")
    },
    "here_nodes": "array<string>",
    "there_nodes": "array<string>",
}
SCHEMA = ", ".join(f"{name} {type_}" for name, type_ in COLUMNS.items())
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
NOW = 100 * DAY


def table(frames, rows: dict[str, dict]):
    """Rows by name; of a side `n` is how many it surely and at most has, `at` when, of both."""
    lines = []
    for name, said in rows.items():
        row = dict.fromkeys(COLUMNS) | {"name": name, "id_digest": 1} | said
        for side in ("here", "there"):
            row[side] = said.get(side, 0)
            row.setdefault(f"{side}_nodes", [])
            row[f"{side}_nodes"] = row[f"{side}_nodes"] or []
            row[f"{side}_at_most"] = said.get(f"{side}_at_most", row[side])
            there = row[f"{side}_at_most"] > 0
            row[f"{side}_first_ms"] = row[f"{side}_last_ms"] = said.get("at") if there else None
            row[f"{side}_least_body"] = row[f"{side}_greatest_body"] = said.get(f"{side}_body")
        lines.append(tuple(row[column] for column in COLUMNS))
    return frames.table(SCHEMA, *lines)


def test_ids_match_where_both_sides_can_be_right_and_else_it_is_said_how_they_do_not(frames):
    old = NOW - 2 * DAY
    rows = {
        "same": ({"here": 1, "there": 1, "at": old}, "matched", ""),
        "sent again": ({"here": 1, "here_at_most": 2, "there": 2, "at": old}, "matched", ""),
        "turned away": ({"here": 1, "there_at_most": 1, "at": old}, "matched", ""),
        "in doubt": ({"here_at_most": 1, "at": old}, "in doubt", ""),
        "lost": ({"here": 1, "at": old}, "missing there", "times"),
        "from nowhere": ({"there": 1, "at": old}, "missing here", "times"),
        "doubled": ({"here": 1, "there": 2, "at": old}, "different", "times"),
        "once of twice": ({"here": 2, "there": 1, "at": old}, "different", "times"),
        "queue": (
            {"here": 1, "there": 1, "here_nodes": ["q", "r"], "there_nodes": ["s"]},
            "different",
            "queue",
        ),
        "one of its queues": (
            {"here": 2, "there": 2, "here_nodes": ["q", "r"], "there_nodes": ["r"]},
            "matched",
            "",
        ),
        "no queue here": ({"here": 1, "there": 1, "there_nodes": ["r"]}, "matched", ""),
        "body": (
            {"here": 1, "there": 1, "here_body": 5, "there_body": 6},
            "different",
            "body",
        ),
        "no body there": ({"here": 1, "there": 1, "here_body": 5}, "matched", ""),
        "new": ({"here": 1, "at": NOW - MINUTE + 1}, "not there yet", "times"),
        "new there": ({"there": 1, "at": NOW - MINUTE + 1}, "not here yet", "times"),
        "new enough": ({"here": 1, "at": NOW - MINUTE}, "missing there", "times"),
        "let go": ({"here": 1, "at": 10 * DAY}, "before", "times"),
        "no id": ({"here": 3, "there": 1, "id_digest": 0, "at": old}, "no id", "times"),
    }
    spans = Span(begins_ms=11 * DAY, ends_ms=NOW), Span(begins_ms=11 * DAY, ends_ms=NOW)
    found = judged(table(frames, {name: row[0] for name, row in rows.items()}), *spans, MINUTE)
    told = {row["name"]: (row["verdict"], row["why"]) for row in found.collect()}
    assert told == {name: row[1:] for name, row in rows.items()}


def test_what_is_missing_has_an_age_and_is_counted_by_it(frames):
    ages = {"< 1 min": 30_000, "< 1 h": 2 * MINUTE, "< 1 day": 2 * HOUR, "older": 2 * DAY}
    rows = {name: {"here": 2, "at": NOW - age} for name, age in ages.items()}
    rows["no time"] = {"there": 1, "at": None}
    found = judged(table(frames, rows), Span(), Span(ends_ms=NOW), 0)
    counts = {row["age"]: row.asDict() for row in counted(found).collect()}
    assert set(counts) == set(rows)
    assert all(counts[name]["verdict"] == "missing there" for name in ages)
    assert [counts["older"][name] for name in ("rows", "by", "here", "there")] == [1, 2, 2, 0]


def test_where_records_of_a_side_are_missing_its_lack_proves_nothing(frames):
    rows = {"lost": {"here": 1, "at": 5}, "from nowhere": {"there": 1, "at": 5}}
    found = judged(table(frames, rows), Span(), Span(whole=False), 0)
    told = {row["name"]: row["verdict"] for row in found.collect()}
    assert told == {"lost": "not proven", "from nowhere": "missing here"}


def test_each_side_has_an_end_of_its_own_and_what_it_need_not_have_is_not_waited_for(frames):
    rows = {
        "lost": {"here": 1, "at": NOW - MINUTE},
        "from nowhere": {"there": 1, "at": NOW - MINUTE},
        "once of twice": {"here": 1, "there": 2, "at": NOW - MINUTE},
    }
    spans = Span(ends_ms=NOW - HOUR), Span(ends_ms=NOW)
    found = judged(table(frames, rows), *spans, MINUTE)
    told = {row["name"]: row["verdict"] for row in found.collect()}
    assert told == {
        "lost": "missing there",
        "from nowhere": "not here yet",
        "once of twice": "not here yet",
    }
    found = judged(table(frames, rows), *spans, MINUTE, let_pass=["missing here"])
    told = {row["name"]: row["verdict"] for row in found.collect()}
    assert (told["from nowhere"], told["once of twice"]) == ("missing here", "not here yet")


def test_only_what_is_of_the_time_that_is_asked_for_counts(frames):
    rows = {str(at): {"here": 1, "at": at} for at in (9, 10, 19, 20)} | {"never": {"there": 1}}
    frame = table(frames, rows)
    assert _names(within(frame, 10, 20)) == {"10", "19", "never"}
    assert within(frame, 0, 0) is frame


def test_only_the_ids_of_a_share_count_and_they_are_those_that_a_gateway_mirrors(frames):
    ids = {name: digest(name.encode()) for name in ("a", "b", "c", "d", "e", "f", "g", "h")}
    rows = {name: {"here": 1, "id_digest": id} for name, id in ids.items()} | {
        "none": {"id_digest": 0}
    }
    half = share_of(0.5)
    mirrored = {name for name, id in ids.items() if is_in_share(id, half)}
    assert 0 < len(mirrored) < len(ids)
    assert _names(in_share(table(frames, rows), half)) == mirrored


def _names(rows):
    return {row["name"] for row in rows.collect()}


def test_a_side_of_several_logs_ends_where_the_first_of_those_that_go_on_does():
    def log(ends_ms: int, *, stopped: bool = False, begins_ms: int = 0, missing: int = 0) -> Facts:
        return Facts("", "", 1, begins_ms, ends_ms, stopped, missing, flawed=False, old=False)

    assert span_of([log(5), log(7), log(3, stopped=True)]) == Span(None, 5, True)
    assert span_of([log(5, stopped=True), log(3, stopped=True)]) == Span(None, 5, True)
    assert span_of([log(5, begins_ms=2), log(7, begins_ms=4, missing=1)]) == Span(4, 5, False)
