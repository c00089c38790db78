"""Dialling where links are redirected: once each, with the TLS and the secrets that fit."""

import pytest
from support.bridge_world import World
from support.derivations import derive_here
from support.net import Net, Wire
from support.rules import rule
from support.upstream_world import Broker
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone, ConnectionRefusedError
from twisted.internet.testing import MemoryReactorClock
from twisted.logger import capturedLogs, formatEvent
from twisted.python.failure import Failure

from gateway.amqp_1_0 import _spec, events, types
from gateway.config.units import Host
from gateway.config.upstreams import UpstreamSection
from gateway.faces.dialled.settings import UpstreamCounts, UpstreamSettings
from gateway.faces.face import FaceSettings
from gateway.faces.upstream_1_0.context import UpstreamContext
from gateway.faces.upstream_1_0.upstream import Upstream
from gateway.net.upstreams.detours import STOP_S, BareError
from gateway.net.upstreams.dialer import Dialer
from gateway.net.upstreams.upstreams import endpoint_for
from gateway.translate.profiles.profile import Profile
from gateway.wire.limits import Limits
from gateway.wire.tagged import Tagged

HOME = "first.example"
OTHER = "other.example"


class End:
    """One transport of ours, and the scripted container at its other end."""

    def __init__(self, world, protocol, refused):
        self.world = world
        self.protocol = protocol
        self.wire = Wire()
        self.broker = Broker(world.net.now_ms())
        self.broker.refusals.update(refused)

    def talk(self):
        octets = self.wire.value()
        self.wire.clear()
        if octets:
            self.broker.receive(octets, self.world.net.now_ms())
        answer = self.broker.connection.data_to_send()
        if answer:
            self.protocol.dataReceived(answer)
        return bool(octets or answer)

    def hang_up(self):
        self.protocol.connectionLost(Failure(ConnectionDone()))
        self.world.net.turn()


class Road:
    """Connects to a host as the world says."""

    def __init__(self, world, host, server_name):
        self.world = world
        self.host = host
        world.tried.append((str(host), server_name))

    def connect(self, factory):
        world = self.world
        connected = Deferred(lambda _cancelled: None)
        if self.host.host in world.dead:
            connected.errback(ConnectionRefusedError())
        elif self.host.host not in world.silent:
            protocol = factory.buildProtocol(None)
            end = End(world, protocol, world.refused.pop(self.host.host, {}))
            world.ends[self.host.host] = end
            protocol.makeConnection(end.wire)
            connected.callback(protocol)
        return connected


class Idle:
    """A link from a node, which does nothing."""

    def __init__(self):
        self.ends = 0

    def attach(self, session):
        link = session.attach("idle", _spec.RECEIVER)
        link.send_attach(source=_spec.Source(address="q"), target=_spec.Target(address="here"))
        return link

    def on_attach(self, event):
        pass

    def on_lost(self):
        self.ends += 1


class DetourWorld:
    """An upstream whose link from `q` is redirected to another host."""

    def __init__(self, *, tls=False, dead=(), silent=(), **info):
        self.net = Net()
        self.dead = set(dead)
        self.silent = set(silent)
        self.tried = []
        self.ends = {}
        told = {"network-host": Tagged(types.STRING, OTHER)}
        told |= {key: Tagged(types.STRING, text) for key, text in info.items()}
        redirect = _spec.Error(condition="amqp:link:redirect", info=told)
        self.refused = {HOME: {"q": redirect}}
        settings = UpstreamSettings(
            name="main",
            container_id="gateway",
            limits=Limits(),
            mechanisms=lambda secure: [],
            derive=derive_here,
            random=lambda: 0.0,
        )
        faces = FaceSettings(
            limits=Limits(), container_id="gateway", federation_tag="tag", version="1"
        )
        self.upstream = Upstream(
            UpstreamContext(
                World().bridge,
                self.net.turns,
                settings,
                Profile(),
                faces,
                UpstreamCounts(),
            )
        )
        numbers = iter(range(1, 100))
        self.dialer = Dialer(
            self.net.clock,
            self.net.now_ms,
            self.net.turns,
            self.net.counts,
            self.upstream,
            [Host(tls, HOME, 5672)],
            endpoint_for=lambda host, server_name="": Road(self, host, server_name),
            next_connection_id=lambda: next(numbers),
        )
        self.user = Idle()
        self.slot = self.upstream.links.add(self.user, address="q")
        self.dialer.start()
        self.talk()

    def talk(self):
        for _ in range(30):
            self.net.turn()
            self.net.clock.advance(0)
            if not [end for end in list(self.ends.values()) if end.talk()]:
                return

    @property
    def other(self):
        return self.ends[OTHER].broker


