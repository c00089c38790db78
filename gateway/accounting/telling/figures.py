"""What charts and tables are drawn from: a few hundred rows, whatever the size of the log.

Times are summed up by spans of one length, at most `SPANS` of them; times between two steps by
classes that grow by a tenth, which is how exactly percentiles are known. Of what there is one of
each queue, client or route, the `MOST` frequent are taken. Nothing here decides anything.
"""

from __future__ import annotations

from functools import reduce
from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.partitions import gathered
from gateway.accounting.steps.copies import COPY_KEYS
from gateway.accounting.steps.identities import QUEUE, rest
from gateway.accounting.steps.ledger import any_of, flag, kind_is, sent_settled, settles_for_good
from gateway.audit.schema import Flag, Kind

SPANS: Final = 200
MOST: Final = 300
SECOND_MS: Final = 1000
DAY_MS: Final = 24 * 60 * 60 * SECOND_MS
# Lengths of a span that people can read.
_LENGTHS_MS: Final = (
    *(1, 2, 5, 10, 20, 50, 100, 200, 500),
    *(each * SECOND_MS for each in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800)),
    *(each * DAY_MS // 24 for each in (1, 2, 3, 6, 12, 24, 48, 96, 168)),
)
CLASSES: Final = 10.5  # of times, for each e-fold: each is a tenth longer than the one before
COLUMNS: Final = {
    "figure": "string",
    "run": "bigint",
    "at_ms": "bigint",
    "name": "string",
    "of": "string",
    "client": "string",
    "count": "bigint",
    "entered": "bigint",
    "left": "bigint",
    "change": "bigint",
    "first_ms": "bigint",
    "last_ms": "bigint",
    "p50_ms": "double",
    "p95_ms": "double",
    "p99_ms": "double",
    "worst_ms": "bigint",
}
# What is random in a client's name: with it, each of its connections would be another client.
_RANDOM: Final = "(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}"


def span_ms(first_ms: int, last_ms: int) -> int:
    """How long a span is, so that there are `SPANS` of them at most."""
    whole = max(last_ms - first_ms, 0) + 1
    for length in _LENGTHS_MS:
        if whole <= length * (SPANS - 1):
            return length
    weeks = -(-whole // (_LENGTHS_MS[-1] * (SPANS - 1)))
    return weeks * _LENGTHS_MS[-1]


def part_ms(length_ms: int) -> int:
    """How long a span is of which one of this length, and all longer ones, are made."""
    longer = [each for each in _LENGTHS_MS if each >= length_ms] or [_LENGTHS_MS[-1]]
    return max(
        part
        for part in _LENGTHS_MS
        if part <= length_ms and not any(each % part for each in longer)
    )


class Spans(NamedTuple):
    """From when to when times are summed up, by spans of which length."""

    first_ms: int
    last_ms: int
    length_ms: int

    def of(self, name: str) -> Column:
        """The beginning of the span that the time is in.

        Where a clock was wrong, it is the nearest: there are no more spans, whatever records say.
        """
        within = f"least(greatest({name}, {self.first_ms}L), {self.last_ms}L)"
        return F.expr(f"{within} div {self.length_ms}L * {self.length_ms}L").alias("at_ms")


def spans_of(first_ms: int, last_ms: int) -> Spans:
    """Those from the first to the last record."""
    return Spans(first_ms, last_ms, span_ms(first_ms, last_ms))


def figures(records: DataFrame, spans: Spans, parts: DataFrame | None = None) -> DataFrame:
    """All of them in one table, which `figure` tells apart.

    `parts`: of which `records` are those that are not folded; else these are all that there are.
    """
    span, begun = spans.of("time_ms"), spans.of("at_ms")
    if parts is None:
        moves, folded = moves_of(records), None
    else:
        moves = parts.where("moves is not null").select(F.inline("moves"))
        folded = parts.where("waits is not null").select(F.inline("waits"))
    frames = [
        flow(moves, begun),
        waits(records, folded),
        *(clients(records, span), features(records)),
    ]
    together = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)
    most = Window.partitionBy("figure").orderBy(F.desc("count"), "name", "of", "client")
    ranked = gathered(together).withColumn("rank", F.row_number().over(most))
    # As text: each function of a `Column` is asked of the JVM by itself.
    return ranked.where(f"rank <= {MOST} or at_ms is not null").selectExpr(
        *(f"cast(`{name}` as {type_}) as `{name}`" for name, type_ in COLUMNS.items())
    )


