"""What `send` and `receive` do, against a gateway in memory."""

import pathlib
from collections import Counter
from collections.abc import Coroutine
from types import SimpleNamespace
from typing import Any

import pytest
from support.memory_connector import MemoryConnector
from support.whole_gateway import WholeGateway
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from gateway.clients import tools
from gateway.clients.client import ClientError, Login, Subscription
from gateway.clients.conversation import Where
from gateway.clients.letter import Letter, Typed

TEXT = Letter(body=Typed("string", "number {n}"))


@pytest.fixture
def connector(tmp_path: pathlib.Path) -> Any:
    return MemoryConnector(WholeGateway(tmp_path).start())


def outgoing(protocol: str, address: str = "q", **changes: Any) -> tools.Outgoing:
    given: dict[str, Any] = {"letter": TEXT, "count": 1, "create": False, "timeout_s": 5.0}
    return tools.Outgoing(protocol, Where(), Login(), address, **(given | changes))


def sending(connector: Any, what: tools.Outgoing) -> Coroutine[Deferred[Any], Any, None]:
    return tools.send(connector, what, Counter(), lambda _: None)


def incoming(protocol: str, **changes: Any) -> tools.Incoming:
    given: dict[str, Any] = {
        "subscription": Subscription("q"),
        "count": 0,
        "outcome": "accept",
        "create": False,
        "timeout_s": 1.0,
    }
    return tools.Incoming(protocol, Where(), Login(), **(given | changes))


@pytest.mark.parametrize("protocol", ["0-10", "1.0"])
def test_letters_are_numbered_and_counted_by_outcome(connector: Any, protocol: str) -> None:
    connector.play(sending(connector, outgoing("0-10", create=True)))
    ticks: list[int] = []
    what = outgoing(protocol, count=1200)
    outcomes: Counter[str] = Counter()
    connector.play(tools.send(connector, what, outcomes, ticks.append))
    assert +outcomes == {"accepted": 1200}
    assert sum(ticks) == 1200
    shown: list[Letter] = []
    receiving = tools.receive(connector, incoming(protocol, count=1201), shown.append)
    assert connector.play(receiving) == 1201
    texts = [letter.body.value for letter in shown]
    as_text = [text if isinstance(text, str) else text.decode() for text in texts]
    assert as_text == ["number 1", *(f"number {n}" for n in range(1, 1201))]
    connector.whole.stop()


def test_a_letter_without_a_number_in_it_is_sent_as_it_is() -> None:
    for body in (Typed("string", "plain"), Typed("binary", b"{n}")):
        letter = Letter(body=body)
        assert tools.numbered(letter, 5) is letter


def test_no_answer_in_time_is_an_outcome() -> None:
    clock = Clock()
    answer: Deferred[str] = Deferred()
    answer.addTimeout(5, clock)
    outcomes: list[str] = []
    Deferred.fromCoroutine(tools.outcome_of(answer)).addCallback(outcomes.append)
    clock.advance(5)
    assert outcomes == ["no answer"]


class Stuck:
    """A client of which some letters are answered before it is lost."""

    def __init__(self, answered: int) -> None:
        self.answered = answered
        self.answers: list[Deferred[str]] = []

    def send(self, _address: str, _letter: Letter) -> Deferred[str]:
        self.answers.append(Deferred())
        if len(self.answers) > tools.IN_FLIGHT - self.answered:
            self.answers[-1].callback("accepted")
        return self.answers[-1]


@pytest.mark.parametrize("lost", [False, True])
def test_every_letter_is_counted_when_there_is_no_answer(
    monkeypatch: pytest.MonkeyPatch, lost: bool
) -> None:
    client = Stuck(answered=10)

    async def connected(*_: object) -> Stuck:
        return client

    monkeypatch.setattr(tools, "connect", connected)
    connector = SimpleNamespace(reactor=Clock())
    outcomes: Counter[str] = Counter()
    steps = tools.send(connector, outgoing("1.0", count=3000), outcomes, lambda _: None)  # type: ignore[arg-type]  # all of it that is asked
    ended: list[Failure | None] = []
    Deferred.fromCoroutine(steps).addBoth(ended.append)
    if lost:
        for answer in client.answers[:-10]:
            answer.errback(ClientError("lost"))
        assert ended[0] is not None
    else:
        connector.reactor.advance(5)
        assert ended == [None]
    assert +outcomes == {"not sent": 2000, "no answer": 990, "accepted": 10}


def test_only_0_10_can_make_a_queue(connector: Any) -> None:
    with pytest.raises(ClientError, match="--create needs 0-10"):
        connector.play(sending(connector, outgoing("1.0", create=True)))
    connector.whole.stop()


def test_receiving_ends_when_nothing_comes_any_more(connector: Any) -> None:
    connector.play(sending(connector, outgoing("0-10", create=True)))
    before_s = connector.reactor.seconds()
    shown: list[Letter] = []
    what = incoming("1.0", timeout_s=4.0)
    assert connector.play(tools.receive(connector, what, shown.append)) == 1
    assert connector.reactor.seconds() - before_s == pytest.approx(4.0, abs=0.5)
    connector.whole.stop()


def test_a_queue_can_be_made_for_receiving(connector: Any) -> None:
    what = incoming("0-10", create=True)
    assert connector.play(tools.receive(connector, what, lambda _: None)) == 0
    assert connector.whole.service.bridge.default_host.topology.find_queue("q") is not None
    connector.whole.stop()


def test_receiving_ends_with_the_reason_when_the_connection_does(connector: Any) -> None:
    receiving = tools.receive(connector, incoming("0-10", create=True, timeout_s=60.0), print)
    connector.reactor.callLater(1, connector.whole.service.stop)
    with pytest.raises(ClientError):
        connector.play(receiving)
