"""Targets that outlive their links: what came by one, so that nothing enters twice (2.6.13, 3.4.6).

A client that has not heard what became of a delivery asks by its tag, when it attaches the link
again: it is told the outcome, or hears it once there is one; what is not known is to be sent anew.
What it was told of is known, too, until it has used credit that it can only have got behind that:
the frame may not have reached it.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol, final

from gateway.amqp_1_0._spec import DeliveryState, Target, Unsettled
from gateway.amqp_1_0.link import Link
from gateway.audit.schema import Reason
from gateway.faces.client import Client
from gateway.faces.leaving import DELIVERY_OCTETS, Takeable
from gateway.faces.outcomes import without_words
from gateway.faces.server_1_0.suspended import Suspended, granted_s, key_of, policy_of
from gateway.wire.work import DELIVERY, WORK


class Teller(Protocol):
    """Who tells the client of a link what became of its deliveries."""

    def tell(self, delivery_id: int, state: DeliveryState) -> None:
        """This."""


class Awaiting(Takeable, Protocol):
    """A link; when it is gone some of its deliveries may have no outcome."""

    def leave(self) -> None:
        """Nobody will ask for them."""


@final
class Arrived:
    """One delivery.

    Attributes:
        state: its outcome; `None` while there is none.
        heard_at: how many deliveries have come by the link when the client has heard of that.
        teller, delivery_id: where it was resumed, and waits for its outcome.
    """

    __slots__ = ("delivery_id", "heard_at", "state", "tag", "teller")

    def __init__(self, tag: bytes) -> None:
        self.tag = tag
        self.state: DeliveryState | None = None
        self.heard_at = 0
        self.teller: Teller | None = None
        self.delivery_id = 0


@final
class Known:
    """What is known of the deliveries of one target, by their tags. Implements `Left`.

    It goes from link to link.
    """

    __slots__ = ("_arrived", "_awaiting", "_came", "_credit", "_node", "_told")

    def __init__(self, node: str, credit: int) -> None:
        """`node`: "" for the anonymous terminus; `credit`: the most that the link is given."""
        self._node = node
        self._credit = credit
        self._came = 0
        self._arrived: dict[bytes, Arrived] = {}
        # Those with outcomes, in their order; some are known no more.
        self._told: deque[Arrived] = deque()
        self._awaiting: dict[int, Awaiting] = {}

    @property
    def node(self) -> str:
        """See `Left`."""
        return self._node

    @property
    def octets(self) -> int:
        """See `Left`."""
        return DELIVERY_OCTETS * len(self)

    def __len__(self) -> int:
        """See `Left`."""
        return len(self._arrived)

    def end(self, client: Client, reason: Reason) -> None:
        """See `Left`."""
        self._arrived = {}
        self._told.clear()
        awaiting = list(self._awaiting.values())
        self._awaiting = {}
        for each in awaiting:
            each.leave()

    def begin_awaiting(self, number: int, awaiting: Awaiting) -> None:
        """A link of that number is gone."""
        self._awaiting[number] = awaiting

    def end_awaiting(self, number: int) -> None:
        """All its deliveries have outcomes."""
        self._awaiting.pop(number, None)

    def came(self, tag: bytes) -> Arrived:
        """A delivery has come, by a tag that is another's no more."""
        self._came += 1
        told = self._told
        while told and (told[0].heard_at <= self._came or not self._knows(told[0])):
            first = told.popleft()
            if self._knows(first):
                self.forget(first.tag)
        arrived = Arrived(tag)
        self.forget(tag)
        self._arrived[tag] = arrived
        return arrived

    def _knows(self, arrived: Arrived) -> bool:
        return self._arrived.get(arrived.tag) is arrived

    def on_outcome(self, arrived: Arrived, state: DeliveryState) -> None:
        """It has one, and whoever waits for that is told."""
        arrived.state = without_words(state)
        # What the gateway gives in the turn in which it tells is at most twice its credit ahead.
        arrived.heard_at = self._came + 2 * self._credit
        if self._knows(arrived):
            self._told.append(arrived)
        teller = arrived.teller
        if teller is not None:
            arrived.teller = None
            teller.tell(arrived.delivery_id, state)

    def forget(self, tag: bytes) -> None:
        """The client knows, or does not want to."""
        arrived = self._arrived.pop(tag, None)
        if arrived is not None:
            arrived.teller = None

    def resume(self, tag: bytes, delivery_id: int, teller: Teller) -> None:
        """The client has sent one again: tell it now, or once there is an outcome."""
        arrived = self._arrived.get(tag)
        if arrived is None:
            return
        if arrived.state is None:
            arrived.teller = teller
            arrived.delivery_id = delivery_id
        else:
            teller.tell(delivery_id, arrived.state)

    def attach(self, remote: Unsettled, *, incomplete: bool) -> Unsettled:
        """The map for a client that attaches again; `remote`: its own.

        What that leaves out it has heard of.
        """
        WORK.units += DELIVERY * len(self._arrived)
        if not incomplete:
            for tag in [tag for tag in self._arrived if tag not in remote]:
                self.forget(tag)
        known = [tag for tag in self._arrived if tag in remote]
        known += [tag for tag in self._arrived if tag not in remote]
        return {tag: self._arrived[tag].state for tag in known}


