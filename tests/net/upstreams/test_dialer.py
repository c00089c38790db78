"""Dialling an upstream: failover, back-off until it is open, one connection at a time."""

from support.bridge_world import World
from support.derivations import derive_here
from support.net import Net, Wire
from support.upstream_world import Broker
from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone, ConnectionRefusedError
from twisted.logger import capturedLogs, formatEvent
from twisted.python.failure import Failure

from gateway.config.units import Host
from gateway.faces.dialled.health import UpstreamState
from gateway.faces.dialled.settings import UpstreamCounts, UpstreamSettings
from gateway.faces.face import FaceSettings
from gateway.faces.upstream_1_0.context import UpstreamContext
from gateway.faces.upstream_1_0.upstream import Upstream
from gateway.net.upstreams.back_off import BackOff
from gateway.net.upstreams.dialer import Dialer
from gateway.translate.profiles.profile import Profile
from gateway.wire.limits import Limits

FIRST = Host(False, "first.example", 5672)
SECOND = Host(False, "second.example", 5672)


class Endpoint:
    """Connects to what the test says that a host is."""

    def __init__(self, world, host):
        self.world = world
        self.host = host

    def connect(self, factory):
        self.world.tried.append(self.host.host)
        connected = Deferred(lambda _cancelled: None)
        if self.host.host in self.world.dead:
            connected.errback(ConnectionRefusedError())
            return connected
        protocol = self.world.protocol = factory.buildProtocol(self.world.answers)
        self.world.wire = Wire()
        self.world.broker = Broker(self.world.net.now_ms())
        protocol.makeConnection(self.world.wire)
        if self.host.host in self.world.brief:
            self.world.talk()
            protocol.connectionLost(Failure(ConnectionDone()))
        connected.callback(protocol)
        return connected


class DialWorld:
    """A dialer, two hosts, and a scripted container behind them."""

    def __init__(self, *, dead=(), brief=(), answers=None):
        self.net = Net()
        self.dead, self.brief = set(dead), set(brief)
        self.answers = answers
        self.tried = []
        self.wire = None
        self.protocol = None
        self.broker = None
        self.bridge = World().bridge
        self.upstream = Upstream(
            UpstreamContext(
                self.bridge,
                self.net.turns,
                UpstreamSettings(
                    name="main",
                    container_id="gateway",
                    limits=Limits(),
                    mechanisms=lambda secure: [],
                    derive=derive_here,
                    random=lambda: 0.0,
                ),
                Profile(),
                FaceSettings(
                    limits=Limits(), container_id="gateway", federation_tag="tag", version="1"
                ),
                UpstreamCounts(),
            )
        )
        self.dialer = Dialer(
            self.net.clock,
            self.net.now_ms,
            self.net.turns,
            self.net.counts,
            self.upstream,
            [FIRST, SECOND],
            endpoint_for=lambda host: Endpoint(self, host),
            back_off=BackOff(initial=1.0, maximum=8.0, factor=2.0, jitter=0.0),
            next_connection_id=lambda: 7,
        )
        self.dialer.start()

    def talk(self):
        """Let the container answer until all is quiet."""
        for _ in range(20):
            self.net.turn()
            octets = self.wire.value()
            self.wire.clear()
            if octets:
                self.broker.receive(octets, self.net.now_ms())
            answer = self.broker.connection.data_to_send()
            if answer:
                self.protocol.dataReceived(answer)
            if not octets and not answer:
                return

    def hang_up(self):
        self.protocol.connectionLost(Failure(ConnectionDone()))
        self.net.turn()


def test_the_first_host_is_dialled_and_the_connection_counts_when_it_is_open():
    w = DialWorld()
    assert w.upstream.health.state == UpstreamState.CONNECTING
    w.talk()
    assert w.upstream.health.state == UpstreamState.UP
    assert w.tried == ["first.example"]


def test_a_host_that_does_not_answer_is_followed_by_the_next_one_at_once():
    w = DialWorld(dead=["first.example"])
    assert w.tried == ["first.example", "second.example"]
    w.talk()
    assert w.upstream.health.state == UpstreamState.UP
    assert "first.example" in w.upstream.health.last_error


