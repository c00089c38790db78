"""What went on, as charts and tables."""

from support.results import FIRST_MS, LAST_MS, figure, found

from gateway.accounting.telling import drawn


def span(run: int, at: int, **said: int) -> dict:
    nothing = {"count": 0, "entered": 0, "left": 0, "change": 0}
    return figure("flow", run=run, at_ms=FIRST_MS + at, **(nothing | said))


def test_depth_begins_anew_with_each_run_and_stays_where_nothing_happens() -> None:
    result = found(
        figures=[
            span(1, 0, count=3, entered=3, change=3),
            span(1, 2000, left=1, change=-1),
            span(2, 3000, change=1),
            span(2, 3500, count=1, entered=1, change=1),
        ]
    )
    told = drawn.spans(result)
    assert [each["at_ms"] - FIRST_MS for each in told] == list(range(0, 3501, 500))
    assert [each["there"] for each in told] == [3, 3, 3, 3, 2, 2, 1, 2]
    assert sum(each["left"] for each in told) == 1


def test_flow_is_a_chart_and_a_short_table() -> None:
    told = drawn.flow(found(figures=[span(1, at, count=1) for at in range(0, 60_000, 500)]))
    assert told.count("<svg") == 2
    assert told.count("<tr>") <= drawn.TABLE_ROWS + 1
    assert "Nothing was received" in drawn.flow(found())


def wait(which: str, **said: object) -> dict:
    times = {"p50_ms": 10.0, "p95_ms": 1000.0, "p99_ms": 2000.0, "worst_ms": 90_000}
    return figure(which, **({"count": 7} | times | said))


def test_waits_are_told_in_all_by_queue_and_by_route() -> None:
    rows = [
        wait("waits"),
        wait("waits by queue", name="orders"),
        wait("waits by route", name=""),
        *(wait("waits by class", p50_ms=float(each)) for each in range(40)),
    ]
    told = drawn.waits(found(figures=rows))
    assert "<td>orders</td>" in told
    assert "<td>(default exchange)</td>" in told
    assert '<td class="n">1.5 min</td>' in told
    assert "was settled here" in drawn.waits(found())


def test_how_long_publishers_waited_is_told_in_all_and_by_route() -> None:
    rows = [
        *(wait("told"), wait("told by route", name="orders.x"), wait("waits by route", name="y")),
        wait("told by class"),
    ]
    told = drawn.told(found(figures=rows))
    assert "<td>all</td>" in told
    assert "<td>orders.x</td>" in told
    assert "<td>y</td>" not in told
    assert "<svg" in told
    assert "Nobody was told here" in drawn.told(found())


def test_what_is_not_listed_of_many_queues_is_said() -> None:
    rows = [wait("waits"), *(wait("waits by queue", name=f"q{each}") for each in range(100))]
    assert "60 of 101 queues; report.json has the first" in drawn.waits(found(figures=rows))


def client(protocol: str, name: str, count: int) -> dict:
    times = {"first_ms": FIRST_MS, "last_ms": LAST_MS}
    return figure("clients", name=protocol, of="alice", client=name, count=count, **times)


def opened(protocol: str, count: int) -> dict:
    return figure("protocols", name=protocol, at_ms=FIRST_MS, count=count)


def test_who_still_speaks_0_10_comes_first() -> None:
    rows = [
        client("AMQP 1.0", "new", 50),
        client("AMQP 0-10", "old", 2),
        opened("AMQP 1.0", 50),
        opened("AMQP 0-10", 2),
        figure("features", name="dtx", of="alice", client="old", count=9, first_ms=1, last_ms=2),
    ]
    told = drawn.migration(found(figures=rows))
    assert "2 of 52 connections spoke AMQP 0-10, of 1 client;" in told
    assert told.index("<td>old</td>") < told.index("<td>new</td>")
    assert "<td>dtx</td>" in told
    none = drawn.migration(found(figures=[client("AMQP 1.0", "new", 5), opened("AMQP 1.0", 5)]))
    assert "No client spoke AMQP 0-10." in none
    assert "Nobody has used" in none
    assert "No client was connected" in drawn.migration(found())


def test_losses_are_told_by_row_queue_and_client() -> None:
    by_client = {"row": "body.unread", "reason": 61, "node": "orders", "actor": "alice"}
    result = found(
        losses=[{"row": "body.unread", "reason": 61, "count": 4}],
        losses_by_client=[by_client | {"client": None, "count": 4}],
    )
    told = drawn.losses(result)
    assert "<td>drop</td><td>orders</td><td>alice</td><td>-</td>" in told
    assert told.count("<svg") == 1
    assert "None." in drawn.losses(found())
