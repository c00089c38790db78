"""What publishers were told: nobody of a message that is not where it belongs.

A `confirmed` record names a range of one link's messages, which do not overlap. So each message
needs only the last range that begins at it or before; and few messages are asked after.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.partitions import gathered
from gateway.accounting.segments.folding import OF_NO_MESSAGE
from gateway.accounting.steps.breaks import BreakClass, as_breaks
from gateway.accounting.steps.ledger import flag, kind_is, outcome_is, reason_is
from gateway.audit.schema import Flag, Kind, Outcome, Reason

ONE_BY_ONE: Final = 100_000  # messages of a link that are looked at so; a range may say any number
NEVER: Final = "received - in_transactions - accepted - otherwise + beyond"
_LINK: Final = ("incarnation", "link")
_RANGE: Final = (*_LINK, "of")
_SAID: Final = ("first", "last", "messages", "came")
# As `ranges.open_ranges` would say it of messages that came, without which ones.
ANY_CAME: Final = f"""transform(filter(sums, one -> one.kind = {int(Kind.RECEIVED)}), one ->
    named_struct('incarnation', one.incarnation, 'link', one.link,
        'first', 0L, 'last', {(1 << 63) - 1}L, 'messages', 0L, 'sequence', 0L))"""
# Of what is open of the ranges of a link. Which messages came by it in a span is not known.
_MEET: Final = "{0}.first <= {1}.last and {1}.first <= {0}.last"
_KNOWN: Final = f"""filter(ranges, one -> one.sequence > 0 and not exists(ranges, span ->
    span.sequence = 0 and span.first < span.last and {_MEET.format("span", "one")}))"""
_ONES: Final = """transform(filter(ranges, one -> one.sequence = 0 and one.first = one.last),
    one -> named_struct('message', one.first, 'at', one.messages))"""
# Those of a range that came in front of it.
_CAME: Final = """array_distinct(transform(filter(ones,
    each -> each.message between one.first and one.last and each.at < one.sequence),
    each -> each.message))"""
_COUNTED: Final = f"""transform(transform(known, one -> named_struct('of', one, 'here', {_CAME})),
    one -> named_struct('of', one.of, 'came', cast(size(one.here) as bigint), 'bounded',
        array_contains(one.here, one.of.first) and array_contains(one.here, one.of.last)))"""
_FITS: Final = "({0}.came = {0}.of.messages and {0}.bounded)"
_WRONG: Final = f"""transform(
    filter(counted, one -> not {_FITS.format("one")} or exists(counted, other ->
        {_FITS.format("other")} and other.of.sequence < one.of.sequence
        and {_MEET.format("other.of", "one.of")})),
    one -> named_struct('first', one.of.first, 'last', one.of.last, 'messages', one.of.messages,
        'sequence', one.of.sequence, 'came', if({_FITS.format("one")}, 0L, one.came)))"""
# What is right when all parts are seen, and nothing else that is has a message of it.
_RIGHT: Final = f"""filter(counted, one -> {_FITS.format("one")} and not exists(counted, other ->
    {_FITS.format("other")} and other.of.sequence <> one.of.sequence
    and {_MEET.format("other.of", "one.of")}))"""
_LEFT: Final = """filter(ranges, each -> not exists(right, one -> if(each.sequence > 0,
    each.sequence = one.of.sequence,
    each.first = each.last and each.first between one.of.first and one.of.last)))"""
_LESS: Final = "aggregate(wrong, 0L, (sum, one) -> sum + greatest(one.messages - one.came, 0L))"
# Between which records a message came, by those of its link that came before and behind.
_BEFORE: Final = """coalesce(array_max(transform(filter(ones,
    each -> each.message < message and each.at < sequence), each -> each.at)), 0L)"""
_BEHIND: Final = """coalesce(array_min(transform(filter(ones,
    each -> each.message > message and each.at between 1 and sequence), each -> each.at)),
    sequence)"""
# Of message states: some of its copies have not ended, or have no record of that.
SHORT: Final = "received and ended < routed"


def with_told(messages: DataFrame, records: DataFrame) -> DataFrame:
    """Messages, and the record by which their publisher is told that they are accepted (`told`)."""
    accepted = records.where(kind_is(Kind.CONFIRMED) & outcome_is(Outcome.ACCEPTED))
    ranges = accepted.select(
        *("link", F.col("message").alias("at"), F.lit(0).alias("after")),
        F.struct(F.col("position").alias("last"), F.col("sequence").alias("told")).alias("range"),
    )
    asked = messages.withColumns({"at": F.col("message"), "after": F.lit(1)})
    before = Window.partitionBy("link").orderBy("at", "after")
    found = F.last("range", ignorenulls=True).over(before)
    joined = asked.unionByName(ranges, allowMissingColumns=True).withColumn("range", found)
    told = F.when(F.col("range.last") >= F.col("message"), F.col("range.told"))
    return joined.where("after = 1").withColumn("told", told).drop("at", "after", "range")


def lost(short: DataFrame, failures: DataFrame | None) -> DataFrame:
    """Messages that were confirmed, and no record says where all of their copies are.

    `short`: by `with_told`, of those that are `SHORT`. What `failures` of the routes' identity tell
    of, if there are any, is told with them.
    """
    untold = short.where("told is not null")
    if failures is not None:
        routes = failures.where("excess > 0").groupBy("incarnation", "route")
        failed = F.broadcast(routes.agg(F.max("sequence").alias("failed")))
        untold = untold.join(failed, ["incarnation", "route"], "left")
        untold = untold.where("failed is null or failed < sequence")
    rows = untold.select(
        *("message", "incarnation", F.col("route").alias("node"), "link"),
        F.col("first_routed").alias("since"),
        F.col("told").alias("sequence"),
        (F.col("routed") - F.col("ended")).alias("count"),
        *("routed", "ended"),
    )
    return as_breaks(
        rows,
        BreakClass.LOST,
        F.format_string(
            "its publisher was told that it is accepted: %d copies routed, %d arrived",
            *("routed", "ended"),
        ),
    )


def told_wrongly(records: DataFrame, summed: DataFrame, parts: DataFrame) -> DataFrame:
    """Links whose publishers were told of other messages than came by them, or of more.

    `count`: of how many more than came by all sums (`summed`). `wrong`: ranges that are not what
    came from their first to their last message in front of them, each with how many of these
    `came`; by what of ranges is open in `parts`. `ones`: messages that came, and by which record.
    """
    told = records.where(kind_is(Kind.CONFIRMED)).select(
        *_LINK, F.col("copies").cast("long").alias("more"), "sequence"
    )
    came = summed.where(kind_is(Kind.RECEIVED)).select(*_LINK, (-F.col("records")).alias("more"))
    ranges = parts.where("size(ranges) > 0").select(F.inline("ranges"))
    left = ranges.select(*_LINK, F.struct("first", "last", "messages", "sequence").alias("range"))
    all_of_it = told.unionByName(came, allowMissingColumns=True)
    all_of_it = all_of_it.unionByName(left, allowMissingColumns=True)
    summed_up = (
        gathered(all_of_it)
        .groupBy(*_LINK)
        .agg(
            F.coalesce(F.sum("more"), F.lit(0)).alias("count"),
            F.max("sequence").alias("sequence"),
            F.collect_list("range").alias("ranges"),
        )
    )
    judged = summed_up.withColumn("known", F.expr(_KNOWN)).withColumn("ones", F.expr(_ONES))
    judged = judged.withColumn("counted", F.expr(_COUNTED)).withColumn("wrong", F.expr(_WRONG))
    found = judged.where("count > 0 or size(wrong) > 0")
    return found.select(
        *_LINK, F.greatest("count", F.lit(0)).alias("count"), "sequence", "wrong", "ones"
    )


def still_open(ranges: DataFrame) -> DataFrame:
    """What of ranges is open in several parts, without those that are right in all of them.

    And without the messages of these.
    """
    one = F.struct("first", "last", "messages", "sequence")
    of_links = ranges.groupBy(*_LINK).agg(F.collect_list(one).alias("ranges"))
    judged = of_links.withColumns({"known": F.expr(_KNOWN), "ones": F.expr(_ONES)})
    judged = judged.withColumn("counted", F.expr(_COUNTED)).withColumn("right", F.expr(_RIGHT))
    return judged.select(*_LINK, F.inline(F.expr(_LEFT)))


def never_received(
    wrong: DataFrame, unsaid: DataFrame, records: DataFrame, folded: DataFrame, runs: DataFrame
) -> DataFrame:
    """What publishers were told of that did not come by their links.

    `wrong`: by `told_wrongly`, at least one. `unsaid`: messages that are told of by name, since no
    record says that they came; `folded`: by `strays.words`. Those that no record names are told of
    by name, if these are as many as are too few of all that came by the link: each came between the
    records `earliest` and `latest`.
    """
    ranges = _with_less(wrong, records)
    each = _one_by_one(ranges, unsaid, records, folded)
    counts = each.groupBy(*_RANGE).agg(
        F.count_if("named").alias("named"), F.count_if(~F.col("named")).alias("unseen")
    )
    of_range = ranges.groupBy(*_RANGE).agg(
        *(F.max(name).alias(name) for name in ("less", "count", "sequence", *_SAID))
    )
    judged = of_range.join(F.broadcast(counts), [*_RANGE], "left").na.fill(0, ["named", "unseen"])
    judged = judged.withColumn("left", F.expr("less - named")).where("less = 0 or left > 0")
    judged = judged.withColumn("sure", F.expr("left = unseen and left between 1 and `count`"))
    sure = judged.where("sure").select(*_RANGE, "sequence")
    named = each.where(~F.col("named")).join(F.broadcast(sure), [*_RANGE])
    named = named.join(F.broadcast(wrong.select(*_LINK, "ones")), [*_LINK])
    named = named.withColumns({"earliest": F.expr(_BEFORE), "latest": F.expr(_BEHIND)})
    unnamed = judged.where("not sure").withColumn("count", F.greatest("left", F.lit(1)))
    found = named.select(
        *(*_LINK, "sequence", "message", F.lit(1).alias("count")), "earliest", "latest"
    ).unionByName(unnamed.select(*_LINK, "sequence", "count", *_SAID), allowMissingColumns=True)
    # In front of the first record that is there of the run others of it may be missing.
    begun = runs.select("incarnation", (F.col("first_sequence") - 1).alias("since"))
    return found.join(F.broadcast(begun), "incarnation")


def never_breaks(never: DataFrame) -> DataFrame:
    """What publishers were told of, and it did not come; by `never_received`."""
    of_a_range = F.format_string(
        "its publisher was told of %d messages, from %d to %d; of these %d came by its link, and "
        "were not told of before",
        *("messages", "first", "last", "came"),
    )
    missing = F.lit("its publisher was told of it, and no record says that it came")
    return as_breaks(
        never,
        BreakClass.LOST,
        F.when(F.col("first").isNull(), missing).otherwise(of_a_range),
        certain=F.col("message").isNotNull(),
    )


def _with_less(wrong: DataFrame, records: DataFrame) -> DataFrame:
    """Ranges, and how many messages are too few in each (`less`).

    What is too few beside these is so in all ranges of the link, which are one then (`of`).
    """
    by_name = wrong.select(*_LINK, "count", F.inline("wrong")).select(
        *(*_LINK, "count", "sequence", *_SAID, F.col("sequence").alias("of")),
        F.expr("greatest(messages - came, 0)").alias("less"),
    )
    others = wrong.withColumn("less", F.expr(f"`count` - {_LESS}")).where("less > 0")
    told = records.where(kind_is(Kind.CONFIRMED)).select(
        *_LINK, F.col("message").alias("first"), F.col("position").alias("last")
    )
    whole = told.join(F.broadcast(others.drop("wrong", "ones")), [*_LINK])
    nothing = {name: F.lit(None).cast("long") for name in ("messages", "came")}
    return by_name.unionByName(whole.withColumns(nothing | {"of": F.lit(0).cast("long")}))


def _one_by_one(
    ranges: DataFrame, unsaid: DataFrame, records: DataFrame, folded: DataFrame
) -> DataFrame:
    """The messages of ranges that no record names, and those that are `named` otherwise."""
    wide = F.expr("double(last) - double(first)")
    few = ranges.where("last >= first and less > 0")
    few = few.withColumn("wide", F.sum(wide).over(Window.partitionBy(*_RANGE)))
    each = (
        few.where(f"wide <= {ONE_BY_ONE}")
        .select(*_RANGE, F.explode(F.sequence("first", "last")).alias("message"))
        .dropDuplicates([*_RANGE, "message"])
    )
    bits = folded.groupBy("word").agg(F.expr("bit_or(bits)").alias("bits"))
    of_messages = records.where(~kind_is(*OF_NO_MESSAGE)).groupBy("message")
    seen = of_messages.agg(F.lit(True).alias("seen"))
    told = unsaid.select("message", F.lit(True).alias("named"))
    return (
        each.join(seen, "message", "left")
        .join(F.broadcast(told), "message", "left")
        .withColumn("word", F.expr("shiftright(message, 6)"))
        .join(bits, "word", "left")
        .where("named or seen is null and coalesce(getbit(bits, cast(message & 63 as int)), 0) = 0")
        .select(*_RANGE, "message", F.coalesce("named", F.lit(False)).alias("named"))
    )


def not_durable(records: DataFrame) -> DataFrame:
    """Durable messages in a durable queue that a restart would not bring back."""
    declared = records.where(kind_is(Kind.TOPOLOGY) & reason_is(Reason.QUEUE_DECLARED))
    queues = (
        declared.groupBy("node")
        .agg(
            F.bool_and(flag(Flag.DURABLE)).alias("all"),
            F.max("sequence").alias("declared"),
        )
        .where("all")
    )
    entries = records.where(
        kind_is(Kind.ENTERED) & ~flag(Flag.DURABLE) & ~flag(Flag.TRANSIT)
    ).select("message", "position", "node", "incarnation", "sequence")
    durable = records.where(kind_is(Kind.RECEIVED) & flag(Flag.DURABLE)).select("message")
    found = entries.join(durable, "message").join(F.broadcast(queues), "node")
    return as_breaks(
        found,
        BreakClass.LOST,
        F.lit("it is durable, and so is its queue, but it was not stored"),
        since=F.col("declared"),
    )


def unreadable(records: DataFrame) -> DataFrame:
    """Copies that were on disk, and could not be read from there again."""
    return as_breaks(
        records.where(kind_is(Kind.PURGED) & reason_is(Reason.UNDECODABLE)),
        BreakClass.LOST,
        F.lit("it was on disk, and could not be read from there"),
    )


def told_of(records: DataFrame, summed: DataFrame, wrong: DataFrame) -> DataFrame:
    """One row: how many messages clients published, and were told of (`accepted`, `otherwise`).

    `never`: what nobody was told of outside of a transaction, what was sent settled among them.
    `beyond`: of how many that did not come publishers were told, which is a break
    (`never_received`), by the ranges and sums of each link (`wrong`, by `told_wrongly`). With that
    it adds up. Of runs that tell at all: older gateways did not put it into the log. Of messages in
    transactions and of what was told, `records` has all; how many came is in the ledger (`summed`).
    """
    confirmed, received = kind_is(Kind.CONFIRMED), kind_is(Kind.RECEIVED)
    of_clients = received & ~F.expr("coalesce(exchange, '') like '%upstream %'")
    count, accepted = F.col("copies").cast("long"), outcome_is(Outcome.ACCEPTED)
    said = records.where(kind_is(Kind.CONFIRMED, Kind.RECEIVED)).select(
        "incarnation",
        F.when(of_clients & F.expr("transaction <> 0"), 1).alias("in_transactions"),
        F.when(confirmed & accepted, count).alias("accepted"),
        F.when(confirmed & ~accepted, count).alias("otherwise"),
    )
    beyond = wrong.select("incarnation", F.expr(f"greatest(`count`, {_LESS})").alias("beyond"))
    of_records = ("in_transactions", "accepted", "otherwise", "beyond")
    runs = said.unionByName(beyond, allowMissingColumns=True).groupBy("incarnation")
    told = runs.agg(*(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in of_records))
    told = told.where("accepted + otherwise > 0")
    came = summed.where(of_clients).groupBy("incarnation").agg(F.sum("records").alias("received"))
    joined = told.join(F.broadcast(came), "incarnation", "left").na.fill(0, ["received"])
    together = joined.withColumn("never", F.expr(f"greatest({NEVER}, 0)"))
    names = ("received", *of_records, "never")
    return together.agg(*(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in names))
