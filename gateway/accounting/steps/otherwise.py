"""Copies that came back, ended or entered otherwise than their records say.

As another message, or elsewhere; by the record of another message; in another transaction. Each is
told of as one by `mistaken`, and judged as if its record said so.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.steps.breaks import BreakClass
from gateway.accounting.steps.copies import COPY_KEYS
from gateway.accounting.steps.ledger import flag, kind_is
from gateway.accounting.steps.messages import OTHERWISE
from gateway.accounting.steps.mistaken import MANY, RIGHT, SAME, as_said, only, told
from gateway.audit.schema import REMOVALS, Flag, Kind


def displaced(steps: DataFrame, failed: DataFrame) -> DataFrame:
    """Copies that came back otherwise than they were stored, and not as they were.

    To a place or a queue that they never had, or in which another one had come back; or as another
    message, in their own place. What came back with the same body is the copy, rather than what has
    the same message. Where a checkpoint in front of the restart, by `failed`, has had them as they
    came back, they entered otherwise.

    `steps`: by `copies.with_previous`; `failed`: queues, by `identities.failures`.
    """
    again = "before in ('in', 'out', 'back') and before_incarnation = incarnation"
    strange = steps.where(kind_is(Kind.RECOVERED) & F.expr(f"before = 'none' or {again}")).select(
        *(F.col("incarnation").alias("run"), F.col("sequence").alias("at")),
        *(F.col(name).alias(f"said_{name}") for name in (*RIGHT, "body_digest")),
    )
    own = only(_not_as_they_were(steps, strange), ["at"], [*COPY_KEYS, "run"])
    found = _with_checkpoints(own, failed)
    at_place = F.format_string(
        "recovered at place %d of its queue, where it never was; it was at %d",
        *("said_position", "position"),
    )
    in_queue = F.format_string("recovered in %s, where it never was", "said_node")
    return told(
        found,
        BreakClass.ORPHAN_SETTLEMENT,
        F.when(F.expr("message <> said_message or took = 'in'"), as_said())
        .when(F.expr("node = said_node"), at_place)
        .otherwise(in_queue),
        F.col("at"),
    )


def _not_as_they_were(steps: DataFrame, strange: DataFrame) -> DataFrame:
    """Copies that were stored, and are not back in a run, beside what is `strange` there."""
    earlier = F.expr("incarnation < run")
    entered = kind_is(Kind.ENTERED) & earlier
    stored = F.bool_or(earlier & (F.col("step") == "in") & flag(Flag.DURABLE))
    back = F.bool_or(kind_is(Kind.RECOVERED) & (F.col("incarnation") == F.col("run")))
    last = F.max_by("step", F.when(earlier, F.col("sequence")))
    said = ("at", *(f"said_{name}" for name in (*RIGHT, "body_digest")))
    return (
        _beside(steps, strange)
        .groupBy(*COPY_KEYS, "run", *said)
        .agg(
            *(stored.alias("stored"), back.alias("back"), last.alias("last")),
            *(F.max("mix").alias("mix"), F.max("body_digest").alias("body")),
            F.min("body_digest").alias("other"),
            F.max_by(F.struct("incarnation", "sequence"), F.when(entered, F.col("sequence"))).alias(
                "entered"
            ),
        )
        .where("stored and not back and last <> 'exit'")
        .withColumns({"since": F.lit(0), "step": F.lit("in"), "took": F.lit("")})
        .withColumn("best", F.expr(f"if(said_body_digest in (body, other), 0, 3) - {SAME}"))
        .withColumn("incarnation", F.col("run"))
    )


def _with_checkpoints(found: DataFrame, failed: DataFrame) -> DataFrame:
    """Where a checkpoint of the queue that they entered has had them as they came back, so.

    Or just not as they entered, where it is known already that they came without a record.
    """
    here = "node = said_node"
    spans = failed.select(
        *(F.col("incarnation").alias("of_run"), F.col("node").alias("of_node")),
        *(F.col("sequence").alias("shown"), F.col("since").alias("after")),
        F.expr("computed_checksum ^ checksum").alias("missing"),
    )
    within = found.join(
        F.broadcast(spans),
        F.expr("""entered.incarnation = of_run and node = of_node
            and entered.sequence > after and entered.sequence < shown"""),
        "left",
    )
    together = Window.partitionBy("of_run", "of_node", "shown")
    off = F.bit_xor(F.expr(f"mix ^ if({here}, said_mix, 0L)")).over(together)
    so = F.col("missing").isin(off, F.bit_xor("mix").over(together))
    marked = within.withColumn("entry", F.coalesce(so, F.lit(False)))
    changed = {
        "at": F.expr("if(entry, entered.sequence, at)"),
        "incarnation": F.expr("if(entry, entered.incarnation, incarnation)"),
        "took": F.expr("if(entry, 'in', took)"),
        **{name: F.expr(f"if(entry, said_{name}, {name})") for name in RIGHT},
        **{f"said_{name}": F.expr(f"if(entry, {name}, said_{name})") for name in RIGHT},
    }
    return marked.withColumns(changed)


def left_otherwise(taken: DataFrame) -> DataFrame:
    """Copies of a queue that left by the record of another, which was never in it.

    In their place, or as the same message; they take no step since. Nor has a copy of that message
    come without a record: then it is that one.

    `taken`: by `mistaken.taken`.
    """
    never = kind_is(*sorted(REMOVALS)) & F.expr("before = 'none' and not short")
    said = taken.where(never).select(
        *("incarnation", "took", "step", F.col("sequence").alias("at")),
        *(F.col(name).alias(f"said_{name}") for name in RIGHT),
    )
    said = F.broadcast(said.limit(MANY))  # else it is no single record that is wrong
    there = taken.where("step in ('in', 'out', 'back') and not again").select(
        *("incarnation", *RIGHT, F.col("sequence").alias("since"))
    )
    frames = [
        there.join(
            said.withColumns({each: F.col(f"said_{each}") for each in ("node", name)}),
            ["incarnation", "node", name],
        )
        .where("since < at")
        .withColumn("best", F.lit(rank))
        for rank, name in enumerate(("position", "message"))
    ]
    found = only(frames[0].unionByName(frames[1]), ["at"], COPY_KEYS)
    return told(found, BreakClass.ORPHAN_SETTLEMENT, as_said(), F.col("at"))


def received_otherwise(doubtful: DataFrame, unsaid: DataFrame, records: DataFrame) -> DataFrame:
    """Messages that came by the record of another, which has come by another one.

    It is the last one of their route in front of the first of their copies.

    `unsaid`: messages of which no record says that they came.
    """
    others = doubtful.where("times > 1").select("message")
    said = records.where(kind_is(Kind.RECEIVED)).join(F.broadcast(others), "message", "left_semi")
    said = said.select(
        *("incarnation", F.coalesce("exchange", "node").alias("route"), "transaction", "copies"),
        *("node", "position", "mix", F.col("sequence").alias("at")),
        *(F.col(name).alias(f"said_{name}") for name in RIGHT),
    )
    ends = F.broadcast(unsaid.limit(MANY).select("message", "beyond", "first_end.*"))
    found = said.join(ends, ["incarnation", "route", "transaction"])
    found = found.where("at < sequence and beyond = copies").withColumns(
        {"best": F.expr("sequence - at"), "since": F.lit(0), "step": F.lit(""), "took": F.lit("")}
    )
    return told(
        only(found, ["at"], ["message"]),
        BreakClass.ORPHAN_SETTLEMENT,
        F.format_string(
            "it is this message that came by record %d, which says that message %d did",
            *("at", "said_message"),
        ),
        F.col("at"),
    )


def _beside(steps: DataFrame, strange: DataFrame) -> DataFrame:
    """Steps beside those of `strange` that are of the same message, or in the same place."""
    few = strange.limit(MANY)  # else it is no single record that is wrong
    of_message = steps.join(
        F.broadcast(few.withColumn("message", F.col("said_message"))), ["message"]
    ).where("(node = said_node) <> (position = said_position)")
    in_place = few.withColumns({"node": F.col("said_node"), "position": F.col("said_position")})
    others = steps.join(F.broadcast(in_place), ["node", "position"])
    others = others.where("message <> said_message")
    return of_message.unionByName(others.select(*of_message.columns))


def ended_otherwise(short: DataFrame, beyond: DataFrame, records: DataFrame) -> DataFrame:
    """Messages a copy of which ended its route by the record of another, which has one too many.

    `short`: of which copies have not arrived, by `messages.on_their_routes`; `beyond`: of which
    more have than were made. What a transaction held ended with that.
    """
    routes = ["incarnation", "route", "transaction"]
    many = F.count("*").over(Window.partitionBy(*routes)) <= MANY
    kinds = kind_is(Kind.UNROUTABLE, Kind.REFUSED, Kind.ROLLED_BACK)
    too_many = beyond.select(F.col("message").alias("said_message"))
    said = records.where(kinds).select(
        *("incarnation", F.coalesce("exchange", "node").alias("route"), "transaction"),
        *("node", "position", "mix", F.col("sequence").alias("at")),
        *(F.col(name).alias(f"said_{name}") for name in RIGHT),
    )
    said = said.join(F.broadcast(too_many), "said_message").withColumn("few", many).where("few")
    lacking = short.select(
        *("incarnation", "route", "message", F.col("held_by").alias("transaction")),
        F.col("first_routed").alias("since"),
    ).withColumn("few", many)
    found = said.drop("few").join(lacking.where("few"), routes)
    found = found.where("at > since and message <> said_message").withColumns(
        {"best": F.expr("at - since"), "step": F.lit(""), "took": F.lit("")}
    )
    return told(
        only(found, ["at"], COPY_KEYS),
        BreakClass.ORPHAN_SETTLEMENT,
        F.format_string(
            "it is this message's end that record %d has of message %d", "at", "said_message"
        ),
        F.col("at"),
    )


def held_otherwise(doubtful: DataFrame) -> DataFrame:
    """Copies that entered by a transaction, and their messages came by another, or by none."""
    other = "if(greatest_held.of <> held_by, greatest_held, least_held)"
    found = doubtful.where(OTHERWISE).withColumn("held", F.expr(other))
    found = found.select("message", "held_by", F.col("came_at").alias("since"), "held.*")
    places = {name: F.col(name.removeprefix("said_")) for name in (f"said_{n}" for n in RIGHT)}
    none = {"step": F.lit(""), "took": F.lit(""), "at": F.col("sequence")}
    return told(
        found.withColumns(places | none),
        BreakClass.ORPHAN_SETTLEMENT,
        F.format_string("received in transaction %d, entered in transaction %d", "held_by", "of"),
        F.col("at"),
        F.col("held_by"),
    )
