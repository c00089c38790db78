"""Small loads on a gateway, whose every message is known by its body: what the clients know.

Publishers send to a queue, with so many publishes outstanding; consumers take from one and accept,
some at a time. Nothing runs by itself: `Load.run` turns the connections until something is so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from interop.brokers.broker import Broker
from support.lines import Lines

from gateway.amqp_0_10 import _spec as spec
from gateway.clients import codec_0_10
from gateway.clients.client import Delivered, Login, Subscription
from gateway.clients.client_0_10 import Client010, Delivered010
from gateway.clients.client_1_0 import Client10
from gateway.clients.letter import Letter, Typed

OUTSTANDING = 40
CREDIT = 30
SETTLED_A_TURN = 4
AnyClient = Client010 | Client10


@dataclass(frozen=True)
class Arrival:
    """A message where it was found.

    Attributes:
        redelivered: it was marked as perhaps not the first.
        link: by which it came: order is promised for each one by itself.
    """

    text: str
    redelivered: bool
    link: str = ""


@dataclass
class Book:
    """What is known of the messages of one queue.

    Attributes:
        sent: in order, by publisher.
        confirmed: the publisher heard "accepted".
        told: every other outcome that a publisher heard, by message.
        found: what consumers were given, in order.
        accepted: by a consumer.
        losses: how often the upstream was lost while they were consumed: links are new after it.
    """

    sent: dict[str, list[str]] = field(default_factory=dict)
    confirmed: set[str] = field(default_factory=set)
    told: dict[str, str] = field(default_factory=dict)
    found: list[Arrival] = field(default_factory=list)
    accepted: set[str] = field(default_factory=set)
    losses: int = 0

    @property
    def decided(self) -> int:
        """Publishes of which the publisher has heard."""
        return len(self.confirmed) + len(self.told)

    @property
    def seen(self) -> set[str]:
        """What was found, at least once."""
        return {arrival.text for arrival in self.found}

    def all_sent(self) -> set[str]:
        """By all publishers."""
        return {text for texts in self.sent.values() for text in texts}


def letter_of(text: str, size: int = 0, *, durable: bool = True) -> Letter:
    """The body is the text, filled up to `size`: one digest in both protocols."""
    return Letter(body=Typed("binary", body_of(text, size)), durable=durable)


def body_of(text: str, size: int = 0) -> bytes:
    """The octets that tell one message from all others."""
    return text.encode().ljust(size)


def text_of(letter: Letter) -> str:
    """Of a message of ours."""
    value = letter.body.value
    return (value if isinstance(value, bytes) else str(value).encode()).decode().rstrip()


class Publisher:
    """Publishes to one queue, as long as its window has room, up to `limit` messages."""

    def __init__(
        self,
        book: Book,
        client: AnyClient,
        queue: str,
        name: str,
        *,
        size: int = 0,
        durable: bool = True,
    ) -> None:
        self.book = book
        self.client = client
        self.queue = queue
        self.name = name
        self.size = size
        self.durable = durable
        self.window = OUTSTANDING
        self.limit: int | None = None
        self.outstanding = 0
        self.texts = book.sent.setdefault(name, [])

    def work(self) -> None:
        """Fill the window."""
        while self.outstanding < self.window and not self.finished:
            text = f"{self.name}.{len(self.texts)}"
            self.texts.append(text)
            self.outstanding += 1
            done = self.client.send(self.queue, letter_of(text, self.size, durable=self.durable))
            done.addCallbacks(self._on_told, lambda _lost: None, (text,))

    @property
    def finished(self) -> bool:
        """It will send nothing more."""
        return self.limit is not None and len(self.texts) >= self.limit

    def stop(self) -> None:
        """Send no more."""
        self.limit = len(self.texts)

    def _on_told(self, outcome: str, text: str) -> None:
        self.outstanding -= 1
        if outcome == "accepted":
            self.book.confirmed.add(text)
        else:
            self.book.told[text] = outcome


def send_unasked(client: Client010, queue: str, text: str) -> Any:  # Any: a Deferred
    """Publish with accept-mode none: its completion is all that is heard."""
    session = client._session
    assert session is not None
    header, body = codec_0_10.encode(letter_of(text), queue)
    transfer = spec.MessageTransfer(destination="", accept_mode=spec.AcceptMode.NONE)
    done = client._waiting.make()
    client._completions[session.send_command(transfer, header=header, body=body, sync=True)] = done
    return done


class Consumer:
    """Takes from one queue and accepts, a few a turn, so that some are always unsettled."""

    def __init__(self, book: Book, lines: Lines, client: AnyClient, queue: str) -> None:
        self.book = book
        self.client = client
        self.queue = queue
        self.held: list[Delivered] = []
        self.paused = False
        self.share = SETTLED_A_TURN
        lines.wait_for(client.receive(Subscription(queue, credit=CREDIT), self._take))

    def work(self) -> None:
        """Accept some."""
        if self.paused:
            return
        for delivered in self.held[: self.share]:
            self.book.accepted.add(text_of(delivered.letter))
            if isinstance(delivered, Delivered010) and isinstance(self.client, Client010):
                settle_0_10(self.client, delivered)
            else:
                delivered.settle("accept")
        del self.held[: self.share]

    def _take(self, delivered: Delivered) -> None:
        self.held.append(delivered)
        letter = delivered.letter
        link = f"{id(self)}, {self.book.losses} losses"
        self.book.found.append(Arrival(text_of(letter), letter.redelivered, link))


def settle_0_10(client: Client010, delivered: Delivered010) -> None:
    """Accept and complete, each as a command that is heard of."""
    command_id = delivered._command_id
    done = client.command(spec.MessageAccept(transfers=[(command_id, command_id)]))
    done.addErrback(lambda _lost: None)
    client.complete(command_id)


def told_of_end(client: AnyClient) -> str:
    """Why a consumer's subscription ended; "" if it has not."""
    if isinstance(client, Client10):
        return "".join(client.detached)
    error = client._waiting.error
    return "" if error is None else str(error)


