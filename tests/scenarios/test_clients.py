"""Both clients against a whole gateway: outcomes, settling, credit, and how they fail."""

import pathlib
from collections.abc import Callable
from typing import Any

import pytest
from support.house import House

from gateway.amqp_0_10 import _spec as spec
from gateway.clients.client import ClientError, Delivered, Subscription
from gateway.clients.client_0_10 import Client010
from gateway.clients.client_1_0 import Client10
from gateway.clients.letter import Letter, Typed

LETTER = Letter(body=Typed("string", "hello"))
Connect = Callable[[House], Any]
BOTH = pytest.mark.parametrize(
    "connect", [House.connect_0_10, House.connect_1_0], ids=["0-10", "1.0"]
)


@pytest.fixture
def house(tmp_path: pathlib.Path) -> House:
    made = House(tmp_path).start()
    owner = made.connect_0_10()
    made.result(owner.declare_queue("q"))
    return made


def taken(house: House, client: Any, subscription: Subscription) -> list[Delivered]:
    came: list[Delivered] = []
    house.result(client.receive(subscription, came.append))
    house.run()
    return came


def send(house: House, client: Any, address: str = "q", count: int = 1) -> list[str]:
    answers = [client.send(address, LETTER) for _ in range(count)]
    return [house.result(answer) for answer in answers]


@BOTH
def test_a_letter_is_sent_accepted_received_and_settled(house: House, connect: Connect) -> None:
    client = connect(house)
    assert send(house, client) == ["accepted"]
    came = taken(house, client, Subscription("q"))
    assert came[0].letter.body.value in ("hello", b"hello")
    came[0].settle("accept")
    came[0].settle("accept")
    house.run()
    assert house.service.bridge.counts.accepted == 1
    house.stop()


@BOTH
@pytest.mark.parametrize(
    ("outcome", "count"), [("accept", "accepted"), ("reject", "rejected"), ("release", None)]
)
def test_every_outcome_arrives(
    house: House, connect: Connect, outcome: str, count: str | None
) -> None:
    client = connect(house)
    send(house, client)
    came = taken(house, client, Subscription("q", credit=1, once=True))
    came[0].settle(outcome)
    house.run()
    counts = house.service.bridge.counts
    assert sum((counts.accepted, counts.rejected, counts.released, counts.modified)) == 1
    if count is not None:
        assert getattr(counts, count) == 1
    else:
        assert len(taken(house, client, Subscription("q"))) == 1
    house.stop()


@BOTH
def test_credit_is_kept_and_renewed(house: House, connect: Connect) -> None:
    client = connect(house)
    send(house, client, count=10)
    came = taken(house, client, Subscription("q", credit=4))
    assert len(came) == 4
    settled = 0
    while settled < len(came):
        came[settled].settle("accept")
        settled += 1
        house.run()
    assert settled == 10
    house.stop()


@BOTH
def test_once_means_no_more_than_the_credit(house: House, connect: Connect) -> None:
    client = connect(house)
    send(house, client, count=5)
    came = taken(house, client, Subscription("q", credit=2, once=True))
    for each in came:
        each.settle("accept")
    house.run()
    assert len(came) == 2
    house.stop()


@BOTH
def test_settled_letters_are_gone_as_they_are_sent(house: House, connect: Connect) -> None:
    client = connect(house)
    send(house, client, count=3)
    came = taken(house, client, Subscription("q", credit=2, settled=True))
    house.run()
    for each in came:
        each.settle("accept")
    house.run()
    assert len(came) == 3
    assert house.service.bridge.counts.sent_settled == 3
    house.stop()


@BOTH
def test_browsing_takes_nothing(house: House, connect: Connect) -> None:
    client = connect(house)
    send(house, client, count=2)
    for _ in range(2):
        came = taken(house, connect(house), Subscription("q", browse=True))
        assert len(came) == 2
    house.stop()


@BOTH
def test_an_exchange_is_subscribed_to_by_a_key(house: House, connect: Connect) -> None:
    client = connect(house)
    came = taken(house, client, Subscription("amq.topic/news.*"))
    everything = taken(house, client, Subscription("amq.topic"))
    send(house, client, "amq.topic/news.de")
    send(house, client, "amq.topic/sports.de")
    house.run()
    assert (len(came), len(everything)) == (1, 2)
    house.stop()


@BOTH
def test_what_cannot_be_routed_is_said(house: House, connect: Connect) -> None:
    outcome = send(house, connect(house), "amq.direct/nobody")[0]
    assert outcome.startswith("rejected")
    house.stop()


@BOTH
def test_a_queue_that_is_not_there_cannot_be_received_from(house: House, connect: Connect) -> None:
    with pytest.raises(ClientError, match=r"404|not-found"):
        taken(house, connect(house), Subscription("nowhere"))
    house.stop()


def test_a_1_0_sender_to_nowhere_fails_now_and_later(house: House) -> None:
    client = house.connect_1_0()
    for _ in range(2):
        with pytest.raises(ClientError, match="not-found"):
            send(house, client, "nowhere")
    assert send(house, client) == ["accepted"]
    house.stop()


def test_a_0_10_exception_says_why_and_ends_the_session(house: House) -> None:
    client = house.connect_0_10()
    with pytest.raises(ClientError, match="404"):
        house.result(client.command(spec.QueueDelete(queue="nowhere")))
    with pytest.raises(ClientError):
        send(house, client)
    house.stop()


@BOTH
def test_closing_is_answered_and_ends_everything_that_waits(house: House, connect: Connect) -> None:
    client = connect(house)
    house.result(client.ready())
    house.result(client.close(house.service.clock.now_ms()))
    assert client.closed
    with pytest.raises(ClientError):
        send(house, client)
    house.stop()


@BOTH
def test_a_lost_connection_fails_what_waits(house: House, connect: Connect) -> None:
    client = connect(house)
    waiting = client.send("q", LETTER)
    house.guests[-1].hang_up()
    with pytest.raises(ClientError):
        house.result(waiting)
    house.stop()


@BOTH
def test_a_quiet_connection_is_kept_alive(house: House, connect: Connect) -> None:
    client = connect(house)
    for _ in range(20):
        house.pass_time(30)
    assert not client.closed
    assert send(house, client) == ["accepted"]
    house.stop()


@pytest.mark.parametrize("make", [Client010, Client10])
def test_a_server_that_speaks_something_else_is_an_error(make: Any) -> None:
    from gateway.clients.client import Login

    client = make(Login(), 0)
    failures: list[Any] = []
    client.ready().addErrback(failures.append)
    client.receive_data(b"HTTP/1.1 400 Bad Request\r\n\r\n", 0)
    client.receive_eof("gone")
    assert failures[0].check(ClientError)
    assert client.closed


def test_a_refused_1_0_login_is_told_as_one() -> None:
    from gateway.clients.client import Login

    client = Client10(Login("alice", "wrong"), 0)
    failures: list[Any] = []
    client.ready().addErrback(failures.append)
    mechanisms = b"\x00\x53\x40\xc0\x08\x01\xa3\x05PLAIN"
    outcome = b"\x00\x53\x44\xc0\x03\x01\x50\x01"
    client.receive_data(b"AMQP\x03\x01\x00\x00", 0)
    for body in (mechanisms, outcome):
        client.receive_data((len(body) + 8).to_bytes(4, "big") + b"\x02\x01\x00\x00" + body, 0)
    assert str(failures[0].value) == "the server refused our credentials (auth)"
