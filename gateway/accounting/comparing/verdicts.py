"""Steps: do both sides agree of an id, and since when do they not?"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.comparing.logs import Facts
from gateway.accounting.comparing.sides import HERE, THERE
from gateway.audit.shares import SHARES


class Verdict(StrEnum):
    """What is to be said of one id, or one queue."""

    MISSING_THERE = "missing there"
    MISSING_HERE = "missing here"
    DIFFERENT = "different"
    NOT_PROVEN = "not proven"  # missing or different, where records of a log are missing
    NOT_YET_THERE = "not there yet"  # newer than the end of the side that does not have it
    NOT_YET_HERE = "not here yet"
    BEFORE = "before"  # older than its beginning: what was there has been let go
    IN_DOUBT = "in doubt"  # one side may have it, the other one does not
    NO_ID = "no id"
    MATCHED = "matched"


# Of the age of what is missing, from above: below so many ms, and how that is called.
AGES: Final = ((60_000, "< 1 min"), (3_600_000, "< 1 h"), (86_400_000, "< 1 day"))
OLDER: Final = "older"
NO_TIME: Final = "no time"
BUCKETS: Final = (*(name for _bound, name in AGES), OLDER, NO_TIME)


MISSING: Final = {THERE: Verdict.MISSING_THERE, HERE: Verdict.MISSING_HERE}
NOT_YET: Final = {THERE: Verdict.NOT_YET_THERE, HERE: Verdict.NOT_YET_HERE}
LACKING: Final = {  # by the side that has less than the other one surely has
    THERE: f"{HERE} > {THERE}_at_most",
    HERE: f"{THERE} > {HERE}_at_most",
}
# Both say of which queues it is, and one that the other side says is not among those here.
_OTHER_QUEUE: Final = (
    f"(size({HERE}_nodes) > 0 and size(array_except({THERE}_nodes, {HERE}_nodes)) > 0)"
)
# Where both have a digest of one body, it is the same; of several bodies, that of least and most.
_OTHER_BODY: Final = (
    f"({HERE}_least_body <> {THERE}_least_body or {HERE}_greatest_body <> {THERE}_greatest_body)"
)


class Span(NamedTuple):
    """What of time a side covers.

    Attributes:
        begins_ms: nothing is known of before; `None`: it is whole from its beginning.
        ends_ms: what is newer may yet come; `None`: nobody knows.
        whole: nothing in between is missing.
    """

    begins_ms: int | None = None
    ends_ms: int | None = None
    whole: bool = True


def span_of(logs: Iterable[Facts]) -> Span:
    """Of several logs together: as far as each of them says.

    To one that has stopped in order nothing comes any more: its end is that of the side only where
    no other one goes on.
    """
    facts = list(logs)
    running = [each.ends_ms for each in facts if not each.stopped]
    return Span(
        max(each.begins_ms for each in facts) or None,
        min(running) if running else max(each.ends_ms for each in facts),
        all(not each.flawed and not each.missing for each in facts),
    )


def within(rows: DataFrame, since_ms: int, until_ms: int) -> DataFrame:
    """Those of which the first side that says when does so of this time; 0: whenever."""
    first = f"coalesce(least({HERE}_first_ms, {THERE}_first_ms), {since_ms})"
    bounds = [f"{first} >= {since_ms}"] if since_ms else []
    bounds += [f"{first} < {until_ms}"] if until_ms else []
    return rows.where(" and ".join(bounds)) if bounds else rows


def in_share(rows: DataFrame, share: int) -> DataFrame:
    """Those of ids in a share: as `digests.is_in_share`."""
    if share >= SHARES:
        return rows
    return rows.where(f"id_digest <> 0 and (id_digest & {SHARES - 1}L) < {share}L")


def judged(
    rows: DataFrame,
    here: Span,
    there: Span,
    grace_ms: int,
    *,
    let_pass: Collection[Verdict] = (),
) -> DataFrame:
    """Each row with its `verdict`, `why` it is different, `by` how many, and the `age` of that.

    `let_pass`: what is missing and no difference is not waited for, nor are records of it.
    """
    rules = [("id_digest = 0", Verdict.NO_ID)]
    for side, span in ((THERE, there), (HERE, here)):
        if MISSING[side] in let_pass:
            rules.append((f"({LACKING[side]} and {side}_at_most = 0)", MISSING[side]))
        rules += _rules(side, span, grace_ms)
    rules += [(f"({HERE}_at_most = 0) <> ({THERE}_at_most = 0)", Verdict.IN_DOUBT)]
    rules += [(_OTHER_QUEUE, Verdict.DIFFERENT), (_OTHER_BODY, Verdict.DIFFERENT)]
    told = " ".join(f"when {rule} then '{verdict}'" for rule, verdict in rules)
    why = {
        "times": f"{LACKING[HERE]} or {LACKING[THERE]}",
        "queue": _OTHER_QUEUE,
        "body": _OTHER_BODY,
    }
    reasons = ", ".join(f"case when {rule} then '{name}' end" for name, rule in why.items())
    age_ms = F.when(F.expr(LACKING[THERE]), _age_ms(HERE, there)).when(
        F.expr(LACKING[HERE]), _age_ms(THERE, here)
    )
    by = f"greatest({HERE} - {THERE}_at_most, {THERE} - {HERE}_at_most, 1)"
    return rows.withColumns(
        {
            "verdict": F.expr(f"case {told} else '{Verdict.MATCHED}' end"),
            "why": F.expr(f"concat_ws(', ', {reasons})"),
            "by": F.expr(by),
            "unsure": F.expr(f"{HERE}_at_most > {HERE} or {THERE}_at_most > {THERE}"),
            "age_ms": age_ms,
        }
    ).withColumn("age", _bucket(F.col("age_ms")))


def _rules(side: str, span: Span, grace_ms: int) -> list[tuple[str, Verdict]]:
    """Of what this side has less of than the other one surely has."""
    other = HERE if side == THERE else THERE
    rules = []
    if span.ends_ms is not None:
        rules.append((f"{other}_last_ms > {span.ends_ms - grace_ms}", NOT_YET[side]))
    if span.begins_ms is not None:
        rules.append((f"{other}_first_ms < {span.begins_ms + grace_ms}", Verdict.BEFORE))
    if not span.whole:
        rules.append(("true", Verdict.NOT_PROVEN))
    rules += [(f"{side}_at_most = 0", MISSING[side]), ("true", Verdict.DIFFERENT)]
    return [(f"({LACKING[side]} and {rule})", verdict) for rule, verdict in rules]


def _age_ms(side: str, other: Span) -> Column:
    """For how long the other side had had the time to have it."""
    if other.ends_ms is None:
        return F.lit(None).cast("bigint")
    return F.expr(f"{other.ends_ms} - {side}_first_ms")


def _bucket(age_ms: Column) -> Column:
    bucket = F.when(age_ms.isNull(), NO_TIME)
    for bound, name in AGES:
        bucket = bucket.when(age_ms < bound, name)
    return bucket.otherwise(OLDER)


def counted(rows: DataFrame) -> DataFrame:
    """How many rows and messages of each verdict and age there are."""
    return rows.groupBy("verdict", "age").agg(
        F.count("*").alias("rows"),
        F.sum("by").alias("by"),
        F.sum(HERE).alias(HERE),
        F.sum(THERE).alias(THERE),
        F.count_if("unsure").alias("unsure"),
    )