def test_a_host_that_has_ended_the_connection_before_anybody_had_it_is_followed_by_the_next():
    w = DialWorld(brief=["first.example"])
    assert w.tried == ["first.example", "second.example"]
    w.talk()
    assert w.upstream.health.state == UpstreamState.UP


def test_the_face_is_told_which_address_answered():
    w = DialWorld(answers=IPv4Address("TCP", "192.0.2.7", 5672))
    assert w.upstream.location.network_host == "first.example"
    assert w.upstream.location.reached == "192.0.2.7:5672"


def test_when_no_host_answers_the_waits_grow():
    w = DialWorld(dead=["first.example", "second.example"])
    assert w.tried == ["first.example", "second.example"]
    assert w.upstream.health.state == UpstreamState.DOWN
    for wait, tries in ((1.0, 2), (2.0, 4), (4.0, 6)):
        assert len(w.tried) == tries
        w.net.clock.advance(wait - 0.1)
        assert len(w.tried) == tries
        w.net.clock.advance(0.2)
    assert len(w.tried) == 8


def test_a_peer_that_ends_what_it_has_just_opened_is_dialled_ever_later_and_told_of_once():
    w = DialWorld()
    with capturedLogs() as logs:
        for wait in (1.0, 2.0, 4.0):
            tries = len(w.tried)
            w.talk()
            assert w.upstream.health.state == UpstreamState.UP
            w.hang_up()
            w.net.clock.advance(wait - 0.1)
            assert len(w.tried) == tries
            w.net.clock.advance(0.2)
            assert len(w.tried) == tries + 1
    told = [formatEvent(each) for each in logs]
    assert sum("the transport was closed" in each for each in told) == 1
    w.talk()
    w.net.clock.advance(60)  # this one stands
    with capturedLogs() as logs:
        w.hang_up()
        w.net.clock.advance(1.1)
    assert len(w.tried) == 5
    assert any("the transport was closed" in formatEvent(each) for each in logs)


def test_a_try_that_is_waited_for_can_be_made_at_once():
    w = DialWorld(dead=["first.example", "second.example"])
    w.net.clock.advance(1.1)
    assert len(w.tried) == 4
    w.dead.clear()
    w.dialer.hasten()
    assert w.tried[4:] == ["first.example"]
    w.dialer.hasten()  # under way: nothing to hasten
    w.talk()
    assert w.upstream.health.state == UpstreamState.UP
    w.dialer.hasten()
    w.net.clock.advance(20)
    assert len(w.tried) == 5
    assert w.upstream.health.state == UpstreamState.UP


def test_failed_tries_and_the_time_of_the_next_are_known_until_it_is_connected():
    w = DialWorld(dead=["first.example", "second.example"])
    dialer = w.dialer
    began_ms = w.net.now_ms()
    assert (dialer.failed_tries, dialer.next_try_ms) == (1, began_ms + 1000)
    w.net.clock.advance(1.1)
    assert (dialer.failed_tries, dialer.next_try_ms) == (2, w.net.now_ms() + 2000)
    assert w.upstream.health.last_error_ms == w.net.now_ms()
    w.dead.clear()
    w.net.clock.advance(2.1)
    w.talk()
    assert (dialer.failed_tries, dialer.next_try_ms) == (0, None)
    assert dialer.where == "amqp://first.example:5672"
    assert w.upstream.health.turned_ms == w.net.now_ms()


def test_an_upstream_that_takes_connections_and_opens_none_has_been_down_since_it_was_up():
    w = DialWorld()
    w.talk()
    w.net.clock.advance(5)
    w.net.turn()
    w.hang_up()
    lost_ms = w.net.now_ms()
    w.net.clock.advance(1.1)
    w.hang_up()
    w.hang_up()
    assert w.upstream.health.state_since_ms > lost_ms
    assert w.upstream.health.turned_ms == lost_ms


def test_a_lost_connection_is_dialled_again_and_there_is_one_at_a_time():
    w = DialWorld()
    w.talk()
    w.hang_up()
    assert w.upstream.health.state == UpstreamState.DOWN
    assert w.dialer.pump is None
    w.net.clock.advance(1.1)
    w.talk()
    assert w.upstream.health.state == UpstreamState.UP
    assert w.upstream.context.counts.connections_made == 2
    assert w.tried == ["first.example", "first.example"]


