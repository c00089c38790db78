"""A link by which a client wants to publish to a remote queue, while its upstream is asked.

The attach is answered when that has said that the queue is there, and refused if it is not (2.6.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from gateway.amqp_1_0._spec import Attach
from gateway.amqp_1_0.link import Link
from gateway.message import Refusal
from gateway.translate.addresses import Node

if TYPE_CHECKING:
    from gateway.faces.server_1_0.session import ServerSession


@final
class Approach:
    """Implements `LookUpWaiter`.

    Attributes:
        attach: what the client asked for, of `node`.
    """

    __slots__ = ("_session", "attach", "link", "node")

    def __init__(self, session: ServerSession, link: Link, attach: Attach, node: Node) -> None:
        self._session = session
        self.link = link
        self.attach = attach
        self.node = node

    def on_looked_up(self, token: int, refusal: Refusal | None) -> None:
        """As a `LookUpWaiter`."""
        self._session.on_approached(self, refusal)
