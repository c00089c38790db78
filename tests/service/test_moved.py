"""Messages of which other rules say that they live elsewhere: who refuses that, and who is told."""

import pathlib
import sqlite3
import tarfile
from contextlib import closing

import pytest
from click.testing import CliRunner
from support.whole_gateway import WholeGateway
from twisted.logger import capturedLogs, formatEvent

from gateway.amqp_0_10 import _spec as spec
from gateway.bridge.durable.topology_rows import RowKind
from gateway.cli.run import check
from gateway.clients.letter import Letter, Typed
from gateway.errors import UnknownStoreError
from gateway.store.contents import checksum_of

KEPT = Letter(body=Typed("string", "kept"), durable=True)
FAR = 'upstreams={"far": {"hosts": ["amqp://127.0.0.1:1"]}}'
MOVED = (FAR, 'nodes=[{"queue": "moved", "upstream": "far"}]')
SPOOLED = (FAR, 'nodes=[{"queue": "moved", "upstream": "far", "spool": true}]')
OLD = pathlib.Path(__file__).parents[1] / "vectors/stores/2026-11-24.tar.xz"


def life(
    directory: pathlib.Path, *configuration: str, to: tuple[str, ...] = (), **accepted: bool
) -> list[str]:
    """One life of a gateway, which sends a message to each of these; what it warns of queues."""
    with capturedLogs() as events:
        gateway = WholeGateway(directory, *configuration, **accepted).start()
    client = gateway.connect_0_10()
    for queue in to:
        if queue not in gateway.service.bridge.hosts["default"].topology.queues:
            gateway.result(client.declare_queue(queue, durable=True))
        gateway.result(client.send(queue, KEPT))
    gateway.stop()
    told = [formatEvent(event) for event in events if event["log_level"].name == "warn"]
    return [text for text in told if text.startswith("queue ")]


def depths(directory: pathlib.Path, *configuration: str) -> dict[str, int]:
    gateway = WholeGateway(directory, *configuration).start()
    gateway.stop()
    queues = gateway.service.bridge.hosts["default"].topology.queues.values()
    return {queue.name: queue.depth for queue in queues}


@pytest.mark.parametrize("elsewhere", [MOVED, SPOOLED])
def test_a_start_refuses_to_send_messages_away_that_were_stored_for_clients_of_the_gateway(
    tmp_path: pathlib.Path, elsewhere: tuple[str, ...]
) -> None:
    life(tmp_path, to=("moved", "stays"))
    for _ in range(2):
        with pytest.raises(UnknownStoreError) as refused:
            WholeGateway(tmp_path, *elsewhere)
        assert "1 queues have become an upstream's" in str(refused.value)
        assert "queue 'moved' of virtual host 'default' holds 1 messages" in str(refused.value)
        assert "--accept-moved-queues" in str(refused.value)
        assert "stays" not in str(refused.value)
    assert depths(tmp_path) == {"moved": 1, "stays": 1}


def test_a_group_refuses_a_store_whose_messages_only_one_of_its_gateways_would_have(
    tmp_path: pathlib.Path,
) -> None:
    life(tmp_path, to=("stays",))
    where = '"upstream": "far", "on_rejected": "queue:dead"'
    rules = f'nodes=[{{"queue": "dead", {where}}}]'
    with pytest.raises(UnknownStoreError) as refused:
        WholeGateway(tmp_path, FAR, rules, "group=orders", "pod=gateway-0")
    assert "queue 'stays' of virtual host 'default'" in str(refused.value)
    assert depths(tmp_path) == {"stays": 1}


def test_whoever_says_that_it_is_meant_has_them_sent_and_is_told_once(
    tmp_path: pathlib.Path,
) -> None:
    life(tmp_path, to=("moved", "stays"))
    (told,) = life(tmp_path, *MOVED, accept_moved_queues=True)
    assert told.startswith("queue 'moved' of virtual host 'default' lives at upstream far, and")
    assert "1 messages that were stored here" in told
    assert life(tmp_path, *MOVED) == []


def test_a_refusal_changes_nothing_of_what_the_last_life_left(tmp_path: pathlib.Path) -> None:
    life(tmp_path, to=("moved",))
    with pytest.raises(UnknownStoreError):
        WholeGateway(tmp_path, *MOVED)
    gateway = WholeGateway(tmp_path).start()
    assert gateway.service.recovered.clean
    assert gateway.service.recovered.incarnation == 2
    gateway.stop()


def test_what_is_spooled_for_an_upstream_starts_as_ever(tmp_path: pathlib.Path) -> None:
    life(tmp_path, *SPOOLED, to=("moved",))
    assert life(tmp_path, *SPOOLED) == []
    assert life(tmp_path, *MOVED) == []
    other = (FAR.replace('"far"', '"other"'), SPOOLED[1].replace('"far"', '"other"'))
    assert life(tmp_path, *other) == []


def test_a_queue_that_moved_while_it_was_empty_may_hold_messages_at_the_next_start(
    tmp_path: pathlib.Path,
) -> None:
    gateway = WholeGateway(tmp_path).start()
    gateway.result(gateway.connect_0_10().declare_queue("moved", durable=True))
    gateway.stop()
    life(tmp_path, *SPOOLED, to=("moved",))
    assert life(tmp_path, *SPOOLED) == []


