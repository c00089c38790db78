"""Both clients against a whole gateway: outcomes, settling, credit, and how they fail."""

import pathlib
from collections.abc import Callable
from typing import Any

import pytest
from support.whole_gateway import WholeGateway

from gateway.amqp_0_10 import _spec as spec
from gateway.clients.client import ClientError, Delivered, Subscription
from gateway.clients.client_0_10 import Client010
from gateway.clients.client_1_0 import Client10
from gateway.clients.letter import Letter, Typed

LETTER = Letter(body=Typed("string", "hello"))
Connect = Callable[[WholeGateway], Any]
BOTH = pytest.mark.parametrize(
    "connect", [WholeGateway.connect_0_10, WholeGateway.connect_1_0], ids=["0-10", "1.0"]
)


@pytest.fixture
def whole(tmp_path: pathlib.Path) -> WholeGateway:
    made = WholeGateway(tmp_path).start()
    owner = made.connect_0_10()
    made.result(owner.declare_queue("q"))
    return made


def taken(whole: WholeGateway, client: Any, subscription: Subscription) -> list[Delivered]:
    came: list[Delivered] = []
    whole.result(client.receive(subscription, came.append))
    whole.run()
    return came


def send(whole: WholeGateway, client: Any, address: str = "q", count: int = 1) -> list[str]:
    answers = [client.send(address, LETTER) for _ in range(count)]
    return [whole.result(answer) for answer in answers]


@BOTH
def test_a_letter_is_sent_accepted_received_and_settled(
    whole: WholeGateway, connect: Connect
) -> None:
    client = connect(whole)
    assert send(whole, client) == ["accepted"]
    came = taken(whole, client, Subscription("q"))
    assert came[0].letter.body.value in ("hello", b"hello")
    came[0].settle("accept")
    came[0].settle("accept")
    whole.run()
    assert whole.service.bridge.counts.accepted == 1
    whole.stop()


@BOTH
@pytest.mark.parametrize(
    ("outcome", "count"), [("accept", "accepted"), ("reject", "rejected"), ("release", None)]
)
def test_every_outcome_arrives(
    whole: WholeGateway, connect: Connect, outcome: str, count: str | None
) -> None:
    client = connect(whole)
    send(whole, client)
    came = taken(whole, client, Subscription("q", credit=1, once=True))
    came[0].settle(outcome)
    whole.run()
    counts = whole.service.bridge.counts
    assert sum((counts.accepted, counts.rejected, counts.released, counts.modified)) == 1
    if count is not None:
        assert getattr(counts, count) == 1
    else:
        assert len(taken(whole, client, Subscription("q"))) == 1
    whole.stop()


@BOTH
def test_credit_is_kept_and_renewed(whole: WholeGateway, connect: Connect) -> None:
    client = connect(whole)
    send(whole, client, count=10)
    came = taken(whole, client, Subscription("q", credit=4))
    assert len(came) == 4
    settled = 0
    while settled < len(came):
        came[settled].settle("accept")
        settled += 1
        whole.run()
    assert settled == 10
    whole.stop()


@BOTH
def test_once_means_no_more_than_the_credit(whole: WholeGateway, connect: Connect) -> None:
    client = connect(whole)
    send(whole, client, count=5)
    came = taken(whole, client, Subscription("q", credit=2, once=True))
    for each in came:
        each.settle("accept")
    whole.run()
    assert len(came) == 2
    whole.stop()


@BOTH
def test_settled_letters_are_gone_as_they_are_sent(whole: WholeGateway, connect: Connect) -> None:
    client = connect(whole)
    send(whole, client, count=3)
    came = taken(whole, client, Subscription("q", credit=2, settled=True))
    whole.run()
    for each in came:
        each.settle("accept")
    whole.run()
    assert len(came) == 3
    assert whole.service.bridge.counts.sent_settled == 3
    whole.stop()


@BOTH
def test_browsing_takes_nothing(whole: WholeGateway, connect: Connect) -> None:
    client = connect(whole)
    send(whole, client, count=2)
    for _ in range(2):
        came = taken(whole, connect(whole), Subscription("q", browse=True))
        assert len(came) == 2
    whole.stop()


@BOTH
def test_an_exchange_is_subscribed_to_by_a_key(whole: WholeGateway, connect: Connect) -> None:
    client = connect(whole)
    came = taken(whole, client, Subscription("amq.topic/news.*"))
    everything = taken(whole, client, Subscription("amq.topic"))
    send(whole, client, "amq.topic/news.de")
    send(whole, client, "amq.topic/sports.de")
    whole.run()
    assert (len(came), len(everything)) == (1, 2)
    whole.stop()


@BOTH
def test_what_cannot_be_routed_is_said(whole: WholeGateway, connect: Connect) -> None:
    outcome = send(whole, connect(whole), "amq.direct/nobody")[0]
    assert outcome.startswith("rejected")
    whole.stop()


@BOTH
def test_a_queue_that_is_not_there_cannot_be_received_from(
    whole: WholeGateway, connect: Connect
) -> None:
    with pytest.raises(ClientError, match=r"404|not-found"):
        taken(whole, connect(whole), Subscription("nowhere"))
    whole.stop()


def test_a_1_0_sender_to_nowhere_fails_now_and_later(whole: WholeGateway) -> None:
    client = whole.connect_1_0()
    for _ in range(2):
        with pytest.raises(ClientError, match="not-found"):
            send(whole, client, "nowhere")
    assert send(whole, client) == ["accepted"]
    whole.stop()


def test_a_0_10_exception_says_why_and_ends_the_session(whole: WholeGateway) -> None:
    client = whole.connect_0_10()
    with pytest.raises(ClientError, match="404"):
        whole.result(client.command(spec.QueueDelete(queue="nowhere")))
    with pytest.raises(ClientError):
        send(whole, client)
    whole.stop()


@BOTH
def test_closing_is_answered_and_ends_everything_that_waits(
    whole: WholeGateway, connect: Connect
) -> None:
    client = connect(whole)
    whole.result(client.ready())
    whole.result(client.close(whole.service.clock.now_ms()))
    assert client.closed
    with pytest.raises(ClientError):
        send(whole, client)
    whole.stop()


@BOTH
def test_a_lost_connection_fails_what_waits(whole: WholeGateway, connect: Connect) -> None:
    client = connect(whole)
    waiting = client.send("q", LETTER)
    whole.guests[-1].hang_up()
    with pytest.raises(ClientError):
        whole.result(waiting)
    whole.stop()


@BOTH
def test_a_quiet_connection_is_kept_alive(whole: WholeGateway, connect: Connect) -> None:
    client = connect(whole)
    for _ in range(20):
        whole.pass_time(30)
    assert not client.closed
    assert send(whole, client) == ["accepted"]
    whole.stop()


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
