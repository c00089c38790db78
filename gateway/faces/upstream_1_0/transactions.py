"""The control link to an upstream's transaction coordinator, and the transactions on it (part 4).

One link for all sessions, attached when the first has work for a transaction. A transaction is
declared, work is put into it by others (`posting` of what a relay sends, `retiring` of what came),
and it is discharged. A link that is gone has taken its transactions along: they are rolled back,
but for those that were being committed, of which nobody knows.
"""

from __future__ import annotations

from collections import deque
from typing import Final, final

from gateway.amqp_1_0 import _spec
from gateway.amqp_1_0._spec import DeliveryState, Error
from gateway.amqp_1_0.events import AttachReceived, DeliveryReceived
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.session import Session
from gateway.amqp_1_0.transactions import (
    control_source,
    coordinator,
    declare_payload,
    declared,
    discharge_payload,
    discharged,
)
from gateway.amqp_1_0.transfers.outgoing import Outgoing
from gateway.bridge.remote.remote import Work
from gateway.bridge.seams import Publisher
from gateway.errors import RemoteProtocolError
from gateway.faces.dialled.reaching import lasting
from gateway.faces.upstream_1_0.context import UpstreamContext
from gateway.faces.upstream_1_0.errors import refusal_of, text_of
from gateway.faces.upstream_1_0.receiving.receiver import Receiver
from gateway.faces.upstream_1_0.slot import LinkSlot
from gateway.message import Outcome, Refusal

NO_ID: Final = b""


@final
class Branch:
    """One transaction: implements `bridge.remote.remote.Branch`, `Sleeper`.

    Attributes:
        work: whose; `None` once it has been told of the end.
        id: given by the coordinator; `NO_ID` before that.
        fails: how it is discharged; `None`: not yet.
    """

    __slots__ = ("_transactions", "fails", "id", "work")

    def __init__(self, transactions: UpstreamTransactions, work: Work) -> None:
        self._transactions = transactions
        self.work: Work | None = work
        self.id = NO_ID
        self.fails: bool | None = None

    @property
    def txn_id(self) -> bytes:
        """By what name it goes upstream; `NO_ID` before it has begun."""
        return self.id

    def retire(self, source: Publisher, token: int, outcome: Outcome) -> bool:
        """End in it what a receiver took; `False`: its link has gone, or it is no receiver's."""
        return isinstance(source, Receiver) and source.retire(token, self.id, outcome)

    def give_up(self) -> None:
        """Nobody wants it any more: it is not declared, or rolled back once it is."""
        self.work = None
        self._transactions.withdraw(self)

    def discharge(self, *, fail: bool) -> None:
        """Commit, or roll back; once, and unless it is over."""
        if self.work is not None and self.fails is None:
            self.fails = fail
            self._transactions.send(self)

    def handle_deadline(self, now_ms: int) -> None:
        """There was no answer in time."""
        self._transactions.on_late(self)


