"""The classes file and stream in one session: which command is carried out by whom."""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.events import CommandReceived, PartReceived
from gateway.amqp_0_10.types import Command
from gateway.audit.schema import Reason
from gateway.bridge.seams import Owner
from gateway.faces.client import Client
from gateway.faces.server_0_10.answers import Answers
from gateway.faces.server_0_10.contents.consumers import Consumers
from gateway.faces.server_0_10.contents.inbound import Inbound
from gateway.faces.server_0_10.contents.outbound import Outbound
from gateway.faces.server_0_10.contents.publishing import ContentPublishing
from gateway.faces.server_0_10.contents.windows import Windows
from gateway.faces.server_0_10.parking import Parking
from gateway.faces.server_0_10.permissions import Permissions
from gateway.faces.server_0_10.transactions import Transactions
from gateway.faces.server_0_10.transfers import Transfers
from gateway.faces.server_0_10.unsettled import Unsettled
from gateway.message import Condition, Refusal
from gateway.wire.work import COMMAND, SETTLING, WORK

CLASS_FILE: Final = 9
CLASS_STREAM: Final = 10
PUBLISHES: Final = (spec.FilePublish.CODE, spec.StreamPublish.CODE)
SETTLES: Final = (spec.FileAck.CODE, spec.FileReject.CODE)


