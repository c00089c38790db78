"""connection.tune and tune-ok, both roles."""

import pytest
from support.rules import rule

from gateway.amqp_0_10._spec import ConnectionTune, ConnectionTuneOk
from gateway.amqp_0_10.errors import TransportError
from gateway.amqp_0_10.events import Tuned
from gateway.amqp_0_10.states import Role
from gateway.amqp_0_10.tuning import Tuning
from gateway.wire.limits import Limits


def server() -> Tuning:
    return Tuning(Role.SERVER, Limits(sessions_max=10, max_frame_size=8192, heartbeat_s=60))


@rule("0-10", "connection.tune.heartbeat-max", "permitted-range")
@rule("0-10", "connection.tune.heartbeat-max", "no-heartbeat-min")
def test_the_server_offers_its_limits_and_a_heartbeat_minimum_of_zero() -> None:
    assert server().offer() == ConnectionTune(
        channel_max=10, max_frame_size=8192, heartbeat_min=0, heartbeat_max=60
    )


def test_a_heartbeat_minimum_is_offered_and_wanted() -> None:
    def tuning() -> Tuning:
        return Tuning(Role.SERVER, Limits(heartbeat_s=60, heartbeat_min_s=20))

    assert tuning().offer().heartbeat_min == 20
    assert tuning().settle(ConnectionTuneOk(heartbeat=20)).heartbeat_s == 20
    for chosen in (19, 0, None):
        with pytest.raises(TransportError):
            tuning().settle(ConnectionTuneOk(heartbeat=chosen))


def test_the_client_may_choose_less() -> None:
    chosen = ConnectionTuneOk(channel_max=3, max_frame_size=4096, heartbeat=20)
    assert server().settle(chosen) == Tuned(3, 4096, 20)


@pytest.mark.parametrize("size", [None, 0])
def test_the_offer_counts_where_the_client_says_nothing(size: int | None) -> None:
    assert server().settle(ConnectionTuneOk(max_frame_size=size)) == Tuned(10, 8192, 0)


@pytest.mark.parametrize(
    "chosen",
    [
        pytest.param(
            ConnectionTuneOk(channel_max=11),
            marks=rule("0-10", "connection.tune-ok.channel-max", "upper-limit"),
        ),
        pytest.param(
            ConnectionTuneOk(max_frame_size=8193),
            marks=rule("0-10", "connection.tune-ok.max-frame-size", "upper-limit"),
        ),
        pytest.param(
            ConnectionTuneOk(max_frame_size=4095),
            marks=rule("0-10", "connection.tune-ok.max-frame-size", "minimum"),
        ),
        pytest.param(
            ConnectionTuneOk(heartbeat=61),
            marks=rule("0-10", "connection.tune-ok.heartbeat", "permitted-range"),
        ),
    ],
)
def test_a_choice_outside_of_the_offer_closes_the_transport(chosen: ConnectionTuneOk) -> None:
    with pytest.raises(TransportError):
        server().settle(chosen)


def client(offer: ConnectionTune) -> tuple[ConnectionTuneOk, Tuned]:
    limits = Limits(channel_max=100, max_frame_size=8192, heartbeat_s=60)
    return Tuning(Role.CLIENT, limits).answer(offer)


@rule("0-10", "connection.tune-ok.heartbeat", "permitted-range")
def test_our_client_takes_the_smaller_of_both_sides() -> None:
    offer = ConnectionTune(channel_max=50, max_frame_size=65535, heartbeat_min=0, heartbeat_max=30)
    assert client(offer) == (
        ConnectionTuneOk(channel_max=50, max_frame_size=8192, heartbeat=30),
        Tuned(50, 8192, 30),
    )


@rule("0-10", "connection.tune-ok.heartbeat", "no-heartbeat-min")
def test_our_client_asks_for_no_heartbeat_where_none_is_offered() -> None:
    assert client(ConnectionTune()) == (
        ConnectionTuneOk(channel_max=100, max_frame_size=8192),
        Tuned(100, 8192, 0),
    )


@pytest.mark.parametrize(
    "offer",
    [
        ConnectionTune(max_frame_size=100),
        ConnectionTune(heartbeat_min=5, heartbeat_max=4),
    ],
)
def test_our_client_leaves_an_offer_that_breaks_the_rules(offer: ConnectionTune) -> None:
    with pytest.raises(TransportError):
        client(offer)


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        (ConnectionTuneOk(channel_max=11), "tune-ok: channel-max 11 is above 10"),
        (ConnectionTuneOk(max_frame_size=9000), "max-frame-size 9000 is not within 4096..8192"),
        (ConnectionTuneOk(heartbeat=61), "tune-ok: heartbeat 61 is not within 0..60"),
    ],
)
def test_a_choice_outside_is_told_with_what_was_offered(
    chosen: ConnectionTuneOk, told: str
) -> None:
    with pytest.raises(TransportError, match=told):
        server().settle(chosen)