@final
class UpstreamTransactions:
    """All transactions at one upstream. Implements `UpstreamLink`: the one to its coordinator."""

    def __init__(self, upstream: UpstreamContext) -> None:
        self.upstream = upstream
        self._name = upstream.link_name("coordinator")
        self._slot: LinkSlot | None = None
        self._link: Link | None = None
        self._tags = 0
        self._problem = "its coordinator does not answer"
        # What is to be said: declares, and discharges of those that have an id.
        self._queue: deque[Branch] = deque()
        self._asked: dict[bytes, Branch] = {}  # by tag: said, and not answered
        self._begun: dict[Branch, None] = {}

    def begin(self, work: Work) -> Branch:
        """Declare one; `work` is told when it has begun."""
        if self._slot is None:
            self._slot = self.upstream.links.add(self, alone=True, stays=True)
        branch = Branch(self, work)
        self.send(branch)
        return branch

    # What branches ask.

    def send(self, branch: Branch) -> None:
        """Declare or discharge, when there is credit; an answer must come in time."""
        upstream = self.upstream
        self._queue.append(branch)
        upstream.wake(branch, upstream.bridge.now_ms + upstream.settings.attach_timeout_ms)
        self._say()
        upstream.touch()

    def withdraw(self, branch: Branch) -> None:
        """Do not declare it, if that is not on its way; else it is rolled back when it is."""
        if branch in self._queue:
            self._queue.remove(branch)
            self.upstream.unwake(branch)

    def on_late(self, branch: Branch) -> None:
        """It has waited too long."""
        self._begun.pop(branch, None)
        if branch in self._queue:
            self._queue.remove(branch)
        self._lose(branch)

    def _say(self) -> None:
        link = self._link
        if link is None or not link.attached:
            return  # Also while the connection's other links are told that it is lost.
        queue = self._queue
        while queue and link.credit > 0 and not link.session.blocked:
            branch = queue.popleft()
            self._tags += 1
            tag = self._tags.to_bytes(8, "big")
            self._asked[tag] = branch
            if branch.id == NO_ID:
                payload = declare_payload()
            else:
                # What was retired in it must be on its way before it is discharged.
                link.session.channels.flush()
                payload = discharge_payload(branch.id, fail=branch.fails is not False)
            link.send_delivery(tag, b"", payload, settled=False)

    # As an `UpstreamLink`.

    def attach(self, session: Session) -> Link:
        """Ask for a coordinator of local transactions."""
        link = session.attach(self._name, _spec.SENDER)
        link.send_attach(
            source=control_source(),
            target=coordinator(),
            snd_settle_mode=_spec.SND_UNSETTLED,
        )
        return link

    def on_attach(self, event: AttachReceived) -> None:
        """The coordinator has answered: the link is attached."""
        self._link = event.link
        self._say()

    def on_flow(self) -> None:
        """There is credit."""
        link = self._link
        self._say()
        if link is not None and link.drain and link.credit > 0:
            link.send_drained()

    def on_room(self) -> None:
        """There is room in the session."""
        self._say()

    def on_delivery(self, event: DeliveryReceived) -> None:
        """Never: the peer receives by this link."""

    def on_disposition(
        self, delivery: Outgoing, state: DeliveryState | None, settled: bool
    ) -> None:
        """The coordinator's answer."""
        if state is None and not settled:
            return
        branch = self._asked.pop(delivery.tag, None)
        if not settled:
            delivery.link.session.settle_outgoing(delivery, state)
        if branch is None:
            return
        self.upstream.unwake(branch)
        if branch.id == NO_ID:
            self._on_declared(branch, declared(state))
        else:
            self._on_discharged(branch, discharged(state))
        self.upstream.touch()

    def _on_declared(self, branch: Branch, answer: bytes | Error) -> None:
        work = branch.work
        if isinstance(answer, Error):
            branch.work = None
            if work is not None:
                work.on_lost(self._refusal(answer))
            return
        branch.id = answer
        if work is None:
            self.send(branch)  # Nobody waits for it any more: it is rolled back.
            return
        self._begun[branch] = None
        work.on_begun()

    def _on_discharged(self, branch: Branch, error: Error | None) -> None:
        self._begun.pop(branch, None)
        work = branch.work
        branch.work = None
        if work is not None:
            work.on_discharged(None if error is None else self._refusal(error))

    def on_settled(self, delivery_ids: set[int], state: DeliveryState | None) -> None:
        """Never: the peer receives by this link."""

    def on_detach(self, error: Error | None, closed: bool) -> None:
        """The peer detached, which rolls back, or offers no coordinator."""
        self._problem = text_of(error)
        refusal = refusal_of(error)
        waiting = list(self._queue)
        self._queue.clear()
        self._end(refusal, waiting)

    def on_failed(self, error: RemoteProtocolError) -> None:
        """The peer broke the link's rules, or did not answer."""
        self._problem = str(error)
        waiting = list(self._queue)
        self._queue.clear()
        self._end(None, waiting)

    def on_lost(self) -> None:
        """Gone with its connection; declares that were not sent wait for the next one."""
        self._link = None
        self._lose_all(None)

    def _end(self, refusal: Refusal | None, waiting: list[Branch]) -> None:
        """The link is attached again when it is wanted again."""
        slot = self._slot
        self._slot = None
        self._link = None
        self._lose_all(refusal)
        for branch in waiting:
            self._lose(branch, refusal)
        if slot is not None:
            slot.drop()

    def _lose_all(self, refusal: Refusal | None) -> None:
        """Every transaction that the coordinator knew of."""
        lost = dict.fromkeys([*self._asked.values(), *self._begun])
        self._asked.clear()
        self._begun.clear()
        kept = [branch for branch in self._queue if branch.id == NO_ID]
        self._queue.clear()
        self._queue.extend(kept)
        for branch in lost:
            self._lose(branch, refusal)

    def _lose(self, branch: Branch, refusal: Refusal | None = None) -> None:
        self.upstream.unwake(branch)
        work = branch.work
        branch.work = None
        if work is not None:
            work.on_lost(refusal or lasting(self.upstream.name, self._problem))
            self.upstream.touch()

    def _refusal(self, error: Error) -> Refusal:
        return refusal_of(error) or lasting(self.upstream.name, text_of(error))
