"""What a read of small frames is in work and in time: each flood that asks for next to nothing.

    PYTHONPATH=tests python tests/bench/floods.py [NAME...]

Each line has one flood, how many octets were read at once, how many frames they are, the units that
reading and answering them was charged, and the time that it took. A unit is 100 ns where the
gateway is pure and 20 ns where it is compiled: what stands at more than twice that is charged too
little, and what stands at less than half of it too much. The best of three rounds counts.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable

from support.bridge_world import World
from support.face_1_0 import Hub, message
from support.frames_1_0 import octets_of
from support.talk_0_10 import Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.frames import (
    BODY,
    FIRST_FRAME,
    HEADER,
    LAST_FRAME,
    LAST_SEGMENT,
    WHOLE_SEGMENT,
    FrameWriter,
)
from gateway.amqp_0_10.types import Command, Control
from gateway.amqp_1_0 import _spec
from gateway.faces.face import Face
from gateway.wire import buffers
from gateway.wire.work import WORK

ROUNDS = 3
READ = 64 * 1024
GIANT = 2**31 - 1

Flood = tuple[World, Face, bytes]


def _spread(count: int) -> list[tuple[int, int]]:
    return [(4 * number, 4 * number + 1) for number in range(count)]


def _read_of(*controls: Control) -> Flood:
    gateway = Gateway()
    client = gateway.session()
    writer = FrameWriter()
    writer.max_frame_size = 65535
    for control in controls:
        writer.control(1, control)
    one = writer.take()
    return gateway.world, client.face, one * max(1, READ // len(one))


def heartbeats() -> Flood:
    """connection.heartbeat."""
    return _read_of(spec.ConnectionHeartbeat())


def flushes() -> Flood:
    """session.flush for all three."""
    return _read_of(spec.SessionFlush(completed=True, confirmed=True, expected=True))


def completed_many() -> Flood:
    """session.completed of 8,000 ranges."""
    return _read_of(spec.SessionCompleted(commands=_spread(8000)))


def completed_timely() -> Flood:
    """session.completed of 8,000 ranges, with timely-reply."""
    return _read_of(spec.SessionCompleted(commands=_spread(8000), timely_reply=True))


def completed_all() -> Flood:
    """session.completed of one giant range."""
    return _read_of(spec.SessionCompleted(commands=[(0, GIANT)], timely_reply=True))


def known_completed() -> Flood:
    """session.known-completed of 8,000 ranges."""
    return _read_of(spec.SessionKnownCompleted(commands=_spread(8000)))


def gaps() -> Flood:
    """session.gap of one range."""
    return _read_of(spec.SessionGap(commands=[]))


def attached_0_10() -> Flood:
    """session.attach and session.detach."""
    gateway = Gateway()
    client = gateway.session()
    writer = FrameWriter()
    for channel in range(2, 200):
        name = b"s%d" % channel
        writer.control(channel, spec.SessionAttach(name=name))
        writer.control(channel, spec.SessionDetach(name=name))
    return gateway.world, client.face, writer.take()


def _commands(*commands: Command) -> Flood:
    gateway = Gateway()
    client = gateway.session()
    client.does(spec.QueueDeclare(queue="q"))
    client.connection.tuning.max_frame_size = 65535
    octets = b""
    while len(octets) < READ:
        client.says(*commands)
        octets += client.connection.data_to_send()
    return gateway.world, client.face, octets


def syncs() -> Flood:
    """execution.sync."""
    return _commands(spec.ExecutionSync())


def accepts() -> Flood:
    """message.accept of 7,000 ranges of nothing."""
    return _commands(spec.MessageAccept(transfers=_spread(7000)))


def acquires() -> Flood:
    """message.acquire of one giant range of nothing."""
    return _commands(spec.MessageAcquire(transfers=[(0, GIANT)]))


def flows_0_10() -> Flood:
    """message.flow of a subscription."""
    gateway = Gateway()
    client = gateway.session()
    client.does(spec.QueueDeclare(queue="q"))
    client.subscribes()
    client.hears()
    for _ in range(1000):
        client.flows(5)
    return gateway.world, client.face, client.connection.data_to_send()


def declares() -> Flood:
    """queue.declare of one that is there."""
    return _commands(spec.QueueDeclare(queue="q"))


def transfers() -> Flood:
    """message.transfer of 100 octets to a queue that nobody reads."""
    gateway = Gateway()
    client = gateway.session()
    client.does(spec.QueueDeclare(queue="q"))
    for _ in range(400):
        client.publishes(bytes(100))
    return gateway.world, client.face, client.connection.data_to_send()


def transfers_in_parts() -> Flood:
    """message.transfer whose body comes by the octet."""
    gateway = Gateway()
    client = gateway.session()
    client.does(spec.QueueDeclare(queue="q"))
    client.publishes(b"")
    octets = client.connection.data_to_send()
    at = octets.rfind(bytes((LAST_SEGMENT | WHOLE_SEGMENT, HEADER)))
    head = octets[:at] + bytes((WHOLE_SEGMENT,)) + octets[at + 1 :]
    flags = [FIRST_FRAME, *[0] * (READ // 13), LAST_FRAME]
    parts = [bytes((LAST_SEGMENT | each, BODY, 0, 13, 0, 1, 0, 1, 0, 0, 0, 0, 0)) for each in flags]
    return gateway.world, client.face, head + b"".join(parts)


def _of_1_0(octets: bytes) -> Flood:
    hub = Hub()
    client = hub.client()
    client.session()
    return hub.world, client.face, octets * max(1, READ // len(octets))


def empty_frames() -> Flood:
    """Empty frames."""
    return _of_1_0(bytes.fromhex("0000000802000000"))


def flows() -> Flood:
    """flow of a session, with echo."""
    flow = _spec.Flow(
        next_incoming_id=0,
        incoming_window=GIANT,
        next_outgoing_id=0,
        outgoing_window=GIANT,
        echo=True,
    )
    return _of_1_0(octets_of(flow))


def link_flows() -> Flood:
    """flow of a link, with echo."""
    flow = _spec.Flow(
        next_incoming_id=0,
        incoming_window=GIANT,
        next_outgoing_id=0,
        outgoing_window=GIANT,
        handle=0,
        delivery_count=0,
        link_credit=5,
        echo=True,
    )
    hub = Hub()
    client = hub.client()
    hub.world.queue()
    client.receiver("q")
    return hub.world, client.face, octets_of(flow) * 2000


def dispositions() -> Flood:
    """disposition of a giant range of nothing."""
    accepted = _spec.Disposition(
        role=True, first=0, last=GIANT - 1, settled=True, state=_spec.Accepted()
    )
    released = _spec.Disposition(role=False, first=0, last=GIANT - 1, state=_spec.Released())
    return _of_1_0(octets_of(accepted) + octets_of(released))


def begins() -> Flood:
    """begin and end."""
    begin = _spec.Begin(next_outgoing_id=0, incoming_window=2048, outgoing_window=2048)
    octets = b"".join(
        octets_of(begin, channel=channel) + octets_of(_spec.End(), channel=channel)
        for channel in range(1, 200)
    )
    hub = Hub()
    client = hub.client()
    return hub.world, client.face, octets * 6


def _attach(name: str, **more: object) -> _spec.Attach:
    return _spec.Attach(
        name=name,
        handle=0,
        role=False,
        source=_spec.Source(address="x"),
        target=_spec.Target(address="amq.fanout"),
        initial_delivery_count=0,
        **more,
    )


def attaches() -> Flood:
    """attach and detach."""
    octets = b"".join(
        octets_of(_attach(f"l{number}"), _spec.Detach(handle=0, closed=True))
        for number in range(200)
    )
    return _of_1_0(octets)


def unsettled() -> Flood:
    """attach with 3,000 unsettled deliveries, and detach."""
    known = {b"%d" % number: _spec.Accepted() for number in range(3000)}
    octets = octets_of(_attach("l", unsettled=known), _spec.Detach(handle=0, closed=True))
    return _of_1_0(octets)


def subscribed() -> Flood:
    """attach to a topic, and detach."""

    def attach(number: int) -> _spec.Attach:
        return _spec.Attach(
            name=f"l{number}",
            handle=0,
            role=True,
            source=_spec.Source(address=f"amq.topic/a.{number}.#"),
            target=_spec.Target(address="x"),
        )

    octets = b"".join(
        octets_of(attach(number), _spec.Detach(handle=0, closed=True)) for number in range(200)
    )
    return _of_1_0(octets)


def dynamic() -> Flood:
    """attach to a dynamic node, and detach."""

    def attach(number: int) -> _spec.Attach:
        return _spec.Attach(
            name=f"l{number}",
            handle=0,
            role=True,
            source=_spec.Source(dynamic=True),
            target=_spec.Target(address="x"),
        )

    octets = b"".join(
        octets_of(attach(number), _spec.Detach(handle=0, closed=True)) for number in range(200)
    )
    return _of_1_0(octets)


def transfers_1_0() -> Flood:
    """transfer of 100 octets, settled, to a queue that nobody reads."""
    hub = Hub()
    client = hub.client()
    hub.world.queue()
    link = client.sender("q")
    for number in range(100):
        link.send_delivery(b"%d" % number, b"", message(bytes(100)), settled=True)
    return hub.world, client.face, client.connection.data_to_send()


FLOODS: tuple[Callable[[], Flood], ...] = (
    heartbeats,
    flushes,
    completed_many,
    completed_timely,
    completed_all,
    known_completed,
    gaps,
    attached_0_10,
    syncs,
    accepts,
    acquires,
    flows_0_10,
    declares,
    transfers,
    transfers_in_parts,
    empty_frames,
    flows,
    link_flows,
    dispositions,
    begins,
    attaches,
    unsettled,
    subscribed,
    dynamic,
    transfers_1_0,
)


def main(names: list[str]) -> None:
    """The program."""
    form = "pure" if buffers.__file__.endswith(".py") else "compiled"
    print(f"{form}: {'flood':52} {'octets':>7} {'units':>8} {'ms':>8} {'us/unit':>8}")
    for flood in FLOODS:
        if names and flood.__name__ not in names:
            continue
        best = 1e9
        units = size = 0
        for _ in range(ROUNDS):
            world, face, octets = flood()
            size = len(octets)
            gc.collect()
            before = WORK.units
            began = time.process_time()
            face.receive_data(octets, world.now_ms)
            world.bridge.end_turn(world.now_ms)
            face.data_to_send()
            while face.behind:
                world.bridge.end_turn(world.now_ms)
                face.data_to_send()
            best = min(best, time.process_time() - began)
            units = int(WORK.units - before)
            assert not face.closed, flood.__name__
        told = (flood.__doc__ or "").rstrip(".")
        each_us = best * 1e6 / max(units, 1)
        line = f"{size:7} {units:8} {best * 1000:8.2f} {each_us:8.3f}"
        print(f"{'':{len(form)}}  {told:52} {line}")


if __name__ == "__main__":
    main(sys.argv[1:])
