"""One 0-10 subscription: where the bridge's deliveries become message.transfer commands.

The bridge is told of messages only: how many octets a transfer has is known after translation.
Source: 0-10 XML, message.subscribe, flush and stop; its credit is `credit`'s.
"""

from __future__ import annotations

from typing import final

from gateway.amqp_0_10 import _spec as spec
from gateway.audit.digests import digest
from gateway.bridge.exchanges.filters import NoLocal
from gateway.bridge.seams import DeliverStatus
from gateway.faces import losses
from gateway.faces.checking import check, wants_look
from gateway.faces.server_0_10.answers import Answers
from gateway.faces.server_0_10.credit import Credit
from gateway.faces.server_0_10.outlet import SessionOutlet
from gateway.faces.server_0_10.parking import Parking
from gateway.faces.server_0_10.unsettled import Unsettled
from gateway.message import Condition, Delivery
from gateway.translate.contents.leaving import transfer_header
from gateway.translate.facts import AMQP_0_10
from gateway.translate.message import to_0_10
from gateway.wire.work import FLUSHED, WORK


@final
class ServerSubscription(SessionOutlet):
    """A subscription, named by its destination within its session."""

    __slots__ = ("accept_explicit", "acquire", "credit", "destination", "flushes", "stuck")

    def __init__(
        self,
        answers: Answers,
        unsettled: Unsettled,
        parking: Parking,
        *,
        destination: str,
        accept_explicit: bool,
        acquire: bool,
        exclusive: bool,
        kept: int,
        no_local: NoLocal | None,
    ) -> None:
        takes = acquire or exclusive
        super().__init__(answers, unsettled, parking, kept=kept, no_local=no_local, takes=takes)
        self.destination = destination
        self.accept_explicit = accept_explicit
        self.acquire = acquire
        self.credit = Credit()
        # Command ids of flushes that are not done.
        self.flushes: list[int] = []
        self.stuck = False  # it is blocked until the client does something about it

    # What the bridge calls.

    def deliver(self, delivery: Delivery) -> DeliverStatus:
        """Send one delivery as a transfer, if there is room and byte credit for it."""
        client = self._client
        message = delivery.message
        if not self._has_room(len(message.payload)):
            self.blocked = True
            return DeliverStatus.BLOCKED
        if len(self._unsettled) >= client.settings.limits.unsettled_max:
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
        command_id = self._session.send_command(
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

    def on_cancelled(self, condition: Condition, description: str) -> None:
        """See `SessionOutlet`; a flush has nothing more to wait for."""
        super().on_cancelled(condition, description)
        if self._gone is not None:
            self._end_flushes()

    def _waits(self, condition: Condition) -> bool:
        """Who has deleted its own queue and wants nothing more of it goes on."""
        if self.paused:
            return False
        return condition != Condition.RESOURCE_DELETED or self.left() != 0

    # What the session calls.

    def left(self) -> int:
        """See `SessionOutlet`."""
        return self.credit.left()

    def grant(self) -> None:
        """See `SessionOutlet`."""
        self.credit.due = False
        super().grant()

    def pause(self) -> None:
        """See `SessionOutlet`: no credit counts, and a flush has sent what it could."""
        super().pause()
        if self.flushes:
            self.on_drained()

    def cancel(self) -> None:
        """See `SessionOutlet`."""
        super().cancel()
        self.on_drained()

    def resume(self) -> None:
        """See `SessionOutlet`."""
        self.stuck = False
        super().resume()

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
