"""Who the gateway is at an upstream by OAuth tokens: shown, renewed, refused, expired."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from interop.brokers.broker_j import BrokerJ
from interop.brokers.identity import Identity
from interop.brokers.rabbitmq import RabbitMQ4, RabbitMQ310
from interop.upstream import matrix
from interop.upstream.talk import Got, Talk
from support.gateway_process import GatewayProcess

BACK_OFF_S = 20
LONG_S, SHORT_S = 600, 20  # lives of tokens
UP = 'gateway_upstream_up{upstream="main"}'
REFUSED = 'gateway_upstream_connections_total{event="refused",upstream="main"}'


class Front:
    """A gateway that shows the token in a file to one broker; its queues live there."""

    def __init__(self, directory: Path, port: int, profile: str, token: str) -> None:
        self.file = directory / "token"
        self.shows(token)
        upstream = {
            "hosts": [f"amqp://127.0.0.1:{port}"],
            "profile": profile,
            "username": "gateway",
            "token_file": str(self.file),
            "back_off": {
                "initial": "100ms",
                "maximum": f"{BACK_OFF_S}s",
                "factor": 10,
                "jitter": 0,
            },
        }
        config: dict[str, Any] = {
            "upstreams": {"main": upstream},
            "nodes": [{"queue": "*", "upstream": "main"}],
            "drain_timeout": "1s",  # publishes may be left waiting
        }
        self.gateway = GatewayProcess(directory / "gateway", config)

    def shows(self, token: str) -> None:
        """Replace the file as a token's agent does: at once."""
        new = self.file.with_suffix(".new")
        new.write_text(f"{token}\n")
        new.rename(self.file)

    @contextlib.contextmanager
    def talk(self) -> Iterator[Talk]:
        """A 0-10 client of it."""
        talk = Talk(self.gateway.amqp_port)
        yield talk
        talk.detach()


def texts(gots: list[Got]) -> list[str]:
    return [got.body.decode() for got in gots]


@pytest.fixture
def identity(broker_j: BrokerJ) -> Iterator[Identity]:
    """Who knows the tokens shown to Broker-J."""
    with broker_j.identity() as endpoint:
        yield endpoint


def test_a_new_token_is_shown_between_deliveries(
    broker_j: BrokerJ, identity: Identity, tmp_path: Path
) -> None:
    queue = "tokens.renewed"
    broker_j.create_queue(queue)
    identity.good = {"first", "second"}
    front = Front(tmp_path, broker_j.token_port, "qpid-broker-j", "first")
    with front.gateway, front.talk() as talk:
        talk.puts(queue, b"1", b"2")
        talk.subscribes(queue)
        held = talk.gets(2)
        assert texts(held) == ["1", "2"]
        identity.good = {"second"}
        front.shows("second")
        assert front.gateway.said("a new token: connecting anew"), front.gateway.log()
        waiting = [talk.publishes(queue, body) for body in (b"3", b"4")]
        assert identity.asked == ["first"]  # what is held holds it up
        talk.accepts(*held)
        for command_id in waiting:
            talk.completes(command_id)
        gots = talk.gets(2)
        assert texts(gots) == ["3", "4"]
        assert not any(got.delivery.redelivered for got in gots)
        talk.accepts(*gots)
        assert talk.quiet()
        assert identity.asked == ["first", "second"]
    assert broker_j.queue_depth(queue) == 0
    matrix.check("login by token", "qpid-broker-j", "XOAUTH2")


def test_what_is_published_while_a_token_is_replaced_arrives_once_and_in_order(
    broker_j: BrokerJ, identity: Identity, tmp_path: Path
) -> None:
    queue = "tokens.busy"
    broker_j.create_queue(queue)
    identity.good = {"first", "second"}
    front = Front(tmp_path, broker_j.token_port, "qpid-broker-j", "first")
    with front.gateway, front.talk() as talk:
        talk.puts(queue, b"0")
        front.shows("second")
        ids = [0]
        while front.gateway.log().count("connected to") < 2:
            ids.append(talk.publishes(queue, str(len(ids)).encode()))
            time.sleep(0.002)
        for command_id in ids[1:]:
            talk.completes(command_id)
        talk.subscribes(queue)
        gots = talk.gets(len(ids))
        assert texts(gots) == [str(at) for at in range(len(ids))]
        assert not any(got.delivery.redelivered for got in gots)
        talk.accepts(*gots)
        assert talk.quiet()
    assert broker_j.queue_depth(queue) == 0


