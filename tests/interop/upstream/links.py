"""Links of Proton's 1.0 client that say each delivery, outcome and credit of their own."""

from collections.abc import Callable, Sequence
from typing import Any

from interop.brokers.client import TIME_LIMIT_S
from interop.upstream.behind import Behind
from proton import Delivery, Handler, Link, Message, Timeout
from proton.reactor import LinkOption

SHORTLY_S = 0.3  # how long to listen for what must not come
OUTCOMES = {
    Delivery.ACCEPTED: "accepted",
    Delivery.REJECTED: "rejected",
    Delivery.RELEASED: "released",
    Delivery.MODIFIED: "modified",
}


class Modes(LinkOption):  # type: ignore[misc]  # proton has no type information
    """Settle modes to ask for, by their numbers in the specification."""

    def __init__(self, *, sender: int = Link.SND_UNSETTLED, receiver: int = Link.RCV_FIRST) -> None:
        self._sender = sender
        self._receiver = receiver

    def apply(self, link: Any) -> None:
        """Called by Proton before its attach goes out."""
        link.snd_settle_mode = self._sender
        link.rcv_settle_mode = self._receiver


class Sending:
    """A sender link, with the deliveries that it made in their order."""

    def __init__(self, connection: Any, address: str, options: Sequence[Any] = ()) -> None:
        self.connection = connection
        self.link = connection.create_sender(address, options=list(options) or None)
        self._sent: list[Any] = []

    def sends(self, *messages: Any) -> list[Any]:
        """Send without waiting; the deliveries."""
        deliveries = [self.link.link.send(message) for message in messages]
        self._sent += deliveries
        return deliveries

    def outcome(self, delivery: Any) -> str:
        """Wait for it: its name, with the condition of what was rejected."""
        self.connection.wait(lambda: delivery.settled, timeout=TIME_LIMIT_S, msg="an outcome")
        name = OUTCOMES[delivery.remote_state]
        condition = delivery.remote.condition
        delivery.settle()
        return f"{name} {condition.name}" if condition is not None else name

    def hears(self, delivery: Any, within_s: float = 10 * SHORTLY_S) -> bool:
        """Whether it is settled by the time that a broker needs for that."""
        return comes_true(self.connection, lambda: delivery.settled, within_s)


class Receiving(Handler):  # type: ignore[misc]  # proton has no type information
    """A receiver link that has the credit it is given, and keeps what came until it is taken."""

    def __init__(
        self, connection: Any, address: str | None, options: Sequence[Any] = (), **how: Any
    ) -> None:
        super().__init__()
        self.connection = connection
        self._came: list[tuple[Any, Any]] = []
        made = connection.create_receiver(
            address, credit=0, handler=self, options=list(options) or None, **how
        )
        self._blocking = made  # its handler is gone when nobody names it
        self.link = made.link

    def on_delivery(self, event: Any) -> None:
        """Called by Proton for each part of a message and each change of a delivery."""
        delivery = event.delivery
        if delivery.readable and not delivery.partial:
            message = Message()
            message.decode(delivery.link.recv(delivery.pending))
            delivery.link.advance()
            self._came.append((message, delivery))

    def flows(self, credit: int) -> None:
        """Grant credit."""
        self.link.flow(credit)

    def drains(self, credit: int) -> None:
        """Grant credit that ends with what is there; return when it has ended."""
        self.link.drain(credit)
        self.connection.wait(lambda: self.link.credit == 0, timeout=TIME_LIMIT_S, msg="drained")
        self.link.drain_mode = False

    def gets(self, count: int = 1) -> list[tuple[Any, Any]]:
        """Wait for so many messages with their deliveries, and take them."""
        enough = lambda: len(self._came) >= count  # noqa: E731  # as Proton waits
        self.connection.wait(enough, timeout=TIME_LIMIT_S, msg=f"{count} messages")
        taken, self._came = self._came[:count], self._came[count:]
        return taken

    def get(self) -> tuple[Any, Any]:
        """Wait for one message."""
        return self.gets()[0]

    def waiting(self) -> int:
        """How many messages have come and were not taken."""
        return len(self._came)

    def quiet(self, seconds: float = SHORTLY_S) -> bool:
        """Whether no message is there, nor comes within a short time."""
        return not comes_true(self.connection, lambda: bool(self._came), seconds)

    def ends(self, delivery: Any, state: int = Delivery.ACCEPTED, *, failed: bool = False) -> None:
        """Settle a delivery with an outcome."""
        if failed:
            delivery.local.failed = True
        delivery.update(state)
        delivery.settle()
        goes_out(self.connection)


def durable(body: bytes = b"x", **fields: Any) -> Any:
    """A durable message of one data section."""
    return Message(body=body, durable=True, inferred=True, **fields)


def body_of(message: Any) -> bytes:
    """The octets of its data section."""
    return bytes(message.body)


def receive_at(behind: Behind, queue: str, *options: Any, credit: int = 10) -> Receiving:
    """A receiver with credit, of a client of its own at the gateway."""
    receiving = Receiving(behind.at_gateway(), queue, options)
    receiving.flows(credit)
    return receiving


def comes_true(connection: Any, condition: Callable[[], bool], within_s: float) -> bool:
    """Whether a condition holds, or does so within that time, as the connection goes on."""
    try:
        connection.wait(condition, timeout=within_s)
    except Timeout:
        return False
    return True


def goes_out(connection: Any) -> None:
    """Wait until all that was said is on its way."""
    transport = connection.conn.transport
    connection.wait(lambda: transport.pending() <= 0, timeout=TIME_LIMIT_S, msg="written")
