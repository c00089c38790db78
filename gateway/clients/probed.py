"""What `check --connect` asks one broker and is told, whatever that speaks."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from twisted.internet.defer import Deferred
from twisted.internet.protocol import Protocol as TwistedProtocol

NAME: Final = "amqp-gateway-check"
ANSWERS_WITHIN_S: Final = 10.0  # one question


class About(StrEnum):
    """What a question is about."""

    NODE = "node"
    COORDINATOR = "coordinator"
    ANONYMOUS = "anonymous terminus"
    DYNAMIC = "dynamic node"


@dataclass(slots=True)
class Question:
    """One question, and what was answered.

    Attributes:
        address: of a node.
        sends: whether the link is one to send by.
        copies, selects: whether it asks for distribution-mode copy, and for a selector.
        exists: the answer; `None`: there was none.
        problem: what the peer said, if it refused.
        copied, selected: whether the peer's attach has what was asked for.
        message_size: the largest message that the peer takes by the link; 0: it does not say.
    """

    address: str | None = None
    about: About = About.NODE
    sends: bool = False
    copies: bool = False
    selects: bool = False
    capabilities: list[str] = field(default_factory=list)
    exists: bool | None = None
    problem: str = ""
    copied: bool = False
    selected: bool = False
    message_size: int = 0


class Probed(TwistedProtocol):
    """One conversation; `done` fires when everything is answered, or nothing more will be.

    What is asked depends on what the peer says that it is.

    Attributes:
        properties: what the peer says of itself; `offered` are its capabilities, `frame_size`,
            `channels` and `idle_timeout_ms` its limits.
        tls: version and certificate; "" without TLS.
        mechanism, mechanisms: of SASL: the one that was used, and those that the peer offers.
        problem: why the connection did not open, or ended early; "" if it did neither.
    """

    def __init__(self) -> None:
        self.properties: dict[str, str] = {}
        self.offered: list[str] = []
        self.frame_size = 0
        self.channels = 0
        self.idle_timeout_ms: int | None = None
        self.tls = ""
        self.mechanism = ""
        self.mechanisms: list[str] = []
        self.opened = False
        self.problem = ""
        self.done: Deferred[None] = Deferred()

    @property
    def says(self) -> str:
        """What the peer calls itself: product and version; "": nothing."""
        told = self.properties
        return f"{told.get('product', '')} {told.get('version', '')}".strip()

    def on_doubted(self, problem: str) -> None:
        """The peer's certificate is not believed: the handshake fails."""
        self.problem = problem

    def end(self, problem: str) -> None:
        """Nothing more comes; `problem` is why, where something was still to come."""
        raise NotImplementedError


def tls_of(transport: object) -> str:
    """The version of TLS, and whose certificate the peer has."""
    handle = getattr(transport, "getHandle", lambda: None)()
    version = getattr(handle, "get_protocol_version_name", lambda: "")()
    shown = getattr(transport, "getPeerCertificate", lambda: None)()
    if not version or shown is None:
        return ""
    certificate = shown.to_cryptography()
    until = certificate.not_valid_after_utc.strftime("%Y-%m-%d")
    return f"{version}, certificate of {certificate.subject.rfc4514_string()}, valid until {until}"
