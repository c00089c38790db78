"""The classes file and stream in one session: which command is carried out by whom."""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.events import CommandReceived
from gateway.amqp_0_10.types import Command
from gateway.audit.schema import Reason
from gateway.bridge.seams import Owner
from gateway.faces.client import Client
from gateway.faces.features import Feature
from gateway.faces.server_0_10.answers import Answers
from gateway.faces.server_0_10.contents.consumer import Tags
from gateway.faces.server_0_10.contents.consumers import Consumers
from gateway.faces.server_0_10.contents.publishing import ContentPublishing
from gateway.faces.server_0_10.parking import Parking
from gateway.faces.server_0_10.permissions import Permissions
from gateway.faces.server_0_10.transfers import Transfers
from gateway.faces.server_0_10.unsettled import Unsettled
from gateway.message import Condition, Refusal
from gateway.wire.work import COMMAND, WORK

CLASS_FILE: Final = 9
CLASS_STREAM: Final = 10


@final
class Contents:
    """What one session does with them.

    Attributes:
        streams: what it consumes as streams.
    """

    __slots__ = ("_answers", "_parking", "_publishing", "streams")

    def __init__(
        self,
        answers: Answers,
        unsettled: Unsettled,
        parking: Parking,
        owner: Owner,
        transfers: Transfers,
    ) -> None:
        self._answers = answers
        self._parking = parking
        self._publishing = ContentPublishing(answers, transfers)
        shared = answers.windows()
        self.streams = Consumers(answers, unsettled, parking, owner, shared, Tags(), None)

    def carry_out(self, event: CommandReceived, permissions: Permissions) -> None:
        """Carry out one command of either class."""
        command = event.command
        if isinstance(command, spec.StreamPublish):
            self._publishing.stream(event, command)
            return
        WORK.units += COMMAND
        refusal = self._carry_out(event, permissions)
        if refusal is not None:
            self._answers.fail(refusal, command_id=event.command_id, code=command.CODE)

    def _carry_out(self, event: CommandReceived, permissions: Permissions) -> Refusal | None:
        command, command_id = event.command, event.command_id
        if isinstance(command, spec.StreamQos):
            if self.streams.qos(command):
                self._answers.resume_all()
            self._answers.send(spec.StreamQosOk())
        elif isinstance(command, spec.StreamConsume):
            return self._consume(event, command, permissions)
        elif isinstance(command, spec.StreamCancel):
            refusal = self.streams.cancel(command.consumer_tag or "")
            if refusal is not None:
                return refusal
            self._answers.complete_when_safe(command_id)
            return None
        else:
            self._answers.client.uses.refuse(Feature.FILE)
            return Refusal(Condition.NOT_IMPLEMENTED, f"{type(command).__name__} is not offered")
        self._answers.complete(command_id)
        return None

    def _consume(
        self, event: CommandReceived, command: spec.StreamConsume, permissions: Permissions
    ) -> Refusal | None:
        refusal = permissions.review(command.queue or "", acquire=True)
        if refusal is None:
            refusal = self.streams.consume(command)
        if refusal is not None:
            return refusal
        if self.streams.attaching:
            self.streams.attaching = False
            self._parking.wait(event.command_id, command)
        else:
            self.consumed(event.command_id, command)
        return None

    def consumed(self, command_id: int, command: Command) -> None:
        """A consumer is one: the client is told so, unless it wants no answer."""
        if isinstance(command, spec.StreamConsume) and not command.nowait:
            self._answers.send(spec.StreamConsumeOk(consumer_tag=command.consumer_tag))
        self._answers.complete(command_id)

    # What the session tells.

    def review(self, permissions: Permissions) -> Refusal | None:
        """Why something that it consumes may not go on, by other access rules."""
        return self.streams.review(permissions)

    def on_completed(self) -> None:
        """The client has completed deliveries: a window may be open again."""
        if self.streams.windows.due:
            self._on_back(self.streams)

    def _on_back(self, consumers: Consumers) -> None:
        consumers.resume()
        shared = consumers.windows.shared
        if shared.count_max or shared.size_max:
            self._answers.resume_all()

    def on_settled(self) -> None:
        """Deliveries were settled."""
        self.streams.on_settled()

    def resume(self) -> None:
        """There is room again."""
        self.streams.resume()

    def pause(self) -> None:
        """The session has no connection."""
        self.streams.pause()

    def go_on(self) -> None:
        """It has one again."""
        self.streams.go_on()

    def move(self, client: Client) -> None:
        """The session has another connection, or none."""
        shared = self._answers.windows()
        self._publishing.move(client)
        self.streams.move(client, shared)

    def cancel_all(self, reason: Reason) -> None:
        """The session is over; its deliveries are settled next."""
        self.streams.cancel_all(reason)

    def end(self) -> None:
        """All that it held is settled."""
        self.streams.on_settled()
        self.streams.windows.leave()
