"""One attached 0-10 session: its commands in the bridge's verbs.

It is the owner of what the session declares exclusively, and has each command carried out by the
part that knows it: `transfers` what comes in, `deliveries` what goes out, `subscriptions` what is
asked for, `declare` the nodes. What the client is told of that is `answers`'.
Sources: 0-10 XML, classes message and execution.

Commands that have to wait are parked (`parking`) and carried out when the face has something
to send: never from inside a call of the bridge.

The protocol's session may have ended while commands that came before its end are still carried out:
they are, and only the answers have nowhere to go. What counts is `Answers.over`.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.events import CommandReceived
from gateway.amqp_0_10.primitives import Ranges
from gateway.amqp_0_10.session import Session
from gateway.amqp_0_10.types import Command, Struct
from gateway.audit.schema import Reason
from gateway.faces.client import Client
from gateway.faces.features import Feature
from gateway.faces.leaving import Absent
from gateway.faces.owning import SessionOwner
from gateway.faces.server_0_10.answers import Answers, SessionHolder
from gateway.faces.server_0_10.contents.contents import CLASS_FILE, CLASS_STREAM, Contents
from gateway.faces.server_0_10.declare import Declarations, queue_asked_for
from gateway.faces.server_0_10.deliveries import Deliveries
from gateway.faces.server_0_10.distributed import Distributed
from gateway.faces.server_0_10.parking import SETTLING as SETTLES
from gateway.faces.server_0_10.parking import TOO_MUCH, Parking, Waiting
from gateway.faces.server_0_10.permissions import Permissions
from gateway.faces.server_0_10.subscriptions import Subscriptions
from gateway.faces.server_0_10.transactions import Transactions
from gateway.faces.server_0_10.transfers import Transfers, record_refused
from gateway.faces.server_0_10.unsettled import Unsettled
from gateway.message import Condition, Refusal
from gateway.wire.work import COMMAND, RANGE, SETTLING, SHARE, TRANSFER, WORK

CLASS_MESSAGE: Final = 4
CLASS_TX: Final = 5
CLASS_DTX: Final = 6
CLASS_EXCHANGE: Final = 7
CLASS_QUEUE: Final = 8

# Commands without durable effect: completed at once.
FLEETING: Final = frozenset(
    (
        spec.MessageSubscribe.CODE,
        spec.MessageSetFlowMode.CODE,
        spec.MessageFlow.CODE,
        spec.MessageStop.CODE,
    )
)

# Commands that access rules are asked about.
ASKED_FOR: Final = frozenset(
    (
        spec.MessageSubscribe.CODE,
        spec.ExchangeDeclare.CODE,
        spec.ExchangeDelete.CODE,
        spec.ExchangeQuery.CODE,
        spec.ExchangeBind.CODE,
        spec.ExchangeUnbind.CODE,
        spec.ExchangeBound.CODE,
        spec.QueueDeclare.CODE,
        spec.QueueDelete.CODE,
        spec.QueuePurge.CODE,
        spec.QueueQuery.CODE,
    )
)
# Octets of a session's name in the audit log; it may have 65,535.
NAME_TOLD: Final = 255

Answer = Struct | Refusal | None


@final
class ServerSession:
    """A session of a client, from attach to its end. Implements `LookUpWaiter`.

    Attributes:
        session: the protocol's.
        answers: what the client is told; `over` in it: this holds nothing any more.
        unsettled: what the client was sent.
        away: it has no connection just now.
        timeout_s: so long its state is kept without one; 0: it is not.
    """

    def __init__(self, client: Client, session: Session, holder: SessionHolder) -> None:
        self.client = client
        self.session = session
        self._owner = SessionOwner(client)
        name = session.name[:NAME_TOLD].decode("utf-8", "replace")
        self.audit_name = client.bridge.audit.name(f"session {self._owner.number} {name}")
        self.parking = Parking(client.doubt, client.account)
        self.unsettled = Unsettled()
        self.answers = Answers(client, session, holder)
        self.subscriptions = Subscriptions(self.answers, self.unsettled, self.parking, self._owner)
        self.transactions = Transactions(
            self.answers, self.unsettled, self.parking, self.subscriptions
        )
        self.distributed = Distributed(self.answers, self.parking, self.transactions)
        self.transfers = Transfers(self.answers, self.transactions)
        self.contents = Contents(
            self.answers,
            self.unsettled,
            self.parking,
            self._owner,
            self.transfers,
            self.transactions,
        )
        self.subscriptions.beside = self.contents
        self.permissions = Permissions(client)
        self.deliveries = Deliveries(
            client, self.unsettled, self.subscriptions, self.transactions, self.permissions
        )
        self.declarations = Declarations(
            client.host, self._owner, client.uses, client.account, strict=client.settings.strict
        )
        self._holder = holder
        self.away: Absent | None = None
        self.timeout_s = 0

    @property
    def number(self) -> int:
        """Unique among living sessions."""
        return self._owner.number

    # What the bridge asks and tells.

    def on_looked_up(self, token: int, refusal: Refusal | None) -> None:
        """An upstream has answered; the token is the id of the command that waits."""
        self.parking.answer(token, refusal)
        self.client.touch()

    def uncommitted(self) -> bool:
        """Whether anything that the client asked for waits: for disk, room, or its own commit."""
        return self.under_way() or self.transactions.open_octets() > 0

    def under_way(self) -> bool:
        """Whether anything that the client asked for still waits for the disk or for room."""
        parking = self.parking
        return (
            self.answers.uncommitted()
            or self.transfers.held_back() > 0
            or parking.waiting is not None
            or len(parking) > 0
        )

    def owed(self) -> int:
        """What waits for the client: deliveries, and octets of a transaction."""
        return len(self.unsettled) + self.transactions.open_octets()

    # Commands.

    def on_command(self, event: CommandReceived) -> None:
        """Carry out one command, or park it."""
        parking = self.parking
        if self.session.replay is not None and self.session.keeps_too_much():
            self.answers.fail(TOO_MUCH, command_id=event.command_id, code=event.command.CODE)
            return
        if not parking.holds(event.command, slow=self.transfers.slow()):
            self._carry_out(event)
        elif not parking.park(event):
            code = event.command.CODE
            self.answers.fail(TOO_MUCH, command_id=event.command_id, code=code)
        self.client.touch()

    def _carry_out(self, event: CommandReceived) -> None:
        command = event.command
        command_id = event.command_id
        if isinstance(command, spec.MessageTransfer):
            WORK.units += TRANSFER
            self.transfers.receive(event, command)
            return
        self.parking.octets = event.octets
        if command.CODE >> 8 in (CLASS_FILE, CLASS_STREAM):
            self.contents.carry_out(event, self.permissions)
            return
        WORK.units += SETTLING if command.CODE in SETTLES else COMMAND
        if isinstance(command, spec.MessageFlush):
            refusal = self.subscriptions.flush(command, command_id)
            if refusal is not None:
                self.answers.fail(refusal, command_id=command_id, code=command.CODE)
        elif command.CODE >> 8 == CLASS_TX:
            answer = self.transactions.carry_out(command, command_id)
            if self.parking.waiting is None:
                self._answer(answer, command, command_id)
        elif command.CODE >> 8 == CLASS_DTX:
            decided = self.distributed.carry_out(command, command_id)
            if self.parking.waiting is None:
                self._answer(decided, command, command_id)
        elif command.CODE in ASKED_FOR:
            refusal = self.permissions.refusal(command)
            if refusal is not None:
                self._answer(refusal, command, command_id)
            elif self._must_look_up(command, command_id):
                self.parking.wait(command_id, command)
            else:
                self._carry_out_upstream(command, command_id)
        else:
            self._carry_out_locally(command, command_id)

    def _must_look_up(self, command: Command, command_id: int) -> bool:
        """Whether an upstream has to be asked before the command can be answered."""
        if command.CODE >> 8 not in (CLASS_EXCHANGE, CLASS_QUEUE):
            return False
        name = queue_asked_for(command)
        return bool(name) and self.client.host.reaching.look_up(name, self, command_id)

    def _carry_out_upstream(self, command: Command, command_id: int) -> None:
        """Carry it out locally, but by the queue's upstream first, if that has to."""
        upstream = self.declarations.carry_out_upstream(command, self, command_id)
        if upstream is True:
            self.parking.wait(command_id, command, done_upstream=True)
        elif isinstance(upstream, Refusal):
            self._answer(upstream, command, command_id)
        else:
            self._carry_out_locally(command, command_id)

    def _carry_out_locally(self, command: Command, command_id: int) -> None:
        answer = self._carry_out_by_class(command)
        if self.subscriptions.attaching:
            self.subscriptions.attaching = False
            self.parking.wait(command_id, command)
        elif answer is None and self.declarations.must_reach(command, self, command_id):
            self.parking.wait(command_id, command, carried_out=True)
        else:
            self._answer(answer, command, command_id)

    def _carry_out_by_class(self, command: Command) -> Answer:
        class_code = command.CODE >> 8
        if class_code == CLASS_MESSAGE:
            return self._carry_out_message(command)
        if isinstance(command, spec.ExchangeBound):
            return self.declarations.on_exchange_bound(command, *self.permissions.unseen(command))
        if class_code in (CLASS_EXCHANGE, CLASS_QUEUE):
            return self.declarations.carry_out(command)
        self.client.uses.refuse(Feature.OTHER)
        return Refusal(Condition.NOT_IMPLEMENTED, f"{type(command).__name__} is not offered here")

    def _carry_out_message(self, command: Command) -> Answer:
        deliveries = self.deliveries
        if isinstance(command, spec.MessageAccept):
            return deliveries.accept(command)
        if isinstance(command, spec.MessageRelease):
            deliveries.release(command)
            return None
        if isinstance(command, spec.MessageReject):
            deliveries.reject(command)
            return None
        if isinstance(command, spec.MessageAcquire):
            return deliveries.acquire(command)
        return self.subscriptions.carry_out(command)

    def _answer(self, answer: Answer, command: Command, command_id: int) -> None:
        """Tell the client what became of a command that is carried out."""
        self.permissions.carried_out(command)
        if isinstance(answer, Refusal):
            self.answers.fail(answer, command_id=command_id, code=command.CODE)
        elif isinstance(answer, spec.XaResult):
            self.answers.send_result_when_safe(command_id, answer)
        elif answer is not None:
            self.answers.send_result(command_id, answer)
        elif command.CODE in FLEETING:
            self.answers.complete(command_id)
        elif isinstance(command, spec.MessageReject | spec.MessageRelease):
            self.answers.complete_when_settled(command_id)
        else:
            self.answers.complete_when_safe(command_id)

    # Parked commands.

    def carry_out_parked(self) -> None:
        """Outside of the bridge: end what has failed, carry out what need not wait any more."""
        self.transfers.end_failed()
        parking = self.parking
        carried_out = False
        end = WORK.units + SHARE
        while WORK.units <= end:
            answered = parking.take_answered()
            if answered is not None:
                carried_out = True
                self._carry_out_waited(answered)
            event = parking.next(slow=self.transfers.slow())
            if event is None:
                break
            carried_out = True
            self._carry_out(event)
        if carried_out:
            # The turn's end has been: what was just done, and what is left, is of the next one.
            self.client.touch()
        if len(parking) == 0:
            self.transfers.resume_producer()

    def _carry_out_waited(self, waited: Waiting) -> None:
        """Go on with a command for which an upstream has answered."""
        command = waited.command
        refusal = waited.refusal
        if refusal is not None:
            self._answer(self.declarations.refused(command, refusal), command, waited.command_id)
        elif command.CODE >> 8 == CLASS_DTX:
            self._answer(self.distributed.waited(), command, waited.command_id)
        elif isinstance(command, spec.MessageSubscribe | spec.TxCommit):
            self.answers.complete(waited.command_id)
        elif isinstance(command, spec.FileConsume | spec.StreamConsume):
            self.contents.consumed(waited.command_id, command)
        elif waited.carried_out:
            self._answer(None, command, waited.command_id)
        elif waited.done_upstream:
            self._carry_out_locally(command, waited.command_id)
        else:
            self._carry_out_upstream(command, waited.command_id)

    # Events.

    def on_completed(self, ranges: Ranges) -> None:
        """The client has completed transfers: window credit comes back."""
        WORK.units += SETTLING + RANGE * len(ranges)
        self.unsettled.completed(ranges)
        self.subscriptions.on_completed()
        self.contents.on_completed()
        self.client.touch()

    def resume(self) -> None:
        """There is room again, for whatever was held back for want of it."""
        self.subscriptions.resume()
        self.contents.resume()

    def on_rules_changed(self) -> None:
        """Other access rules are in force: a subscription that they forbid ends the session."""
        refusal = self._review()
        if refusal is not None:
            self.answers.fail(refusal)

    def _review(self) -> Refusal | None:
        """Why something that it takes may not go on, by other access rules."""
        refusal = self.subscriptions.review(self.permissions)
        return self.contents.review(self.permissions) if refusal is None else refusal

    # Its state, which may outlive its connection.

    def grant(self, timeout_s: int | None) -> None:
        """session.request-timeout: as much of it as may be. `None` asks for no limit.

        Java clients ask for a second, and begin anew when they come back.
        """
        if self.session.ended:
            return
        limit = self.client.settings.limits.session_timeout_s
        if self.client.java:
            limit = 0
        self.timeout_s = limit if timeout_s is None else min(timeout_s, limit)
        names = self.client.settings.kept.names(self.client.identity)
        if self.timeout_s:
            self.session.keep_state()
            names.add(self.session.name)
        else:
            self.session.lose_state()
            names.discard(self.session.name)
        self.session.send_timeout(self.timeout_s)

    def is_for(self, client: Client) -> bool:
        """Whether a client that attaches its name goes on with it."""
        own = self.client
        same = client.host is own.host and client.authenticated == own.authenticated
        return same and self.session.replay is not None

    def move(self, client: Client, holder: SessionHolder) -> None:
        """It has another connection, or none: from now on it is that one's."""
        self.client = client
        self._holder = holder
        self.session.move(client.account)
        self._owner.move(client)
        self.answers.move(client, holder)
        self.parking.move(client.doubt, client.account)
        self.subscriptions.move(client)
        self.transactions.move(client)
        self.distributed.move(client)
        self.transfers.move(client)
        self.contents.move(client)
        self.permissions = Permissions(client)
        self.deliveries.move(client, self.permissions)
        self.declarations.move(client.uses, client.account)

    def go_on(self) -> None:
        """It has a connection again: what it may not have any more ends it."""
        refusal = self._review()
        if refusal is not None:
            self.answers.fail(refusal)
        else:
            self.subscriptions.go_on()
            self.contents.go_on()

    def hand_over(self) -> None:
        """Another connection goes on with it: it is to have none."""
        self._holder.hand_over(self.session)

    def give_name_back(self) -> None:
        """Its name may be another one's."""
        settings, identity, name = self.client.settings, self.client.identity, self.session.name
        key = (identity, name)
        if settings.attached.get(key) is self:
            del settings.attached[key]
            if self.timeout_s:
                settings.kept.names(identity).discard(name)

    def force_off(self) -> None:
        """Another transport takes the name of this session."""
        self.session.lose_state()
        self.session.force_off(spec.DetachCode.SESSION_BUSY)
        self._holder.on_session_over(self.session)

    def end(self, reason: Reason) -> None:
        """The session is over: give back what it holds, let go what it owns."""
        self.answers.over = True
        for event in self.parking.clear():
            record_refused(self.client, event, Reason.SESSION_ENDED)
        self.transfers.forget()
        self.distributed.end()
        self.transactions.end()
        # First what it holds: a queue that goes with its last subscription goes in its order.
        self.contents.release()
        self.deliveries.give_back(reason)
        self.subscriptions.cancel_all(reason)
        self.contents.cancel_all(reason)
        self.subscriptions.on_settled()
        self.contents.end()
        # They know one another: else only the search for garbage would find them.
        self.subscriptions.beside = None
        self.client.host.owners.release(self._owner)
        self.client.bridge.audit.forget(self.audit_name)
