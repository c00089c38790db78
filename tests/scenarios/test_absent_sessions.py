"""A session without a connection in a whole gateway: its time ends, and so does the gateway."""

from pathlib import Path

from support.whole_gateway import Guest, WholeGateway

from gateway.amqp_0_10 import _spec as spec
from gateway.clients.client_0_10 import Client010


def holding(gateway: WholeGateway) -> tuple[Client010, Guest]:
    """A client with a message, and a session that outlives its connection by a minute."""
    client = gateway.connect_0_10()
    guest = gateway.guests[-1]
    session = client._session
    assert session is not None
    session.request_timeout(60)
    session.send_command(spec.QueueDeclare(queue="q"))
    session.send_command(spec.MessageTransfer(), header=bytes.fromhex("0000000704011002020171"))
    session.send_command(spec.MessageSubscribe(queue="q", destination="d"))
    for unit in (0, 1):
        session.send_command(spec.MessageFlow(destination="d", unit=unit, value=0xFFFFFFFF))
    guest.protocol.schedule()
    gateway.run()
    assert available(gateway) == 0
    return client, guest


def available(gateway: WholeGateway) -> int:
    """Messages in the queue that nobody has."""
    return gateway.service.bridge.default_host.topology.queues["q"].available


def test_when_its_time_is_over_the_gateway_gives_back_what_it_held(tmp_path: Path) -> None:
    gateway = WholeGateway(tmp_path).start()
    _, guest = holding(gateway)
    guest.hang_up()
    gateway.run()
    gateway.pass_time(59)
    kept = gateway.service.faces.kept
    assert len(kept.absent) == 1
    assert available(gateway) == 0
    gateway.pass_time(2)
    assert (len(kept.absent), kept.expired) == (0, 1)
    assert available(gateway) == 1
    gateway.stop()
    gateway.ledger().assert_balanced()


def test_a_gateway_that_stops_gives_back_what_it_held(tmp_path: Path) -> None:
    gateway = WholeGateway(tmp_path).start()
    _, guest = holding(gateway)
    guest.hang_up()
    gateway.run()
    assert len(gateway.service.faces.kept.absent) == 1
    gateway.stop()
    assert gateway.service.faces.kept.absent == {}
    gateway.ledger().assert_balanced()