def moves_of(records: DataFrame) -> DataFrame:
    """Single records as parts have them summed up (`segments.drawing`)."""
    names = ("incarnation", "node", "kind", "outcome", "flags", "reason")
    return records.select(*names, F.col("time_ms").alias("at_ms"), F.lit(1).alias("records"))


def flow(moves: DataFrame, span: Column) -> DataFrame:
    """By run and span: what came, what entered queues and left; by how much depths changed."""
    terms, queued = QUEUE.terms(), QUEUE.concerns()
    moved = moves.where(kind_is(Kind.RECEIVED) | any_of(list(terms.values())))
    counted = {name: is_it & queued for name, is_it in terms.items()}
    counted = {"count": kind_is(Kind.RECEIVED), **counted}
    summed = moved.groupBy(F.col("incarnation").alias("run"), span).agg(
        *(
            F.sum(F.when(is_it, F.col("records")).otherwise(0)).alias(name)
            for name, is_it in counted.items()
        )
    )
    change = rest(QUEUE)
    return summed.select(
        *(F.lit("flow").alias("figure"), "run", "at_ms", "count", "entered"),
        (F.col("recovered") + F.col("entered") - change).alias("left"),
        change.alias("change"),
    )


def waits(records: DataFrame, folded: DataFrame | None = None) -> DataFrame:
    """How long copies were in queues until somebody settled them.

    ``waits`` of all of them, ``waits by class`` (`p50_ms` is what is typical of a class), ``waits
    by queue`` and ``waits by route``, which is the exchange. `folded`: of others, by class; and of
    messages until their publishers were told: ``told``, ``told by class``, ``told by route``.
    """
    one = waited(records).withColumn("number", F.lit(1))
    keys = ("told", "node", "exchange", "step")
    summed = (
        gathered(one if folded is None else one.unionByName(folded))
        .withColumn("told", F.expr("coalesce(told, false)"))  # of states that do not have it
        .groupBy(*keys)
        .agg(F.sum("number").alias("number"), F.max("worst").alias("worst"))
        .where("number > 0")  # of some it was taken back
    )
    typical = F.expr(f"least(round(exp(step / {CLASSES}) - 1), worst)")
    what, *which = [F.col(name) for name in keys]
    grouped = (
        summed.withColumn("typical", typical)
        .groupingSets([[what], *([what, key] for key in which)], what, *which)
        .agg(
            F.grouping_id().alias("which"),
            F.sum("number").alias("count"),
            F.max("worst").alias("worst_ms"),
            F.expr("percentile(typical, array(0.5, 0.95, 0.99), number)").alias("parts"),
        )
        .where("count > 0 and not (told and which = 3)")
    )
    figure = "if(told, 'told', 'waits') || case which when 7 then '' when 6 then ' by class'"
    figure += " when 3 then ' by queue' else ' by route' end as figure"
    parts = [f"parts[{at}] as {name}" for at, name in enumerate(("p50_ms", "p95_ms", "p99_ms"))]
    name = "coalesce(node, exchange) as name"
    return grouped.selectExpr(figure, name, "count", "worst_ms", *parts)