@rule("1.0", "2.8.18", "link-redirect-is-followed")
def test_a_link_is_attached_where_it_is_redirected_to():
    with capturedLogs() as logs:
        w = DetourWorld()
    assert w.slot.attached
    assert [event.attach.source.address for event in w.other.attached] == ["q"]
    assert w.tried == [(f"amqp://{HOME}:5672", ""), (f"amqp://{OTHER}:5672", "")]
    said = [formatEvent(each) for each in logs]
    assert said.count("upstream main: it redirects links to other.example:5672") == 1
    (opened,) = w.other.take_all(events.OpenReceived)
    assert opened.open.hostname == OTHER


def test_a_detour_has_tls_where_the_connection_had_it_for_the_name_that_was_told():
    w = DetourWorld(tls=True, hostname="named.example")
    assert w.tried[-1] == (f"amqps://{OTHER}:5672", "named.example")
    assert w.slot.attached
    assert w.ends[OTHER].protocol.secure
    (opened,) = w.other.take_all(events.OpenReceived)
    assert opened.open.hostname == "named.example"


def test_a_host_that_does_not_answer_is_not_dialled_again_at_once():
    w = DetourWorld(dead=[OTHER])
    assert len(w.tried) == 2
    assert "other.example:5672" in w.upstream.health.last_error
    assert not w.slot.attached
    w.net.clock.advance(0.5)
    w.talk()
    assert len(w.tried) == 2


def test_a_detour_that_ends_gives_its_links_back():
    w = DetourWorld()
    ends = w.user.ends
    w.ends[OTHER].hang_up()
    assert w.user.ends == ends + 1
    assert w.slot.links is w.upstream.links


def test_the_links_of_a_detour_that_is_over_leave_no_transport():
    w = DetourWorld()
    assert [pump.address for pump in w.dialer.detours.pumps()] == [f"amqp://{OTHER}:5672"]
    w.slot.drop()
    w.talk()
    (closed,) = w.other.take_all(events.CloseReceived)
    assert closed.error is None
    assert w.ends[OTHER].wire.half_closed


def test_a_host_that_does_not_answer_our_close_is_cut_off():
    w = DetourWorld()
    w.other.closes = False
    w.slot.drop()
    w.talk()
    assert not w.ends[OTHER].wire.aborted
    w.net.clock.advance(STOP_S + 0.1)
    assert w.ends[OTHER].wire.aborted


def test_a_stop_closes_detours_and_is_over_when_they_are():
    w = DetourWorld()
    over = []
    w.dialer.stop().addCallback(over.append)
    w.talk()
    w.ends[HOME].hang_up()
    assert over == []
    assert len(w.other.take_all(events.CloseReceived)) == 1
    w.ends[OTHER].hang_up()
    assert over == [None]


def test_a_stop_gives_up_what_is_being_dialled():
    w = DetourWorld(silent=[OTHER])
    over = []
    w.dialer.stop().addCallback(over.append)
    w.talk()
    w.ends[HOME].hang_up()
    assert over == [None]


def test_nothing_is_dialled_after_a_stop():
    w = DetourWorld()
    w.ends[OTHER].hang_up()
    w.dialer.detours.stop()
    w.net.clock.advance(2)
    w.upstream.handle_deadline(w.net.now_ms())
    w.talk()
    assert len(w.tried) == 2


def test_new_credentials_are_for_detours_as_well():
    w = DetourWorld()
    w.dialer.redial()
    w.talk()
    assert len(w.other.take_all(events.CloseReceived)) == 1


def test_a_certificate_that_is_not_believed_is_told():
    w = DetourWorld(tls=True)
    w.ends[OTHER].protocol.on_doubted("the certificate is for another name")
    w.ends[OTHER].hang_up()
    assert (
        w.upstream.health.last_error == f"amqps://{OTHER}:5672: the certificate is for another name"
    )


def test_secrets_are_not_shown_to_a_host_where_anybody_may_read_along(tmp_path):
    secret = tmp_path / "password"
    secret.write_text("x")
    given = {"hosts": ["amqp://localhost"], "username": "me", "password_file": str(secret)}
    reactor = MemoryReactorClock()
    endpoint_to = endpoint_for(reactor, UpstreamSection.model_validate(given), cbs=False)
    endpoint_to(Host(False, "localhost", 5672))
    endpoint_to(Host(True, OTHER, 5671))
    with pytest.raises(BareError):
        endpoint_to(Host(False, OTHER, 5672))
    allowed = UpstreamSection.model_validate(given | {"allow_plain_without_tls": True})
    endpoint_for(reactor, allowed, cbs=False)(Host(False, OTHER, 5672))