def test_while_a_token_is_refused_clients_wait(
    broker_j: BrokerJ, identity: Identity, tmp_path: Path
) -> None:
    queue = "tokens.refused"
    broker_j.create_queue(queue)
    front = Front(tmp_path, broker_j.token_port, "qpid-broker-j", "stale")
    with front.gateway:
        assert front.gateway.said("refused our credentials"), front.gateway.log()
        with front.talk() as talk:
            waiting = talk.publishes(queue, b"1")
            while len(identity.asked) < 3:
                assert not talk.completed(waiting)
            metrics = front.gateway.metrics()
            assert metrics[UP] == 0
            assert metrics[REFUSED] >= 2
            assert front.gateway.log().count("refused our credentials") == 1
            identity.good = {"fresh"}
            written = time.monotonic()
            front.shows("fresh")
            talk.completes(waiting)
            assert time.monotonic() - written < BACK_OFF_S / 2  # it was tried at once
        assert front.gateway.metrics()[UP] == 1
    assert broker_j.queue_depth(queue) == 1


def test_a_web_token_goes_as_a_password_and_is_renewed_before_it_expires(
    rabbitmq4: RabbitMQ4, tmp_path: Path
) -> None:
    queue = "tokens.renewed"
    rabbitmq4.create_queue(queue)
    front = Front(tmp_path, rabbitmq4.port, "rabbitmq4", rabbitmq4.token(LONG_S))
    with front.gateway, front.talk() as talk:
        talk.subscribes(queue)
        came = []
        for each in range(30):
            if each == 5:
                front.shows(rabbitmq4.token(SHORT_S))
                expires = time.monotonic() + SHORT_S
            elif each == 15:
                assert front.gateway.said("connected to", times=2), front.gateway.log()
                front.shows(rabbitmq4.token(LONG_S))
            talk.puts(queue, str(each).encode())
            came += (gots := talk.gets())
            talk.accepts(*gots)
            time.sleep(0.1)
        # what was on its way to us as the nodes began to rest went back, and came marked
        assert texts(came) == [str(each) for each in range(30)]
        assert front.gateway.said("connected to", times=3), front.gateway.log()
        assert talk.quiet(max(0, expires + 1 - time.monotonic()))
        assert "trying again" not in front.gateway.log()
    assert rabbitmq4.queue_depth(queue) == 0
    matrix.check("login by token", "rabbitmq4", "PLAIN")


def test_a_broker_that_takes_a_token_and_ends_the_connection_is_dialled_ever_later(
    rabbitmq310: RabbitMQ310, tmp_path: Path
) -> None:
    queue = "tokens.ended"
    rabbitmq310.create_queue(queue)
    front = Front(tmp_path, rabbitmq310.port, "rabbitmq310", rabbitmq310.token(LONG_S))
    with front.gateway, front.talk() as talk:
        waiting = talk.publishes(queue, b"1")
        assert front.gateway.said("connected to", times=3), front.gateway.log()
        assert talk.quiet(1)
        assert not talk.completed(waiting)
        assert front.gateway.said("amqp:internal-error", times=3), front.gateway.log()
        assert front.gateway.log().count("connected to") == 3
    matrix.check("login by token", "rabbitmq310", "no")


def test_a_token_that_expires_ends_the_connection_and_the_next_one_goes_on(
    rabbitmq4: RabbitMQ4, tmp_path: Path
) -> None:
    queue = "tokens.expired"
    rabbitmq4.create_queue(queue)
    front = Front(tmp_path, rabbitmq4.port, "rabbitmq4", rabbitmq4.token(LONG_S))
    with front.gateway, front.talk() as talk:
        talk.puts(queue, b"1", b"2")
        front.shows(rabbitmq4.token(SHORT_S))
        assert front.gateway.said("connected to", times=2), front.gateway.log()
        talk.subscribes(queue, credit=1)
        held = talk.get()
        assert front.gateway.said("credential expired"), front.gateway.log()
        late = talk.publishes(queue, b"3")
        assert not talk.completed(late)
        front.shows(rabbitmq4.token(LONG_S))
        talk.completes(late)
        talk.accepts(held)  # too late: it comes again
        talk.flows(10)
        gots = talk.gets(3)
        came = sorted((got.body, bool(got.delivery.redelivered)) for got in gots)
        assert came == [(b"1", True), (b"2", False), (b"3", False)]
        talk.accepts(*gots)
        assert talk.quiet()
    assert rabbitmq4.queue_depth(queue) == 0