def waited(records: DataFrame, *by: str) -> DataFrame:
    """Of each copy how long that was: `node`, `exchange`, class of times (`step`) and `worst`.

    From when it entered until it was settled for good, the first time. `by`: columns that these
    records are told apart by, too.
    """
    entered = kind_is(Kind.ENTERED)
    settled = sent_settled() | settles_for_good()
    steps = records.where((entered | settled) & ~flag(Flag.COPY) & ~flag(Flag.UNQUEUED))
    copies = steps.groupBy(*by, *COPY_KEYS).agg(
        F.min(F.when(entered, F.col("time_ms"))).alias("begun"),
        F.min(F.when(settled, F.col("time_ms"))).alias("ended"),
        F.max(F.when(entered, F.col("exchange"))).alias("exchange"),
    )
    known = copies.selectExpr(*by, "node", "exchange", "ended - begun as ms").where("ms >= 0")
    step = F.expr(f"cast(round(ln(ms + 1) * {CLASSES}) as int)").alias("step")
    told = F.lit(False).alias("told")
    return known.select(*by, "node", "exchange", step, F.col("ms").alias("worst"), told)


def clients(records: DataFrame, span: Column) -> DataFrame:
    """``protocols``: connections that were opened, by span; ``clients``: by user and product.

    Upstreams, which have no user, are not among them; nor are clients in logs of schema version 1.
    """
    opened = records.where(kind_is(Kind.CONNECTION_OPENED) & F.col("actor").isNotNull())
    product = F.regexp_replace("peer", _RANDOM, "*").alias("client")
    keys = ["at_ms", "exchange", "actor", "client"]
    times = opened.select(span, "exchange", "actor", product, "time_ms")
    by_span, by_client = [F.col(key) for key in keys[:2]], [F.col(key) for key in keys[1:]]
    grouped = times.groupingSets([by_span, by_client], *map(F.col, keys)).agg(
        F.count("*").alias("count"),
        F.min("time_ms").alias("first_ms"),
        F.max("time_ms").alias("last_ms"),
    )
    figure = "if(at_ms is null, 'clients', 'protocols') as figure"
    named = ("exchange as name", "actor as of", "client", "count", "first_ms", "last_ms")
    return grouped.selectExpr(figure, "at_ms", *named)


def features(records: DataFrame) -> DataFrame:
    """``features``: what clients have used that is not offered: `name`, of whom, which client."""
    used = records.where(kind_is(Kind.FEATURE_USED))
    product = F.regexp_replace("node", _RANDOM, "*").alias("client")
    return used.groupBy(F.col("exchange").alias("name"), F.col("peer").alias("of"), product).agg(
        F.lit("features").alias("figure"),
        F.sum(F.col("copies").cast("bigint")).alias("count"),
        F.min("position").alias("first_ms"),
        F.max("message").alias("last_ms"),
    )


def losses_by_client(records: DataFrame, summed: DataFrame) -> DataFrame:
    """Declared losses (`ledger`), each with the queue and the client that it was translated for.

    Asked only where there are any.
    """
    lost = summed.where(kind_is(Kind.TRANSLATED_WITH_LOSS)).selectExpr(
        *("incarnation", "link", "exchange as row", "reason", "`count`")
    )
    of_link = ["incarnation", "link"]
    links = records.where(kind_is(Kind.LINK_ATTACHED)).select(*of_link, "node", "connection")
    links = links.join(F.broadcast(lost.select(*of_link).distinct()), of_link, "left_semi")
    peers = records.where(kind_is(Kind.CONNECTION_OPENED)).select(
        *("incarnation", "connection", "actor"),
        F.regexp_replace("peer", _RANDOM, "*").alias("client"),
    )
    named = links.join(peers, ["incarnation", "connection"], "left").groupBy(*of_link)
    of_whom = named.agg(*(F.max(name).alias(name) for name in ("node", "actor", "client")))
    return (
        lost.join(of_whom, of_link, "left")
        .groupBy("row", "reason", "node", "actor", "client")
        .agg(F.sum("count").alias("count"))
        .orderBy(F.desc("count"), "row", "node")
    )
