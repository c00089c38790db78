"""A side that is logs: what was received, and what left, of logs that are packed by hand."""

from pathlib import Path

from support.hand_log import HandLog

from gateway.accounting.comparing.arguments import LEFT, RECEIVED, Of
from gateway.accounting.comparing.logs import Facts, logs


def hand_log(directory: Path) -> HandLog:
    """Four deliveries to an upstream and two to a client, in two segments of one run."""
    log = HandLog(directory)
    log.start()
    log.add("LINK_ATTACHED", link=3, node="orders", peer="link 3: orders at far")
    log.add("LINK_ATTACHED", link=3, node="", peer="link 3: orders at far")  # it came back
    log.add("LINK_ATTACHED", link=4, node="orders")
    for message in (1, 2, 3):
        received(log, message, "orders")
        sent(log, message, 3)
    settled(log, 1, 3)
    log.add("REQUEUED", message=2, position=2, link=3, node="orders", reason="UPSTREAM_LOST")
    log.cut()
    sent(log, 2, 3, flags="REDELIVERED")
    settled(log, 2, 3)
    log.add(
        "SETTLED", message=3, position=3, link=3, node="orders", outcome="REJECTED", flags="REMOVED"
    )
    received(log, 4, "orders")
    sent(log, 4, 4, flags="COPY")
    log.add("SETTLED", message=4, position=4, link=4, node="orders", flags="COPY", outcome=1)
    sent(log, 4, 4, flags="SETTLED")
    log.add("RECEIVED", message=5, id_digest=105, exchange="amq.direct", copies=1, body_digest=9)
    log.add("REFUSED", message=5, exchange="amq.direct", node="full", reason="QUEUE_FULL")
    log.add("RECEIVED", message=6, id_digest=106, exchange="amq.direct", copies=1, body_digest=9)
    log.add("UNROUTABLE", message=6, exchange="amq.direct", reason="ALTERNATE_EXCHANGE")
    log.add("RECEIVED", message=7, id_digest=101, exchange="upstream far", copies=1, body_digest=9)
    log.add("ENTERED", message=7, position=7, node="back from far", exchange="upstream far")
    on_its_way = {"position": 8, "node": "inbox from far", "flags": "SETTLED"}
    log.add("SENT", message=8, link=4, id_digest=108, **on_its_way)
    return log


def received(log: HandLog, message: int, queue: str) -> None:
    log.add(
        "RECEIVED", message=message, id_digest=100 + message, exchange="amq.direct", body_digest=9
    )
    log.add("ENTERED", message=message, position=message, node=queue, exchange="amq.direct")


def sent(log: HandLog, message: int, link: int, flags: str = "") -> None:
    said = {"position": message, "link": link, "node": "orders", "body_digest": 9}
    log.add("SENT", message=message, id_digest=100 + message, flags=flags, **said)


def settled(log: HandLog, message: int, link: int) -> None:
    said = {"position": message, "link": link, "node": "orders"}
    log.add("SETTLED", message=message, outcome="ACCEPTED", flags="REMOVED", **said)


def items(side) -> list[tuple]:
    """Id, how many surely and at most, queues and log of each."""
    rows = side.items.collect()
    names = ("id_digest", "surely", "at_most", "nodes", "log")
    return sorted(tuple(row[name] for name in names) for row in rows)


def test_what_left_is_each_delivery_by_how_often_it_was_sent_and_whether_it_was_accepted(
    spark, tmp_path
):
    log = hand_log(tmp_path / "log").end()
    upstream = logs(spark, [log], Of(LEFT, "far"))
    assert items(upstream) == [
        (101, 1, 1, ["orders"], 0),
        (102, 1, 2, ["orders"], 0),  # sent again
        (103, 0, 1, ["orders"], 0),  # rejected
    ]
    clients = logs(spark, [log], Of(LEFT, queues=("inbox", "orders")))
    assert items(clients) == [(104, 1, 1, ["orders"], 0), (108, 1, 1, ["inbox"], 0)]
    assert clients.facts[0].upstreams == ("far",)


def test_what_was_received_is_each_message_and_of_logs_together_all_of_them(spark, tmp_path):
    first, second = hand_log(tmp_path / "first").end(), HandLog(tmp_path / "second")
    second.start()
    received(second, 1, "orders")
    side = logs(spark, [first, second.end(stopped=False)], Of(RECEIVED))
    assert items(side) == [
        *((101 + each, 1, 1, ["orders"], log) for each, log in ((0, 0), (0, 1), (1, 0), (2, 0))),
        (104, 1, 1, ["orders"], 0),
        (105, 0, 1, ["full"], 0),  # refused
        (106, 1, 1, [], 0),  # went on elsewhere
    ]
    back = logs(spark, [first], Of(RECEIVED, "far", ("back", "other")))
    assert items(back) == [(101, 1, 1, ["back"], 0)]
    assert items(logs(spark, [first], Of(RECEIVED, "far", ("orders",)))) == []
    records = side.facts[0].records
    assert side.facts == [
        Facts(str(first), "ba4d", records, 0, side.facts[0].ends_ms, True, 0, False, False),
        Facts(str(tmp_path / "second"), "ba4d", 3, 0, 1_790_000_000_003, False, 0, False, False),
    ]


def test_where_nothing_is_open_what_left_is_told_as_well(spark, tmp_path):
    log = HandLog(tmp_path / "log")
    log.start()
    log.add("LINK_ATTACHED", link=3, node="orders", peer="link 3: orders at far")
    for message, link in ((1, 3), (2, 4)):
        sent(log, message, link)
        settled(log, message, link)
    log.end()
    assert items(logs(spark, [log.directory], Of(LEFT, "far"))) == [(101, 1, 1, ["orders"], 0)]
    assert items(logs(spark, [log.directory], Of(LEFT))) == [(102, 1, 1, ["orders"], 0)]
    assert items(logs(spark, [log.directory], Of(LEFT, "other"))) == []


def test_what_several_segments_have_of_a_message_is_brought_together(spark, tmp_path, monkeypatch):
    log = HandLog(tmp_path / "log")
    log.start()
    for message in (1, 2, 3):
        log.add("RECEIVED", message=message, id_digest=100 + message, exchange="amq.direct")
    log.cut()
    log.add("ENTERED", message=1, position=1, node="orders", exchange="amq.direct")
    log.add("ENTERED", message=2, position=2, node="orders", exchange="amq.direct")
    log.add("ROLLED_BACK", message=2, exchange="amq.direct")
    log.end()
    told = [(101, 1, 1, ["orders"], 0), (102, 0, 1, ["orders"], 0), (103, 1, 1, [], 0)]
    assert items(logs(spark, [log.directory], Of(RECEIVED))) == told
    monkeypatch.setattr("gateway.accounting.comparing.logs.OPENED_MAX", 1)
    assert items(logs(spark, [log.directory], Of(RECEIVED))) == told


def test_what_is_missing_or_damaged_of_a_log_is_known(spark, tmp_path):
    log = hand_log(tmp_path / "log")
    log.cut()
    log.add("CLOCK")
    log.end()
    first, second, third = sorted(log.directory.iterdir())
    octets = bytearray(second.read_bytes())
    octets[-200] ^= 1
    second.write_bytes(octets)
    (facts,) = logs(spark, [log.directory], Of(LEFT)).facts
    assert facts.flawed
    assert facts.missing == log.sequence - facts.records > 10
    first.unlink()
    second.unlink()
    (facts,) = logs(spark, [log.directory], Of(LEFT)).facts
    assert (facts.flawed, facts.missing) == (False, 0)
    assert facts.begins_ms == facts.ends_ms - 1
    assert third.exists()
