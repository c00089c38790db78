"""One 0-10 subscription: where the bridge's deliveries become message.transfer commands.

The bridge is told of messages only: how many octets a transfer has is known after translation.
Source: 0-10 XML, message.subscribe, flush and stop; its credit is `credit`'s.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_0_10 import _spec as spec
from gateway.audit.digests import digest
from gateway.bridge.exchanges.filters import NoLocal
from gateway.bridge.queues.subscription import Subscription
from gateway.bridge.seams import DeliverStatus
from gateway.faces import losses
from gateway.faces.checking import check, wants_look
from gateway.faces.client import Client
from gateway.faces.server_0_10.answers import Answers
from gateway.faces.server_0_10.credit import Credit
from gateway.faces.server_0_10.parking import Parking
from gateway.faces.server_0_10.unsettled import Unsettled
from gateway.message import Condition, Delivery, Refusal
from gateway.translate.contents.leaving import transfer_header
from gateway.translate.facts import AMQP_0_10
from gateway.translate.message import to_0_10
from gateway.wire.work import FLUSHED, WORK

NOTHING_REFUSED: Final = Refusal(Condition.NONE, "")


@final
class ServerSubscription:
    """An outlet of the bridge, named by its destination within its session.

    Attributes:
        takes: messages, or the queue from others: it is no looking on.
        bridged: the bridge's side of it; from right after construction until it is over.
        attaching: an upstream has to attach it before it is one.
        kept: octets of it on the connection's account.
        no_local: leaves out what its own connection published.
        paused: its session has no connection, and it no credit.
    """

    __slots__ = (
        "_answers",
        "_client",
        "_gone",
        "_parking",
        "_session",
        "_unsettled",
        "accept_explicit",
        "acquire",
        "attaching",
        "blocked",
        "bridged",
        "credit",
        "destination",
        "flushes",
        "kept",
        "no_local",
        "paused",
        "stuck",
        "takes",
    )

    def __init__(
        self,
        answers: Answers,
        unsettled: Unsettled,
        parking: Parking,
        *,
        destination: str,
        accept_explicit: bool,
        acquire: bool,
        exclusive: bool = False,
    ) -> None:
        self._answers = answers
        self._client = answers.client
        self._session = answers.session
        self._unsettled = unsettled
        self._parking = parking
        self.destination = destination
        self.accept_explicit = accept_explicit
        self.acquire = acquire
        self.takes = acquire or exclusive
        self.credit = Credit()
        self.bridged: Subscription | None = None
        self.attaching = False
        self.kept = 0
        self.no_local: NoLocal | None = None
        self.paused = False
        self._gone: Refusal | None = None  # its queue was deleted while it had no credit
        # Command ids of flushes that are not done.
        self.flushes: list[int] = []
        # `deliver` refused; and that until the client does something about it.
        self.blocked = False
        self.stuck = False

    # What the bridge calls.

    def deliver(self, delivery: Delivery) -> DeliverStatus:
        """Send one delivery as a transfer, if there is room and byte credit for it."""
        client = self._client
        session = self._session
        limits = client.settings.limits
        message = delivery.message
        room = not client.draining and client.room.has(len(message.payload))
        if room and session.replay is not None:
            room = session.has_room(len(message.payload))
        if not room or session.in_doubt() >= limits.commands_in_doubt_max:
            self.blocked = True
            return DeliverStatus.BLOCKED
        if len(self._unsettled) >= limits.unsettled_max:
            return self._exhausted()
        context = client.context()
        translated = to_0_10(message, context, delivery.delivery_count, delivery.annotations)
        if translated.refusal is not None:
            losses.record(client.bridge, translated.losses, message.id, delivery.subscription)
            return DeliverStatus.UNDELIVERABLE
        header = translated.header
        lost = translated.losses
        if translated.structs:
            left = transfer_header(header, context)
            header = left.header
            lost = lost + left.losses
        credit = self.credit
        octets = len(header) + len(translated.body)
        if not credit.octets.covers(octets):
            losses.take_back(context.counts, lost)
            return self._exhausted()
        if lost:
            losses.record(client.bridge, lost, message.id, delivery.subscription)
        delivery.body_digest = digest(translated.body)
        delivery.body_changed = translated.body_changed
        delivery.id_digest = translated.id_digest
        if message.encoding != AMQP_0_10 and wants_look(message.id, translated.kind, context):
            check(
                client.bridge,
                delivery,
                translated.header,
                translated.body,
                translated.losses,
                context,
                empty_body=translated.empty_body,
            )
        command_id = session.send_command(
            self._transfer(),
            header=header,
            body=translated.body,
            empty_body=translated.empty_body,
        )
        self._unsettled.sent(command_id, credit, octets, delivery if self.accept_explicit else None)
        if delivery.settled and not self.acquire:
            self._unsettled.looked_at(command_id, delivery)
        credit.sent(octets)
        client.room.left -= octets
        client.touch()
        return DeliverStatus.TAKEN

    def _transfer(self) -> spec.MessageTransfer:
        """The command of a delivery; clients want all its fields."""
        explicit, acquire = self.accept_explicit, self.acquire
        return spec.MessageTransfer(
            destination=self.destination,
            accept_mode=spec.AcceptMode.EXPLICIT if explicit else spec.AcceptMode.NONE,
            acquire_mode=spec.AcquireMode.PRE_ACQUIRED
            if acquire
            else spec.AcquireMode.NOT_ACQUIRED,
        )

    def _exhausted(self) -> DeliverStatus:
        """The next message cannot be sent before the client gives more credit, or settles.

        A flush has nothing more to wait for.
        """
        self.stuck = True
        if self.flushes:
            self.stop()
        self.blocked = True
        return DeliverStatus.BLOCKED

    def on_drained(self) -> None:
        """The flush is done: nothing is left to send, and credit is zero in both units."""
        self.credit.end()
        self._end_flushes()

    def _end_flushes(self) -> None:
        flushes = self.flushes
        self.flushes = []
        WORK.units += FLUSHED * len(flushes)
        for command_id in flushes:
            self._answers.complete(command_id)

    def refusal(self) -> Refusal:
        """Nothing: `deliver` never refuses on everybody's behalf."""
        return NOTHING_REFUSED

    def on_attached(self) -> None:
        """The upstream has attached it."""
        if self.attaching:
            self._on_attached(None)

    def on_cancelled(self, condition: Condition, description: str) -> None:
        """The queue went away under it: the specification closes the session for that.

        As qpidd does: where the client waits for messages, now or as soon as it gives credit. Who
        has deleted its own queue and wants nothing more of it goes on.
        """
        refusal = Refusal(condition, description)
        if self.attaching:
            self._on_attached(refusal)
        elif self.paused or (condition == Condition.RESOURCE_DELETED and self.credit.left() == 0):
            self._gone = refusal
            self._end_flushes()
        else:
            self._answers.fail(refusal)

    def _on_attached(self, refusal: Refusal | None) -> None:
        self.attaching = False
        self._parking.answer_waiting(refusal)
        self._client.touch()

    # What the session calls.

    def pause(self) -> None:
        """The session has no connection: no credit counts, and a flush has sent what it could."""
        self.paused = True
        if self.flushes:
            self.stop()
        else:
            self._bridged().stop()

    def go_on(self) -> None:
        """It has one again."""
        self.paused = False
        self.grant()

    def move(self, client: Client) -> None:
        """The session has another connection, or none: what is kept is on its account."""
        self._client.account.give(self.kept)
        client.account.note(self.kept)
        self._client = client
        if self.no_local is not None:
            self.no_local.also(client.peer.connection_id)

    # What it calls for the client.

    def flow(self, octets: bool, value: int | None) -> None:
        """message.flow, in one unit."""
        (self.credit.octets if octets else self.credit.messages).add(value)
        self.grant()

    def flush(self, command_id: int) -> None:
        """message.flush: complete it when all that can be sent has been."""
        self.flushes.append(command_id)
        if self.stuck or self._gone is not None:
            self.stop()
        else:
            self._bridged().drain()

    def stop(self) -> None:
        """message.stop: nothing more after this; a flush under way is over, too."""
        self._bridged().stop()
        self.on_drained()

    def cancel(self) -> None:
        """message.cancel, or the session's end: no more deliveries."""
        self._client.account.give(self.kept)
        self.kept = 0
        self._bridged().cancel()
        self.on_drained()

    def grant(self) -> None:
        """Tell the bridge what may be sent now."""
        self.credit.due = False
        bridged = self._bridged()
        gone = self._gone
        if gone is not None and self.credit.left() != 0:
            self._answers.fail(gone)
        elif not bridged.cancelled:
            bridged.grant(self.credit.left())
            self.resume()

    def resume(self) -> None:
        """There is room again for what `deliver` refused."""
        if self.blocked:
            self.blocked = False
            self.stuck = False
            self._bridged().resume()

    def number(self) -> int:
        """Its number in the bridge and in the audit log."""
        return self._bridged().number

    def unsettled(self) -> int:
        """How many of its deliveries have not ended."""
        return self._bridged().unsettled

    def queue_name(self) -> str:
        """The queue that it is for."""
        return self._bridged().queue_name

    def _bridged(self) -> Subscription:
        bridged = self.bridged
        assert bridged is not None
        return bridged
