"""What a comparison takes from a segment: messages and deliveries, and a row about all of it."""

from pathlib import Path

import pyarrow as pa
import pytest
from support.hand_log import HandLog

from gateway.accounting.segments.comparable import COMPARABLE_SCHEMA, Sought, comparable_batches

NAMES = ("message", "open", "id_digest", "surely", "at_most", "nodes")


@pytest.fixture
def segment(tmp_path) -> Path:
    log = HandLog(tmp_path / "log")
    log.start()
    log.add("LINK_ATTACHED", link=3, node="orders", peer="link 3: a at b at far")
    log.add("LINK_ATTACHED", link=4, node="orders", peer="somebody at home")
    log.add("RECEIVED", message=1, id_digest=11, exchange="upstream far")
    log.add("RECEIVED", message=2, id_digest=12, exchange="amq.direct", body_digest=-5)
    log.add("ENTERED", message=2, position=5, node="orders", exchange="amq.direct")
    log.add("ENTERED", message=2, position=1, node="full", exchange="a", flags="REROUTED")
    log.add("REFUSED", message=2, node="full", exchange="amq.direct")
    log.add("UNROUTABLE", message=1, reason="ALTERNATE_EXCHANGE")
    log.add("ENTERED", message=3, position=6, node="orders", exchange="amq.direct")
    log.add("SENT", message=2, position=5, link=4, node="orders", id_digest=12, body_digest=-5)
    log.add("SENT", message=3, position=6, link=4, node="orders", id_digest=13)
    log.add("SENT", message=2, position=5, link=3, node="orders", id_digest=12)
    log.add("SENT", message=2, position=5, link=4, node="orders", id_digest=12, flags="REDELIVERED")
    log.add("SETTLED", message=2, position=5, link=4, node="orders", outcome="ACCEPTED")
    log.add("SETTLED", message=4, position=7, link=4, node="orders", outcome="ACCEPTED")
    log.add(
        "SENT", message=3, position=6, link=4, node="orders", id_digest=13, flags="COPY SETTLED"
    )
    log.add("SENT", message=5, position=8, link=4, node="orders", id_digest=15, flags="SETTLED")
    (path,) = log.end().iterdir()
    return path


def rows(segment: Path, sought: Sought) -> list[dict]:
    batches = list(comparable_batches(segment.name, 6, segment.read_bytes(), sought))
    return pa.Table.from_batches(batches, COMPARABLE_SCHEMA).to_pylist()


def told(segment: Path, sought: Sought) -> list[tuple]:
    return [
        tuple(row[name] for name in NAMES) for row in rows(segment, sought) if row["message"] > 0
    ]


def test_what_is_known_of_a_delivery_is_in_one_row_which_is_open_if_it_may_go_on(segment):
    assert told(segment, Sought(left=True, queues=True)) == [
        (2, True, 12, 0, 1, ["orders"]),  # on link 3
        (2, False, 12, 1, 2, ["orders"]),
        (3, True, 13, 0, 1, ["orders"]),
        (4, True, None, 1, None, ["orders"]),  # which was sent elsewhere
        (5, False, 15, 1, 1, ["orders"]),
    ]
    assert {row["nodes"] and 1 for row in rows(segment, Sought(left=True))} == {None}
    delivery = rows(segment, Sought(left=True))[2]
    names = ("incarnation", "link", "position", "body_digest")
    assert tuple(delivery[name] for name in names) == (1, 4, 5, 0)
    assert len({row["node"] for row in rows(segment, Sought(left=True)) if row["node"]}) == 1


def test_the_links_that_lead_to_an_upstream_are_told_with_deliveries(segment):
    links = [row for row in rows(segment, Sought(left=True)) if row["message"] == 0]
    assert [(row["link"], row["upstream"], row["open"]) for row in links] == [(3, "far", None)]


def test_what_is_known_of_a_message_is_in_one_row_which_is_open_if_it_came_elsewhere(segment):
    assert told(segment, Sought()) == [(1, True, None, 1, None, None), (2, False, 12, 0, 1, None)]
    assert told(segment, Sought(queues=True)) == [
        (1, True, None, 1, None, []),
        (2, False, 12, 0, 1, ["orders", "full"]),
        (3, True, None, 1, None, ["orders"]),
    ]
    assert told(segment, Sought(upstream="far")) == [
        (1, False, 11, 1, 1, None),
        (2, True, None, 0, None, None),
    ]


def test_behind_all_that_is_a_row_about_the_segment(segment):
    for sought in (Sought(), Sought(left=True)):
        row = rows(segment, sought)[-1]
        about = row["about"]
        assert (row["message"], about["ordinal"], about["stopped"]) == (-7, 6, True)
        assert about["records"] == about["last_sequence"] == 19
