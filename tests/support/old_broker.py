"""An old broker of 0-10 - the gateway's own face for clients, on a bridge of its own - and a
gateway whose upstream it is; time stands still."""

from __future__ import annotations

from support.bridge_world import World
from support.talk_0_10 import Authenticator, Gateway
from support.upstream_world import UpstreamWorld

from gateway.bridge.bridge import Bridge
from gateway.faces.dialled.context import DialledContext
from gateway.faces.upstream_0_10.upstream import Upstream010
from gateway.message import ACCEPTED
from gateway.translate.profiles.loading import load_profile
from gateway.wire.limits import Limits
from gateway.wire.sasl import anonymous


class OldBroker:
    """The broker, and the gateway's connection to it."""

    def __init__(self, now_ms: int, *, before: OldBroker | None = None) -> None:
        self.gateway = Gateway() if before is None else before.gateway
        self.authenticator = Authenticator(["ANONYMOUS"])
        self.face = self.gateway.face(self.authenticator)
        self.silent = False  # it reads, and answers nothing

    @property
    def connection(self) -> OldBroker:
        """As of the containers of 1.0: what has octets for the gateway."""
        return self

    @property
    def world(self) -> World:
        return self.gateway.world

    def receive(self, octets: bytes, now_ms: int) -> None:
        self.face.receive_data(octets, now_ms)
        while self.authenticator.asked:
            self.authenticator.asked.pop()[1].on_authenticated("anonymous", now_ms)
        self.world.turn()

    def data_to_send(self) -> bytes:
        self.world.turn()
        return b"" if self.silent else self.face.data_to_send()

    def lose(self) -> None:
        self.face.receive_eof(self.world.now_ms)
        self.world.turn()

    def fill(self, *bodies: bytes, queue: str = "q", **more: object) -> None:
        """Messages in one of its queues."""
        self.world.send(*bodies, key=queue, **more)  # type: ignore[arg-type]
        self.world.turn()

    def bodies(self, queue: str = "q") -> list[bytes]:
        """What is in one of its queues, taken, in order."""
        return [each.message.body() for each in self.take(queue)]

    def take(self, queue: str = "q") -> list:  # type: ignore[type-arg]
        consumer, subscription = self.world.subscribe(queue)
        self.world.turn()
        found = consumer.take()
        for delivery in found:
            self.world.host.settlement.settle(delivery, ACCEPTED)
        subscription.cancel()
        self.world.turn()
        return found


class OldWorld(UpstreamWorld):
    """As `UpstreamWorld`, with an upstream of 0-10."""

    def __init__(self, **settings):
        settings.setdefault("limits", Limits())
        super().__init__(profile=load_profile("qpid-0-10"), **settings)
        self._settings.mechanisms = lambda secure: [anonymous("test")]

    def _make(self, bridge: Bridge):
        self.bridge = bridge
        self.upstream = Upstream010(
            DialledContext(
                bridge, self.turns, self._settings, self._profile, self.faces, self.counts
            )
        )
        return self.upstream

    def begin(self, *queues: str, made: bool = True, **rule):
        """These are remote, are there, and the connection is open."""
        self.place(*queues or ("q",), **rule)

        def prepare(broker):
            for name in queues or ("q",):
                if made:
                    broker.world.queue(name)

        for name in queues or ("q",):
            self.host.topology.find_queue(name)  # as the gateway has them from its start
        return self.connect(kind=OldBroker, prepare=prepare)

    def again(self):
        """The transport is lost and there is another one, to the same broker."""
        broker = self.broker
        self.lose()
        broker.lose()
        return self.connect(kind=OldBroker, before=broker)