def test_a_host_that_takes_connections_and_never_opens_is_left_for_the_next_and_waited_for():
    w = DialWorld()
    w.hang_up()
    assert w.upstream.context.counts.connections_refused == 1
    assert w.tried == ["first.example", "second.example"]
    w.hang_up()
    for wait in (1.0, 2.0):
        tries = len(w.tried)
        w.net.clock.advance(wait - 0.1)
        assert len(w.tried) == tries
        w.net.clock.advance(0.2)
        assert w.tried[tries:] == ["first.example"]
        w.hang_up()
        w.hang_up()


def test_a_host_that_never_opens_is_told_of_once_and_by_name():
    with capturedLogs() as captured:
        w = DialWorld()
        w.hang_up()
    assert [formatEvent(event) for event in captured] == [
        "upstream main: amqp://first.example:5672: the transport was closed;"
        " publishers to it wait, trying again",
    ]


def test_stopping_says_goodbye_and_dials_no_more():
    w = DialWorld()
    w.talk()
    over = []
    w.dialer.stop().addCallback(over.append)
    w.talk()
    w.hang_up()
    assert over == [None]
    w.net.clock.advance(100)
    assert w.tried == ["first.example"]


def test_a_peer_that_takes_the_connection_and_says_nothing_is_left_behind():
    w = DialWorld()
    over = []
    w.dialer.stop().addCallback(over.append)
    assert w.wire.aborted
    assert over == [None]
    w.hang_up()  # its transport ends a moment later
    w.net.clock.advance(100)
    assert w.tried == ["first.example"]


def test_a_peer_that_is_left_behind_does_not_end_the_next_try():
    w = DialWorld()
    left = w.protocol
    w.dialer._service.stopService()
    w.dialer._service.startService()
    left.connectionLost(Failure(ConnectionDone()))
    w.talk()
    assert w.upstream.health.state == UpstreamState.UP
    assert w.tried == ["first.example", "first.example"]


def test_a_peer_that_does_not_read_our_goodbye_is_cut_off():
    w = DialWorld()
    w.talk()
    w.dialer.stop()
    w.net.turn()
    w.net.clock.advance(2.1)
    assert w.wire.aborted


def test_an_active_broker_and_its_standby_are_found_in_turn():
    """A standby takes no connections until it is the active one: Amazon MQ's two brokers."""
    w = DialWorld(dead=["second.example"])
    w.talk()
    assert w.upstream.health.state == UpstreamState.UP
    w.dead = {"first.example"}
    w.net.clock.advance(60)
    w.hang_up()
    w.net.clock.advance(1.1)
    w.talk()
    assert w.upstream.health.state == UpstreamState.UP
    assert w.tried == ["first.example", "first.example", "second.example"]
    w.net.clock.advance(60)
    w.dead = {"second.example"}
    w.hang_up()
    w.net.clock.advance(1.1)
    w.talk()
    assert w.upstream.health.state == UpstreamState.UP
    assert w.tried[3:] == ["first.example"]


def test_while_brokers_change_places_both_are_tried_again():
    w = DialWorld()
    w.talk()
    w.dead = {"first.example", "second.example"}
    w.hang_up()
    w.net.clock.advance(1.1)
    assert w.upstream.health.state == UpstreamState.DOWN
    w.dead = {"first.example"}
    w.net.clock.advance(2.1)
    w.talk()
    assert w.upstream.health.state == UpstreamState.UP
    assert w.tried[1:] == ["first.example", "second.example"] * 2


def test_a_problem_is_told_once_until_it_is_over():
    w = DialWorld()
    w.talk()
    with capturedLogs() as captured:
        for _ in range(2):
            w.upstream.health.note_problem("no credit")
        w.upstream.health.note_solved("no credit")
        w.upstream.health.note_solved("what was never told")
        w.upstream.health.note_problem("no credit")
    assert [formatEvent(event) for event in captured] == [
        "upstream main: no credit",
        "upstream main: over: no credit",
        "upstream main: no credit",
    ]