@final
class Contents:
    """What one session does with them. Implements `Beside`."""

    __slots__ = (
        "_answers",
        "_files",
        "_inbound",
        "_outbound",
        "_parking",
        "_publishing",
        "_streams",
    )

    def __init__(
        self,
        answers: Answers,
        unsettled: Unsettled,
        parking: Parking,
        owner: Owner,
        transfers: Transfers,
        transactions: Transactions,
    ) -> None:
        self._answers = answers
        self._parking = parking
        self._inbound = Inbound(answers, transactions)
        self._publishing = ContentPublishing(answers, transfers, self._inbound)
        shared = answers.windows()
        files = Windows(shared.files)
        self._outbound = Outbound(answers, unsettled, transactions, files)
        streams = Windows(shared.streams)
        self._streams = Consumers(answers, unsettled, parking, owner, streams, None)
        self._files = Consumers(answers, unsettled, parking, owner, files, self._outbound)

    def carry_out(self, event: CommandReceived, permissions: Permissions) -> None:
        """Carry out one command of either class."""
        command, command_id = event.command, event.command_id
        if isinstance(command, spec.StreamPublish):
            self._publishing.stream(event, command)
            return
        WORK.units += SETTLING if command.CODE in SETTLES else COMMAND
        if command.CODE >> 8 == CLASS_FILE:
            refusal = self._carry_out_file(event, permissions)
        else:
            refusal = self._carry_out_stream(event, permissions)
        if refusal is not None:
            self._answers.fail(refusal, command_id=command_id, code=command.CODE)

    def _carry_out_stream(self, event: CommandReceived, permissions: Permissions) -> Refusal | None:
        command = event.command
        if isinstance(command, spec.StreamQos):
            return self._qos(event, self._streams, spec.StreamQosOk())
        if isinstance(command, spec.StreamConsume):
            return self._consume(event, command, self._streams, permissions)
        if isinstance(command, spec.StreamCancel):
            return self._cancel(event, self._streams, command.consumer_tag)
        return _not_offered(command)

    def _carry_out_file(self, event: CommandReceived, permissions: Permissions) -> Refusal | None:
        command = event.command
        if isinstance(command, spec.FileQos):
            return self._qos(event, self._files, spec.FileQosOk())
        if isinstance(command, spec.FileConsume):
            return self._consume(event, command, self._files, permissions)
        if isinstance(command, spec.FileCancel):
            return self._cancel(event, self._files, command.consumer_tag)
        if isinstance(command, spec.FilePublish):
            return self._publishing.file(event.command_id, command)
        if command.CODE in SETTLES:
            return self._settle(event)
        return self._carry_out_staging(event)

    def _carry_out_staging(self, event: CommandReceived) -> Refusal | None:
        command = event.command
        if isinstance(command, spec.FileOpen):
            refusal = self._inbound.open(command)
        elif isinstance(command, spec.FileStage):
            refusal = self._inbound.stage(event)
        elif isinstance(command, spec.FileOpenOk):
            refusal = self._outbound.on_open_ok(command)
            if refusal is None:
                self._on_files_back()  # there is room for the next
        else:
            refusal = _not_offered(command)
        if refusal is None:
            self._answers.complete_when_safe(event.command_id)
        return refusal

    def _settle(self, event: CommandReceived) -> Refusal | None:
        command, command_id = event.command, event.command_id
        if isinstance(command, spec.FileAck):
            refusal = self._outbound.ack(command)
        else:
            assert isinstance(command, spec.FileReject)
            refusal = self._outbound.reject(command)
        if refusal is not None:
            return refusal
        self._on_files_back()
        if isinstance(command, spec.FileReject):
            self._answers.complete_when_settled(command_id)
        else:
            self._answers.complete_when_safe(command_id)
        return None

    def on_part(self, event: PartReceived) -> None:
        """Some of a file that is staged has come."""
        refusal = self._inbound.part(event.header, event.octets)
        if refusal is not None:
            self._answers.fail(refusal, code=spec.FileStage.CODE)

    def _qos(self, event: CommandReceived, consumers: Consumers, answer: Command) -> Refusal | None:
        if consumers.qos(event.command):
            self._answers.resume_all()
        self._answers.send(answer)
        self._answers.complete(event.command_id)
        return None

    def _cancel(
        self, event: CommandReceived, consumers: Consumers, tag: str | None
    ) -> Refusal | None:
        refusal = consumers.cancel(tag or "")
        if refusal is None:
            self._answers.complete_when_safe(event.command_id)
        return refusal

    def _consume(
        self,
        event: CommandReceived,
        command: spec.FileConsume | spec.StreamConsume,
        consumers: Consumers,
        permissions: Permissions,
    ) -> Refusal | None:
        refusal = permissions.review(command.queue or "", acquire=True)
        if refusal is None:
            refusal = consumers.consume(command)
        if refusal is not None:
            return refusal
        if consumers.attaching:
            consumers.attaching = False
            self._parking.wait(event.command_id, command)
        else:
            self.consumed(event.command_id, command)
        return None

    def consumed(self, command_id: int, command: Command) -> None:
        """A consumer is one: the client is told so, unless it wants no answer."""
        if isinstance(command, spec.StreamConsume) and not command.nowait:
            self._answers.send(spec.StreamConsumeOk(consumer_tag=command.consumer_tag))
        elif isinstance(command, spec.FileConsume) and not command.nowait:
            self._answers.send(spec.FileConsumeOk(consumer_tag=command.consumer_tag))
        self._answers.complete(command_id)

    # What the session tells.

    def review(self, permissions: Permissions) -> Refusal | None:
        """Why something that it consumes may not go on, by other access rules."""
        refusal = self._streams.review(permissions)
        return self._files.review(permissions) if refusal is None else refusal

    def on_completed(self) -> None:
        """The client has completed deliveries: a window may be open again."""
        if self._streams.windows.due:
            self._streams.resume()
            self._tell_others(self._streams)

    def _on_files_back(self) -> None:
        self._files.on_settled()
        self._tell_others(self._files)

    def _tell_others(self, consumers: Consumers) -> None:
        shared = consumers.windows.shared
        if shared.count_max or shared.size_max:
            self._answers.resume_all()

    def on_settled(self) -> None:
        """See `Beside`."""
        self._outbound.forget_settled()
        self._files.on_settled()

    def resume(self) -> None:
        """There is room again."""
        self._streams.resume()
        self._files.resume()

    def pause(self) -> None:
        """The session has no connection."""
        self._streams.pause()
        self._files.pause()

    def go_on(self) -> None:
        """It has one again."""
        self._streams.go_on()
        self._files.go_on()

    def move(self, client: Client) -> None:
        """The session has another connection, or none."""
        self._publishing.move(client)
        self._inbound.move(client)
        self._outbound.move(client)
        self._streams.move(client)
        self._files.move(client)

    def release(self) -> None:
        """The session is over: what it has not delivered goes back first."""
        self._outbound.release(None)
        self._outbound.give_up_failed()

    def cancel_all(self, reason: Reason) -> None:
        """The session is over; its deliveries are settled."""
        self._streams.cancel_all(reason)
        self._files.cancel_all(reason)

    def end(self) -> None:
        """All that it held is settled."""
        for consumers in (self._streams, self._files):
            consumers.on_settled()
            consumers.windows.leave()
            self._tell_others(consumers)


def _not_offered(command: Command) -> Refusal:
    return Refusal(Condition.NOT_IMPLEMENTED, f"{type(command).__name__} is not offered here")