class Load:
    """Clients of one gateway and what they know; `hang_up` and `connect` for its next life."""

    def __init__(self, port: int) -> None:
        self.lines = Lines(port)
        self.publishers: list[Publisher] = []
        self.consumers: list[Consumer] = []

    def publish(self, book: Book, queue: str, protocol: str, **options: Any) -> Publisher:
        """One more publisher."""
        name = f"{queue}-{protocol}-{len(book.sent)}"
        made = Publisher(book, self.connect(protocol), queue, name, **options)
        self.publishers.append(made)
        return made

    def consume(self, book: Book, queue: str, protocol: str) -> Consumer:
        """One more consumer."""
        made = Consumer(book, self.lines, self.connect(protocol), queue)
        self.consumers.append(made)
        return made

    def connect(self, protocol: str) -> AnyClient:
        """A client of `0-10` or `1.0`."""
        lines = self.lines
        return lines.connect_0_10() if protocol == "0-10" else lines.connect_1_0()

    def turn(self) -> None:
        """Every client does some work."""
        for publisher in self.publishers:
            publisher.work()
        for consumer in self.consumers:
            consumer.work()
        self.lines.turn(0.01)

    def run(self, condition: Callable[[], bool], within_s: float = 60.0) -> None:
        """Go on until something is so."""

        def turned() -> bool:
            self.turn()
            return condition()

        self.lines.run_until(turned, within_s)

    def stop_publishing(self) -> None:
        """No new publishes."""
        for publisher in self.publishers:
            publisher.stop()

    def quiet(self) -> bool:
        """All that was to be published has been, and every publish is answered."""
        return all(one.finished and not one.outstanding for one in self.publishers)

    def nothing_held(self) -> bool:
        """Consumers have accepted what they have; who is paused keeps it."""
        return all(one.paused or not one.held for one in self.consumers)


class At:
    """A 1.0 client at the broker itself, to fill queues and to look into them."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker

    def fill(self, queue: str, count: int, name: str) -> list[str]:
        """Put messages into a queue; their texts."""
        lines = self._lines()
        client = lines.connect_1_0()
        texts = [f"{name}.{number}" for number in range(count)]
        address = self.broker.queue_address(queue)
        outcomes: list[str] = []
        for text in texts:
            client.send(address, letter_of(text)).addCallback(outcomes.append)
        lines.run_until(lambda: len(outcomes) == count)
        assert set(outcomes) <= {"accepted"}, Counter(outcomes)
        lines.hang_up()
        return texts

    def drain(self, queue: str) -> list[Arrival]:
        """Take everything out of a queue, in its order."""
        lines = self._lines()
        client = lines.connect_1_0()
        found: list[Arrival] = []

        def take(delivered: Delivered) -> None:
            found.append(Arrival(text_of(delivered.letter), delivered.letter.redelivered))
            delivered.settle("accept")

        depth = self.broker.queue_depth(queue)
        all_of_it = Subscription(self.broker.queue_address(queue), credit=depth or 1, once=True)
        lines.wait_for(client.receive(all_of_it, take))
        lines.run_until(lambda: len(found) >= depth)
        lines.run_until(lambda: self.broker.queue_depth(queue) == 0)
        lines.hang_up()
        return found

    def _lines(self) -> Lines:
        return Lines(self.broker.port, Login(self.broker.username, self.broker.password))
