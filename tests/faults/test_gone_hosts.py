"""Clients whose host vanishes in the middle of messages that they do not read are found dead."""

import select
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from support.far_host import HERE, FarHost, possible
from support.gateway_process import GatewayProcess
from support.lines import Lines
from support.net import Net
from support.raw_peers import Raw, Raw010, Raw10

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_1_0 import _spec
from gateway.clients.letter import Letter, Typed
from gateway.net import keepalive
from gateway.net.keepalive import LOOKS, Unanswered

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(not possible(), reason="only root can make a network namespace"),
]

PATIENCE_S = 30.0
LOOKS_EVERY_S = 0.05


@pytest.fixture
def far() -> Iterator[FarHost]:
    with FarHost() as host:
        yield host


def wait_until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < deadline
        select.select([], [], [], LOOKS_EVERY_S)


def take_little(peer: Raw) -> None:
    """Its kernel is full before the message is whole."""
    peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)


def reader_0_10(port: int) -> Raw:
    peer = Raw010(port, host=HERE).log_in()
    take_little(peer)
    session = peer.attach()
    peer.asks(
        session,
        [
            spec.MessageSubscribe(queue="q", destination="d", accept_mode=0, acquire_mode=0),
            spec.MessageFlow(destination="d", unit=0, value=100),
            spec.MessageFlow(destination="d", unit=1, value=0xFFFFFFFF),
        ],
    )
    return peer


def reader_1_0(port: int) -> Raw:
    peer = Raw10(port, host=HERE).log_in()
    take_little(peer)
    peer.begin()
    attach = _spec.Attach(
        name="l",
        handle=0,
        role=True,
        source=_spec.Source(address="q"),
        target=_spec.Target(address="here"),
    )
    flow = _spec.Flow(
        incoming_window=2**31 - 1,
        next_outgoing_id=0,
        outgoing_window=2**31 - 1,
        handle=0,
        delivery_count=0,
        link_credit=100,
    )
    peer.performs(attach, flow)
    return peer


def test_who_was_stalled_by_large_messages_is_gone_after_twice_the_heartbeat(
    far: FarHost, tmp_path: Path
) -> None:
    limits = {"heartbeat": "2s", "idle_timeout": "4s"}
    config = {"anonymous": True, "listen": {"amqp": "0.0.0.0:0"}, "limits": limits}
    with GatewayProcess(tmp_path, config) as gateway:
        lines = Lines(gateway.amqp_port)
        publisher = lines.connect_0_10()
        lines.wait_for(publisher.declare_queue("q"))
        for _ in range(20):
            lines.wait_for(publisher.send("q", Letter(body=Typed("binary", bytes(500_000)))))
        lines.hang_up()
        peers = [
            far.does(lambda: reader_0_10(gateway.amqp_port)),
            far.does(lambda: reader_1_0(gateway.amqp_port)),
        ]
        for peer in peers:
            assert select.select([peer.socket], [], [], PATIENCE_S)[0]
        far.vanish()
        wait_until(
            lambda: (
                sum(
                    value
                    for name, value in gateway.metrics().items()
                    if name.startswith(("gateway_connections{", "gateway_unsettled_messages"))
                )
                == 0
            )
        )


def test_who_took_no_more_is_gone_when_the_kernel_asks_in_vain(
    far: FarHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keepalive, "UNANSWERED_MS", 300)
    net = Net()
    _pump, wire = net.connect()
    unanswered = Unanswered(net.door.pumps, list)

    def cut_off() -> bool:
        for _ in range(LOOKS):
            unanswered.look()
        return wire.aborted

    with socket.create_server((HERE, 0)) as server:
        peer = far.does(lambda: socket.create_connection(server.getsockname()))
        with peer, server.accept()[0] as near:
            near.setblocking(False)
            with suppress(BlockingIOError):
                while True:
                    near.send(bytes(65536))
            wire.handle = near
            asked_in_time = time.monotonic() + 1
            wait_until(lambda: cut_off() or time.monotonic() > asked_in_time)
            assert not wire.aborted  # it lives, and says each time that it takes no more
            far.vanish()
            wait_until(cut_off)
