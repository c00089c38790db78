"""What the commands `send` and `receive` do, once connected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, final

from twisted.internet.defer import Deferred, TimeoutError
from twisted.python.failure import Failure

from gateway.clients.client import Client, ClientError, Delivered, Login, Subscription
from gateway.clients.conversation import Connector, Where
from gateway.clients.letter import Letter, Typed

IN_FLIGHT: Final = 1000
NO_ANSWER: Final = "no answer"
NOT_SENT: Final = "not sent"


async def connect(
    connector: Connector, protocol: str, where: Where, login: Login, timeout_s: float
) -> Client:
    """A connected client of a protocol, ``0-10`` or ``1.0``. Raises ClientError, also in time."""
    if protocol == "0-10":
        return await connector.connect_0_10(where, login, timeout_s)
    return await connector.connect_1_0(where, login, timeout_s)


def numbered(letter: Letter, number: int) -> Letter:
    """The letter with ``{n}`` in its text replaced by a number."""
    if letter.body.type != "string" or "{n}" not in letter.body.value:
        return letter
    return replace(letter, body=Typed("string", letter.body.value.replace("{n}", str(number))))


@final
@dataclass(frozen=True, slots=True)
class Outgoing:
    """What to send."""

    protocol: str
    where: Where
    login: Login
    address: str
    letter: Letter
    count: int
    create: bool
    timeout_s: float


async def send(
    connector: Connector,
    what: Outgoing,
    outcomes: Counter[str],
    progress: Callable[[int], None],
) -> None:
    """Send `count` letters, no more than `IN_FLIGHT` at a time unanswered.

    Once there is no answer in time, nothing more is sent. `outcomes` counts all of them at any
    moment, by name: also when this is interrupted, or raises ClientError.
    """
    outcomes[NOT_SENT] = what.count
    client = await connect(connector, what.protocol, what.where, what.login, what.timeout_s)
    if what.create:
        await connector.answered(
            create(client, what.address), f"--create {what.address}", what.timeout_s
        )
    answers: list[Deferred[str]] = []
    for number in range(1, what.count + 1):
        answers.append(client.send(what.address, numbered(what.letter, number)))
        _became(outcomes, NOT_SENT, NO_ANSWER)
        if len(answers) == IN_FLIGHT or number == what.count:
            for answer in answers:
                answer.addTimeout(what.timeout_s, connector.reactor)
            await _collect(answers, outcomes, progress)
            answers = []
            if outcomes[NO_ANSWER]:
                break


def _became(outcomes: Counter[str], before: str, now: str) -> None:
    """One letter is no longer what it was."""
    outcomes[before] -= 1
    outcomes[now] += 1


async def _collect(
    answers: list[Deferred[str]], outcomes: Counter[str], progress: Callable[[int], None]
) -> None:
    """Count the outcomes; when the connection ends, it is said once and not for each letter."""
    waiting = iter(answers)
    try:
        for answer in waiting:
            _became(outcomes, NO_ANSWER, await outcome_of(answer))
            progress(1)
    except ClientError:
        for answer in waiting:  # some of them may have come before
            answer.addCallbacks(
                lambda outcome: _became(outcomes, NO_ANSWER, outcome), lambda _failure: None
            )
        raise


async def outcome_of(answer: Deferred[str]) -> str:
    """The outcome, ``no answer`` in time included."""
    try:
        return await answer
    except TimeoutError:
        return NO_ANSWER


def create(client: Client, queue: str) -> Deferred[Any]:
    """Declare a durable queue, which only 0-10 can."""
    declare = getattr(client, "declare_queue", None)
    if declare is None:
        raise ClientError("AMQP 1.0 has no command that makes a queue: --create needs 0-10")
    declared: Deferred[Any] = declare(queue, durable=True)
    return declared


@final
@dataclass(frozen=True, slots=True)
class Incoming:
    """What to receive; `timeout_s` is the longest pause between two letters."""

    protocol: str
    where: Where
    login: Login
    subscription: Subscription
    count: int
    outcome: str
    create: bool
    timeout_s: float


async def receive(connector: Connector, what: Incoming, show: Callable[[Letter], None]) -> int:
    """Receive `count` letters (0: all) until none comes for `timeout_s`; how many came.

    Raises ClientError: also when the connection ends before.
    """
    address, timeout_s = what.subscription.address, what.timeout_s
    client = await connect(connector, what.protocol, what.where, what.login, timeout_s)
    if what.create:
        await connector.answered(create(client, address), f"--create {address}", timeout_s)
    arrived = Arrivals(what, show, connector)
    await connector.answered(client.receive(what.subscription, arrived.take), address, timeout_s)
    client.lost().addErrback(arrived.fail)
    await arrived.done
    return arrived.count


@final
class Arrivals:
    """Shows and settles what comes, until there is enough of it or nothing comes any more."""

    def __init__(
        self, what: Incoming, show: Callable[[Letter], None], connector: Connector
    ) -> None:
        self.count = 0
        self.done: Deferred[None] = Deferred()
        self._what = what
        self._show = show
        self._timer = connector.reactor.callLater(what.timeout_s, self._finish)

    def take(self, delivered: Delivered) -> None:
        """One letter."""
        if self.done.called:
            return  # more than asked for: goes back when the session ends
        self.count += 1
        self._show(delivered.letter)
        delivered.settle(self._what.outcome)
        self._timer.reset(self._what.timeout_s)
        if self.count == self._what.count:
            self._timer.cancel()
            self._finish()

    def fail(self, failure: Failure) -> None:
        """The connection is over."""
        if not self.done.called:
            self._timer.cancel()
            self.done.errback(failure)

    def _finish(self) -> None:
        if not self.done.called:
            self.done.callback(None)