@final
class LastingTarget:
    """What the link of such a target knows.

    Attributes:
        timeout_s, policy: as they were granted.
        local: the map for the client's attach; `None`: the link is not resumed.
    """

    __slots__ = (
        "_awaiting", "_client", "_ids", "_key", "_known", "local", "policy", "timeout_s",
    )  # fmt: skip

    def __init__(
        self,
        client: Client,
        link: Link,
        target: Target,
        node: str,
        remote: Unsettled | None,
        *,
        awaiting: Awaiting,
    ) -> None:
        """`remote`: the client's map; `None`: it does not resume the link.

        `awaiting`: the link, which hears when nobody will ask for what has no outcome.
        """
        self._client = client
        self._key = key_of(client, link.name, link.role)
        self._awaiting: Awaiting = awaiting
        client.settings.kept.attach(self._key, awaiting)
        self._ids: dict[int, Arrived] = {}  # what came by this link and has no outcome
        self.timeout_s = granted_s(client, target)
        self.policy = policy_of(target)
        self.local: Unsettled | None = None
        self._known = self._take_up(link, node, remote)
        client.account.note(self._known.octets)

    def _take_up(self, link: Link, node: str, remote: Unsettled | None) -> Known:
        """What the link before has left, if the client says that it resumes that."""
        client, attach = self._client, link.attach
        suspended = client.settings.kept.links.get(self._key)
        if isinstance(suspended, Suspended):
            left = suspended.left
            if isinstance(left, Known) and left.node == node and remote is not None:
                suspended.take()
                incomplete = attach is not None and attach.incomplete_unsettled is True
                self.local = left.attach(remote, incomplete=incomplete)
                return left
            suspended.end(Reason.LINK_DETACHED)
        return Known(node, client.settings.limits.link_credit)

    def came(self, delivery_id: int, tag: bytes) -> bool:
        """The client is to hear of a delivery; `False`: too much is kept for it already."""
        before = self._known.octets
        arrived = self._known.came(tag)
        if not self._client.account.take(DELIVERY_OCTETS):
            self._known.forget(tag)
            self._client.account.note(self._known.octets - before)
            return False
        self._client.account.note(self._known.octets - before - DELIVERY_OCTETS)
        self._ids[delivery_id] = arrived
        return True

    def resume(self, delivery_id: int, tag: bytes, teller: Teller, *, settled: bool) -> None:
        """The client has sent a delivery again that both sides know, or `settled` it."""
        if settled:
            self.forget(tag)
        else:
            self._known.resume(tag, delivery_id, teller)

    def forget(self, tag: bytes) -> None:
        """The client has settled it, or given it up."""
        before = self._known.octets
        self._known.forget(tag)
        self._client.account.note(self._known.octets - before)

    def on_told(self, delivery_id: int, state: DeliveryState) -> None:
        """A delivery has its outcome, whether this link is attached or not."""
        arrived = self._ids.pop(delivery_id, None)
        if arrived is not None:
            self._known.on_outcome(arrived, state)

    def leave(self, number: int, *, suspends: bool) -> Suspended | None:
        """The link of that number is gone; `suspends`: the client may attach it again."""
        known = self._known
        self._client.account.give(known.octets)
        self._client.settings.kept.detach(self._key, self._awaiting)
        known.begin_awaiting(number, self._awaiting)
        if not (suspends and known.octets):
            known.end(self._client, Reason.LINK_DETACHED)
            return None
        suspended = Suspended(self._client, self._key, self.timeout_s, self.policy, known)
        suspended.begin()
        return suspended

    def on_all_told(self, number: int) -> None:
        """All deliveries of the link of that number, which is gone, have outcomes."""
        self._known.end_awaiting(number)
