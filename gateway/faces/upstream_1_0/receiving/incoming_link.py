"""The life of one link by which an upstream sends: what receivers and feeders do alike.

It has its place at the upstream from `ask` to `drop`, and what comes by it. Whoever owns it decides
what the link asks for, what becomes of an end, and how much credit is wanted.
"""

from __future__ import annotations

from typing import final

from gateway.amqp_1_0 import _spec
from gateway.amqp_1_0._spec import Error
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.session import Session
from gateway.faces.dialled.takers import Taker
from gateway.faces.upstream_1_0.context import UpstreamContext
from gateway.faces.upstream_1_0.receiving.intake import Bearer, Intake
from gateway.faces.upstream_1_0.slot import LinkSlot, UpstreamLink
from gateway.message import Outcome


@final
class IncomingLink:
    """One, over all connections.

    Args:
        bearer: whom it feeds.
        copy: it browses: outcomes have no meaning for the node.

    Attributes:
        name: of the link.
        address: of the node; its slot knows where a redirect has led.
        intake: what has come by it.
        slot: its place; `None`: it has none yet, or none any more.
        link: while it is attached as its owner wants it.
    """

    __slots__ = ("_upstream", "address", "intake", "link", "name", "slot")

    def __init__(
        self, upstream: UpstreamContext, bearer: Bearer, name: str, address: str, *, copy: bool
    ) -> None:
        self._upstream = upstream
        self.name = name
        self.address = address
        self.intake = Intake(upstream, bearer, copy=copy, address=address)
        self.slot: LinkSlot | None = None
        self.link: Link | None = None

    def ask(self, user: UpstreamLink, *, stays: bool = False) -> None:
        """Have it attached, as a link of `user`; `stays`: on this connection only."""
        self.slot = self._upstream.links.add(user, alone=True, address=self.address, stays=stays)

    def attach(
        self, session: Session, source: _spec.Source, *, target: str, snd_settle_mode: int
    ) -> Link:
        """Send the attach; in `source` is what the owner asks for, but for address and outcomes."""
        slot = self.slot
        intake = self.intake
        link = session.attach(self.name, _spec.RECEIVER)
        intake.begin(link)
        source.address = self.address if slot is None else slot.address
        source.default_outcome = intake.default_outcome()
        source.outcomes = intake.outcomes()
        link.send_attach(
            source=source,
            target=_spec.Target(address=target),
            snd_settle_mode=snd_settle_mode,
        )
        return link

    def begin(self, link: Link, number: int, node: int, flags: int) -> None:
        """It is attached: the audit log learns where `number`, the gateway's own, leads to."""
        self.link = link
        if self.slot is not None:
            slot = self.slot
            self._upstream.note_link(
                number,
                node,
                address=slot.address,
                connection=slot.transport.number,
                flags=flags,
            )

    def owe(self, taker: Taker) -> None:
        """Have its owner look at its credit at the end of the turn, if there is a link."""
        if self.link is not None:
            self._upstream.takers.owe(taker)

    def room(self) -> int:
        """How much credit it may have, beside the links that share its session."""
        slot = self.slot
        return 0 if slot is None else slot.room(self.intake.outstanding)

    def settle(self, token: int, outcome: Outcome) -> None:
        """A delivery has ended so: tell the peer."""
        self.intake.settle(self.link, token, outcome)
        if self.slot is not None:
            self.slot.freed()

    def forget(self, delivery_ids: set[int]) -> set[int]:
        """The peer has settled these before us; the tokens of those that were unsettled."""
        tokens = self.intake.forget(delivery_ids)
        if self.slot is not None:
            self.slot.freed()
        return tokens

    def lose(self, error: Error | None) -> bool:
        """The link is gone; whether there was one. `error`: what the peer said."""
        had_link = self.link is not None
        self.link = None
        self.intake.lose(error)
        return had_link

    def retry(self) -> None:
        """Attach it again after a back-off."""
        if self.slot is not None:
            self.slot.retry()

    def drop(self, *, closed: bool = True) -> bool:
        """Give it up, for good or until it is asked for again; whether it had a place."""
        slot = self.slot
        link = self.link
        self.slot = None
        self.link = None
        settled = self.intake.take_settled()
        if link is not None and settled:
            self._upstream.unheard.keep(link, settled)
        if slot is not None:
            slot.drop(closed=closed)
        return slot is not None
