"""What of the log was let go on purpose: decided here, on the driver, from what little tells it."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from gateway.audit.let_go import Departure, LetGo, flaw_behind
from gateway.audit.provenance import Provenance
from gateway.audit.schema import Kind


def let_go_by(stated: DataFrame, provenance: Provenance) -> LetGo:
    """What is known to have gone on purpose.

    `stated`: what the gateway says of the log; `provenance`: all segments have been noted.
    """
    let_go = LetGo(provenance.by_books)
    let_go.note(_departures(stated))
    if provenance.trust is not None:
        for tail in provenance.unsealed():
            let_go.discount(tail.first, tail.last)
    return let_go


def excused(let_go: LetGo, provenance: Provenance) -> dict[str, str]:
    """Segments in front of which others are missing that were let go, by their names.

    Each with the reason why what was let go is not what came before it, as a rule "".
    """
    found: dict[str, str] = {}
    before = 0
    for each in provenance.segments:
        missing = each.number > before + 1
        before = each.number or before
        departure = let_go.through(each.number - 1) if missing else None
        if departure is None:
            continue
        found[each.segment] = flaw = flaw_behind(
            departure,
            each.number - 1,
            found=each.first_sequence,
            previous_sha256=each.previous_sha256,
        )
        if not flaw:
            provenance.let_go = departure
    return found


def _departures(stated: DataFrame) -> list[Departure]:
    told = stated.where(F.col("kind") == int(Kind.LET_GO)).select(
        F.col("position").alias("last_segment"),
        F.col("size").alias("last_sequence"),
        F.coalesce("node", F.lit("")).alias("sha256"),
        F.col("copies").alias("book"),
        F.col("sequence").alias("record"),
    )
    return [Departure(*row) for row in told.orderBy("record").collect()]
