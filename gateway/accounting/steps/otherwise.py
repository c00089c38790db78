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
from gateway.audit.schema import Flag, Kind


def displaced(steps: DataFrame) -> DataFrame:
    """Copies that came back otherwise than they were stored, and not as they were.

    To a place or a queue that they never had; or as another message, in their own place. What came
    back with the same body is the copy, rather than what has the same message.

    `steps`: by `copies.with_previous`.
    """
    strange = steps.where(kind_is(Kind.RECOVERED) & (F.col("before") == "none")).select(
        *(F.col("incarnation").alias("run"), F.col("sequence").alias("at")),
        *(F.col(name).alias(f"said_{name}") for name in (*RIGHT, "body_digest")),
    )
    earlier = F.expr("incarnation < run")
    stored = F.bool_or(earlier & (F.col("step") == "in") & flag(Flag.DURABLE))
    back = F.bool_or(kind_is(Kind.RECOVERED) & (F.col("incarnation") == F.col("run")))
    last = F.max_by("step", F.when(earlier, F.col("sequence")))
    said = ("at", *(f"said_{name}" for name in (*RIGHT, "body_digest")))
    own = (
        _beside(steps, strange)
        .groupBy(*COPY_KEYS, "run", *said)
        .agg(
            *(stored.alias("stored"), back.alias("back"), last.alias("last")),
            *(F.max("mix").alias("mix"), F.max("body_digest").alias("body")),
            F.min("body_digest").alias("other"),
        )
        .where("stored and not back and last <> 'exit'")
        .withColumns({"since": F.lit(0), "step": F.lit("in"), "took": F.lit("")})
        .withColumn("best", F.expr(f"if(said_body_digest in (body, other), 0, 3) - {SAME}"))
        .withColumn("incarnation", F.col("run"))
    )
    at_place = F.format_string(
        "recovered at place %d of its queue, where it never was; it was at %d",
        *("said_position", "position"),
    )
    in_queue = F.format_string("recovered in %s, where it never was", "said_node")
    return told(
        only(own, ["at"], [*COPY_KEYS, "run"]),
        BreakClass.ORPHAN_SETTLEMENT,
        F.when(F.expr("message <> said_message"), as_said())
        .when(F.expr("node = said_node"), at_place)
        .otherwise(in_queue),
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
