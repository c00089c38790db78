"""A relay on loopback that writes down every octet of one conversation, in both directions.

It stands between a foreign client and a server, and needs no right to capture packets. What it
recorded is replayed by the codec tests (tests/vectors) or read by a second decoder (dissector).
"""

import selectors
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

_READ_SIZE = 65536
_OCTETS_A_LINE = 64


@dataclass
class Conversation:
    """One connection: pieces in the order they passed, as (came from the client?, octets)."""

    pieces: list[tuple[bool, bytes]] = field(default_factory=list)

    def as_text(self) -> str:
        """Lines of a direction (``>`` from the client, ``<`` to it) and octets in hexadecimal."""
        return "".join(
            f"{'>' if from_client else '<'} {octets[start : start + _OCTETS_A_LINE].hex()}\n"
            for from_client, octets in self.pieces
            for start in range(0, len(octets), _OCTETS_A_LINE)
        )

    @classmethod
    def from_text(cls, text: str) -> Self:
        """What `as_text` wrote."""
        return cls([(line[0] == ">", bytes.fromhex(line[1:])) for line in text.splitlines()])


class Recorder:
    """Listens on a free port and relays each connection to ``server_port``."""

    def __init__(self, server_port: int) -> None:
        self.conversations: list[Conversation] = []
        self._server_port = server_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # shutdown, not close: it is what wakes a thread that waits in accept
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(10)

    def only_conversation(self) -> Conversation:
        """The one connection that was made."""
        (conversation,) = self.conversations
        return conversation

    def _start(self, target: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            conversation = Conversation()
            self.conversations.append(conversation)
            server = socket.create_connection(("127.0.0.1", self._server_port))
            self._start(_relay, client, server, conversation)


def _relay(client: socket.socket, server: socket.socket, conversation: Conversation) -> None:
    peers = {client: server, server: client}
    with client, server, selectors.DefaultSelector() as ready:
        for peer in peers:
            ready.register(peer, selectors.EVENT_READ)
        while ready.get_map():
            for key, _ in ready.select():
                source = key.fileobj
                assert isinstance(source, socket.socket)
                octets = _read(source)
                if octets:
                    conversation.pieces.append((source is client, octets))
                if not _pass_on(octets, peers[source]):
                    ready.unregister(source)


def _read(source: socket.socket) -> bytes:
    try:
        return source.recv(_READ_SIZE)
    except ConnectionError:
        return b""


def _pass_on(octets: bytes, to: socket.socket) -> bool:
    """Hand on what came, or the end of it; False when this direction is over."""
    try:
        if octets:
            to.sendall(octets)
            return True
        to.shutdown(socket.SHUT_WR)
    except OSError:
        pass
    return False
