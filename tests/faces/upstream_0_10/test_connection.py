"""The connection to an old broker of 0-10, from its login to its end."""

import pytest
from support.old_broker import OldWorld

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.connection import Connection
from gateway.amqp_0_10.events import ControlReceived, Event, HeaderReceived
from gateway.amqp_0_10.states import Role
from gateway.faces.dialled.health import UpstreamState
from gateway.wire.limits import Limits
from gateway.wire.sasl import anonymous, plain


class Scripted:
    """A server that does as the test says; implements what `OldWorld` wants of a broker."""

    def __init__(self, now_ms: int, *, offers: list[str], opens: bool = True) -> None:
        self.connection = Connection(Role.SERVER, Limits(), now_ms)
        self.offers = offers
        self.opens = opens
        self.start_ok: spec.ConnectionStartOk | None = None
        self.virtual_host: str | None = None

    def receive(self, octets: bytes, now_ms: int) -> None:
        for event in self.connection.receive_data(octets, now_ms):
            self._take(event)

    def _take(self, event: Event) -> None:
        if isinstance(event, HeaderReceived):
            self.connection.send_start([], self.offers, ["en_US"])
        elif isinstance(event, ControlReceived):
            control = event.control
            if isinstance(control, spec.ConnectionStartOk):
                self.start_ok = control
                self.connection.send_tune()
            elif isinstance(control, spec.ConnectionOpen):
                self.virtual_host = control.virtual_host
                if self.opens:
                    self.connection.send_open_ok([])


def connected(world: OldWorld, **script: object) -> Scripted:
    script.setdefault("offers", ["ANONYMOUS"])
    broker = world.connect(kind=Scripted, **script)
    assert isinstance(broker, Scripted)
    return broker


def test_it_is_up_when_the_old_broker_has_opened_it() -> None:
    world = OldWorld(hostname="vhost")
    broker = connected(world)
    assert world.upstream.health.state == UpstreamState.UP
    assert broker.virtual_host == "vhost"
    told = dict(broker.start_ok.client_properties)
    assert told["product"].value == "amqp-gateway"
    assert told["qpid.fed_link"].value == 1


def test_a_login_that_is_not_offered_says_what_is() -> None:
    world = OldWorld()
    world._settings.mechanisms = lambda secure: [plain("user", "password")]
    connected(world, offers=["ANONYMOUS", "GSSAPI"])
    assert world.face.closed
    assert world.upstream.health.last_error == (
        "it offers ANONYMOUS, GSSAPI for the login, not PLAIN"
    )
    assert world.counts.connections_refused == 1


def test_the_best_login_that_both_have_is_shown() -> None:
    world = OldWorld()
    world._settings.mechanisms = lambda secure: [plain("user", "password"), anonymous("x")]
    broker = connected(world, offers=["ANONYMOUS", "PLAIN"])
    assert (broker.start_ok.mechanism, broker.start_ok.response) == (
        "PLAIN",
        b"\0user\0password",
    )


@pytest.mark.parametrize(
    ("code", "lost"), [(spec.CloseCode.NORMAL, 0), (spec.CloseCode.CONNECTION_FORCED, 1)]
)
def test_the_old_broker_may_close_it(code: int, lost: int) -> None:
    world = OldWorld()
    broker = connected(world)
    broker.connection.send_close(code, "maintenance", world.now_ms)
    world.step()
    assert world.face.closed
    assert world.upstream.health.state == UpstreamState.DOWN
    assert world.upstream.health.last_error == f"maintenance ({int(code)})"
    assert world.counts.connections_lost == lost


def test_a_redirect_is_not_followed() -> None:
    world = OldWorld()
    broker = connected(world, opens=False)
    broker.connection.send_redirect("elsewhere", [])
    world.step()
    assert world.face.closed
    assert world.upstream.health.last_error == "it sends us to 'elsewhere', which is not followed"
    assert world.upstream.take_redirect() is None


def test_the_gateway_closes_in_good_order_when_it_stops() -> None:
    world = OldWorld()
    connected(world)
    world.face.force_close(world.now_ms)
    world.step()
    assert world.face.closed
    assert world.counts.connections_lost == 0


def test_a_peer_that_speaks_another_protocol_is_told_of() -> None:
    world = OldWorld()
    face = world.upstream.connect(world.now_ms)
    face.data_to_send()
    face.receive_data(b"AMQP\x03\x01\x00\x00", world.now_ms)
    assert face.closed
    assert "protocol header 414d515003010000" in world.upstream.health.last_error
