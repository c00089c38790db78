"""A link by which a client wants to publish to a remote queue, while its upstream is asked.

The attach is answered when that has said that the queue exists, and refused if it does not (2.6.3).
"""

from __future__ import annotations

from typing import final

from gateway.amqp_1_0._spec import Attach, Target, Unsettled
from gateway.amqp_1_0.link import Link
from gateway.faces.outcomes import error_of
from gateway.faces.server_1_0 import permissions
from gateway.faces.server_1_0.links import Links
from gateway.faces.server_1_0.producer import Producer
from gateway.message import Refusal
from gateway.translate.addresses import Node


@final
class Approach:
    """Implements `LookUpWaiter`.

    Attributes:
        attach: what the client asked for, of `node`.
    """

    __slots__ = ("_links", "_unsettled", "attach", "link", "node")

    def __init__(self, links: Links, link: Link, attach: Attach, node: Node) -> None:
        self._links = links
        self.link = link
        self.attach = attach
        self._unsettled = attach.unsettled
        self.node = node

    def on_looked_up(self, token: int, refusal: Refusal | None) -> None:
        """The upstream has said whether it has the queue."""
        links = self._links
        if not links.forget_approach(self.link):
            return
        links.client.act(links.client.bridge.now_ms)
        if refusal is None:
            refusal = permissions.producer_refusal(links, self.node)  # they may be others by now
        if refusal is None:
            answer_producer(links, self.link, self.attach, self.node, self._unsettled)
        else:
            links.client.on_link_refused(refusal.condition)
            self.link.refuse(error_of(refusal))
        links.client.touch()


def answer_producer(
    links: Links,
    link: Link,
    attach: Attach,
    node: Node | None,
    unsettled: Unsettled | None,
    made: str = "",
) -> None:
    """Attach a client's sender to a node that exists; `None`: the anonymous terminus.

    `unsettled`: of its attach, which has forgotten it where an upstream was asked.
    """
    target = attach.target
    assert isinstance(target, Target)
    producer = Producer(
        links.client,
        links.transactions,
        links,
        link,
        node,
        capabilities=target.capabilities or [],
        dynamic=made,
    )
    links.add_producer(producer)
    producer.answer(attach, unsettled)
