"""Frames of three lines for the steps of the accounting jobs, and a short form of breaks."""

from __future__ import annotations

from enum import IntEnum, IntFlag

from gateway.audit.schema import Kind

CHECKPOINTS = (Kind.QUEUE_CHECKPOINT, Kind.OUTLET_CHECKPOINT, Kind.ROUTE_CHECKPOINT)

COLUMNS = {
    "incarnation": "bigint",
    "window": "bigint",
    "sequence": "bigint",
    "time_ms": "bigint",
    "kind": "tinyint",
    "outcome": "tinyint",
    "flags": "smallint",
    "message": "bigint",
    "node": "string",
    "position": "bigint",
    "exchange": "string",
    "peer": "string",
    "link": "bigint",
    "connection": "int",
    "actor": "string",
    "copies": "int",
    "reason": "smallint",
    "size": "bigint",
    "id_digest": "bigint",
    "body_digest": "bigint",
    "mix": "bigint",
    "transaction": "int",
    "bends": "boolean",
}
DEFAULTS = dict.fromkeys(COLUMNS, 0) | {"incarnation": 1}
DEFAULTS |= dict.fromkeys(("node", "exchange", "peer", "actor")) | {"bends": False}
SCHEMA = ", ".join(f"`{name}` {type_}" for name, type_ in COLUMNS.items())


class Frames:
    """Makes frames of records from what matters in each line."""

    def __init__(self, spark) -> None:
        self.spark = spark

    def records(self, *lines: dict):
        rows = []
        for sequence, line in enumerate(lines, start=1):
            unknown = set(line) - set(COLUMNS)
            assert not unknown, unknown
            row = DEFAULTS | {"sequence": sequence} | line
            rows.append(tuple(_plain(row[name]) for name in COLUMNS))
        return self.spark.createDataFrame(rows, SCHEMA).coalesce(1)

    def table(self, schema: str, *rows: tuple):
        return self.spark.createDataFrame(list(rows), schema).coalesce(1)


class Cases:
    """Stories of which each is a run of its own, so that one job looks at all of them.

    Their messages have the same numbers in each; what is found is told as if each were alone.
    """

    APART = 1000

    def __init__(self, cases: dict[str, tuple[dict, ...]]) -> None:
        self.lines: list[dict] = []
        self._begins: dict[str, tuple[int, int]] = {}
        for run, (name, lines) in enumerate(cases.items(), start=1):
            self._begins[name] = run, len(self.lines)
            self.lines += [self._line(line, run) for line in lines]

    def _line(self, line: dict, run: int) -> dict:
        counts = line["kind"] in CHECKPOINTS  # what a message's number is of others
        apart = 0 if counts or "message" not in line else self.APART * run
        moved = {"message": line["message"] + apart} if apart else {}
        return line | {"incarnation": run} | moved

    def places(self, name: str, first: int, last: int) -> tuple[int, int, int]:
        """The run of a story, and its records of these places as numbers of all of them."""
        run, begin = self._begins[name]
        return run, begin + first, begin + last

    def told(self, breaks) -> dict[str, list[tuple]]:
        """Of each: class, message, node and count of each break, and since when until when."""
        rows = breaks.collect()
        return {
            name: sorted(
                (
                    (
                        *(row["class"], row["message"] and row["message"] - self.APART * run),
                        *(row["node"], row["count"]),
                        *(max(row["since"] - begin, 0), row["sequence"] - begin),
                    )
                    for row in rows
                    if row["incarnation"] == run
                ),
                key=str,
            )
            for name, (run, begin) in self._begins.items()
        }


def _plain(value: object) -> object:
    """Spark takes no enumerations."""
    return int(value) if isinstance(value, IntEnum | IntFlag) else value


def found(breaks) -> list[tuple]:
    """Class, message, node and count of each break."""
    return sorted(
        ((row["class"], row["message"], row["node"], row["count"]) for row in breaks.collect()),
        key=str,
    )


def spans(breaks) -> list[tuple]:
    """Between which records something shows that a missing one may explain."""
    return [(row["since"], row["sequence"]) for row in breaks.collect()]


def ledger_of(records):
    """The ledger of these records, by the words of `steps.ledger`; parts come with such sums."""
    import pyspark.sql.functions as F  # noqa: N812

    from gateway.accounting.steps.ledger import KEYS, TOLD_APART, routes_copies

    told = records.withColumn("flags", F.col("flags").bitwiseAND(TOLD_APART))
    return told.groupBy(*KEYS).agg(
        F.count("*").alias("records"),
        F.sum(F.when(routes_copies(), F.col("copies").cast("long")).otherwise(1)).alias("count"),
        F.sum("size").alias("octets"),
        F.bit_xor("mix").alias("mix"),
        F.min("sequence").alias("first_sequence"),
        F.max("sequence").alias("last_sequence"),
    )


def doubtful_of(records, steps):
    """The messages of these records of which something may be wrong, as they are judged."""
    from gateway.accounting.steps import copies, ledger, messages

    runs = ledger.incarnations(ledger_of(records))
    return messages.with_steps(messages.message_states(records, runs), copies.came_oddly(steps))