def test_a_queue_of_which_an_earlier_version_has_not_said_where_it_lived_starts_with_a_warning(
    tmp_path: pathlib.Path,
) -> None:
    life(tmp_path, to=("moved",))
    (store,) = tmp_path.glob("**/store.sqlite")
    forget_where_queues_lived(store)
    (told,) = life(tmp_path, *MOVED)
    assert "were stored here" in told
    assert life(tmp_path, *MOVED) == []


def forget_where_queues_lived(store: pathlib.Path) -> None:
    """Their rows are as an earlier version wrote them."""
    with closing(sqlite3.connect(store, isolation_level=None)) as database:
        rows = database.execute("SELECT kind, key, value FROM topology WHERE kind = ?", (QUEUE,))
        for kind, key, value in rows.fetchall():
            before = value[:-SAID_OCTETS]
            row = (kind, key, before, checksum_of(kind, key, before))
            database.execute("INSERT OR REPLACE INTO topology VALUES (?, ?, ?, ?)", row)


QUEUE = int(RowKind.QUEUE)
SAID_OCTETS = 5  # of a queue that lives here: no upstream, and which marks it bears


def test_a_store_that_does_not_say_where_its_queues_lived_says_so_after_one_start(
    tmp_path: pathlib.Path,
) -> None:
    with tarfile.open(OLD) as archive:
        archive.extractall(tmp_path, filter="data")
    hosts = "virtual_hosts=[{name: main}, {name: other}]"
    broker = "upstreams.broker.hosts=[amqp://127.0.0.1:1]"
    before = (hosts, broker, "nodes=[{queue: 'spool.*', upstream: broker, spool: true}]")
    WholeGateway(tmp_path / OLD.name.partition(".")[0], *before).start().stop()
    moved = (hosts, broker, "nodes=[{queue: '*', upstream: broker, spool: true}]")
    with pytest.raises(UnknownStoreError) as refused:
        WholeGateway(tmp_path / OLD.name.partition(".")[0], *moved)
    assert "'q.1.0' of virtual host 'main' holds 4" in str(refused.value)
    assert "spool." not in str(refused.value)
    assert "subscription." not in str(refused.value)


def test_what_was_for_an_upstream_and_stays_here_is_told(tmp_path: pathlib.Path) -> None:
    life(tmp_path, *SPOOLED, to=("moved",))
    (told,) = life(tmp_path)
    assert told.startswith(
        "queue 'moved' of virtual host 'default' is no queue of upstream far any more"
    )
    assert "1 messages that were to be sent there" in told
    assert life(tmp_path) == []


def test_what_was_for_an_exchange_of_an_upstream_and_stays_here_is_told(
    tmp_path: pathlib.Path,
) -> None:
    gateway = WholeGateway(tmp_path, FAR, 'nodes=[{"exchange": "amq.topic", "upstream": "far"}]')
    client = gateway.start().connect_0_10()
    declare = spec.QueueDeclare(queue="q", durable=True, alternate_exchange="amq.topic")
    gateway.result(client.command(declare))
    gateway.result(client.send("q", KEPT))
    gateway.result(client.command(spec.QueueDelete(queue="q")))
    gateway.stop()
    (told,) = life(tmp_path)
    assert "'amq.topic to far' of virtual host 'default' is no queue of upstream far" in told
    assert life(tmp_path) == []


def checked(directory: pathlib.Path, *configuration: str) -> str:
    """What `check` says of a data directory, in one line, behind the configuration."""
    changes = (f"data_directory={directory}", *configuration)
    result = CliRunner().invoke(check, [word for each in changes for word in ("--set", each)])
    assert result.exit_code == 0, result.output
    notes = [line for line in result.output.splitlines() if line.startswith("# data_directory")]
    return " ".join(notes)


def content(directory: pathlib.Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_check_says_what_a_start_would_refuse_and_touches_nothing(tmp_path: pathlib.Path) -> None:
    assert checked(tmp_path / "none", *MOVED) == ""
    life(tmp_path, to=("moved", "moved", "stays"))
    before = content(tmp_path)
    told = checked(tmp_path, *MOVED)
    assert "`serve` would refuse it: 1 queues have become an upstream's" in told
    assert "'moved' of virtual host 'default' holds 2 messages, and would live at far" in told
    assert "--accept-moved-queues" in told
    assert checked(tmp_path) == ""
    assert checked(tmp_path, FAR, 'nodes=[{"queue": "other", "upstream": "far"}]') == ""
    assert content(tmp_path) == before


def test_check_says_where_it_cannot_know(tmp_path: pathlib.Path) -> None:
    gateway = WholeGateway(tmp_path).start()
    told = checked(tmp_path, *MOVED)
    assert told.endswith(f"would refuse queues that moved: a gateway is using {tmp_path}")
    gateway.stop()


def test_where_the_upstream_may_reject_them_for_good_that_is_said(tmp_path: pathlib.Path) -> None:
    dropping = (FAR, 'nodes=[{"queue": "moved", "upstream": "far", "on_rejected": "drop"}]')
    life(tmp_path, to=("moved",))
    assert "at far, and what that rejects is dropped" in checked(tmp_path, *dropping)
    with pytest.raises(UnknownStoreError, match="at far, and what that rejects is dropped"):
        WholeGateway(tmp_path, *dropping)
    (told,) = life(tmp_path, *dropping, accept_moved_queues=True)
    assert "are sent there, and what that rejects is dropped, as its rule says" in told
