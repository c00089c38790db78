"""What a comparison takes from a segment: a few columns, and one row about all of it."""

import pyarrow as pa
from support.hand_log import HandLog

from gateway.accounting.segments.comparable import COMPARABLE_SCHEMA, comparable_batches
from gateway.audit.schema import Kind

KINDS = frozenset({int(Kind.RECEIVED), int(Kind.LINK_ATTACHED), int(Kind.SENT)})


def test_it_has_the_records_of_the_kinds_with_their_upstreams_and_a_row_about_the_segment(tmp_path):
    log = HandLog(tmp_path / "log")
    log.start()
    log.add("LINK_ATTACHED", link=3, node="orders", peer="link 3: a at b at far")
    log.add("LINK_ATTACHED", link=4, node="orders", peer="somebody at home")
    log.add("RECEIVED", message=1, id_digest=11, exchange="upstream far")
    log.add("RECEIVED", message=2, id_digest=12, exchange="amq.direct")
    log.add("SENT", message=2, position=5, link=4, node="orders", peer="link 9: x at far")
    log.add("CLOCK")
    (path,) = log.end().iterdir()
    batches = list(comparable_batches(path.name, 6, path.read_bytes(), KINDS))
    rows = pa.Table.from_batches(batches, COMPARABLE_SCHEMA).to_pylist()
    names = ("kind", "message", "link", "id_digest", "node", "upstream")
    assert [tuple(row[name] for name in names) for row in rows[:-1]] == [
        (Kind.LINK_ATTACHED, 0, 3, 0, "orders", "far"),
        (Kind.LINK_ATTACHED, 0, 4, 0, "orders", None),
        (Kind.RECEIVED, 1, 0, 11, None, "far"),
        (Kind.RECEIVED, 2, 0, 12, None, None),
        (Kind.SENT, 2, 4, 0, "orders", None),
    ]
    assert all(row["incarnation"] == 1 and row["about"] is None for row in rows[:-1])
    about = rows[-1]["about"]
    assert (rows[-1]["message"], about["ordinal"], about["records"], about["stopped"]) == (
        *(-7, 6, 8, True),
    )
