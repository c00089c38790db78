"""What a 0-10 session consumes of one class: file.consume and cancel, stream.consume and cancel.

A tag names one consumer of its class and connection, and of the session that made it. Consumers of
either class are to a queue what subscriptions of class message are.
Source: 0-10 XML, classes file and stream.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.types import Command, FieldTable
from gateway.audit.schema import Reason
from gateway.bridge.exchanges.filters import NoLocal, together
from gateway.bridge.seams import Filter, Owner, SubscribeOptions
from gateway.faces.client import Client
from gateway.faces.features import Feature
from gateway.faces.placed import is_remote_queue
from gateway.faces.server_0_10.answers import Answers
from gateway.faces.server_0_10.contents.consumer import Consumer, Staging, Tags
from gateway.faces.server_0_10.contents.windows import Windows
from gateway.faces.server_0_10.outlets import SessionOutlets
from gateway.faces.server_0_10.parking import Parking
from gateway.faces.server_0_10.subscriptions import FILTER_ARGUMENTS, filter_of
from gateway.faces.server_0_10.unsettled import Unsettled
from gateway.message import Condition, Encoding, Refusal

CONSUMER_OCTETS: Final = 4096  # what a consumer takes, apart from its selector


@final
class Consumers(SessionOutlets[Consumer]):
    """Those of one session, of one class, by tag.

    Attributes:
        windows: what may be ahead of them.
    """

    __slots__ = ("_shared", "_staging", "_tags", "windows")

    def __init__(
        self,
        answers: Answers,
        unsettled: Unsettled,
        parking: Parking,
        owner: Owner,
        windows: Windows,
        staging: Staging | None,
    ) -> None:
        super().__init__(answers, unsettled, parking, owner)
        self._shared = answers.windows()
        self._tags = Tags()
        self._staging = staging
        self.windows = windows

    def consume(self, command: spec.FileConsume | spec.StreamConsume) -> Refusal | None:
        """Begin to consume a queue; the answer to the client is the caller's."""
        refusal = self._check(command)
        if refusal is not None:
            return refusal
        client = self._client
        arguments = command.arguments or []
        remote = is_remote_queue(client.host, command.queue or "")
        no_local = NoLocal(client.peer.connection_id) if command.no_local else None
        filter = _filter(arguments, no_local)
        if isinstance(filter, Refusal):
            return filter
        if remote and filter is not None:
            # A consumer must never get what it excluded.
            client.uses.refuse(Feature.NO_LOCAL)
            return Refusal(Condition.NOT_IMPLEMENTED, "no filter is offered for a remote queue")
        stream = isinstance(command, spec.StreamConsume)
        tag = command.consumer_tag or ""
        outlet = Consumer(
            self._answers,
            self._unsettled,
            self._parking,
            self.windows,
            self._tags,
            self._staging,
            tag=tag,
            no_ack=stream or (isinstance(command, spec.FileConsume) and command.no_ack),
            kept=CONSUMER_OCTETS + (0 if filter is None else filter.octets),
            no_local=no_local,
        )
        options = SubscribeOptions(
            exclusive=command.exclusive,
            settled=stream,
            filter=filter,
            target=Encoding.AMQP_0_10,
        )
        refusal = self._begin(tag, outlet, command.queue or "", options)
        if refusal is None:
            self._taken().add(tag)
            outlet.grant()
        return refusal

    def _check(self, command: spec.FileConsume | spec.StreamConsume) -> Refusal | None:
        tag = command.consumer_tag or ""
        if not command.queue:
            return Refusal(Condition.NOT_ALLOWED, "a consumer needs a queue")
        if not tag.strip():
            return Refusal(Condition.NOT_ALLOWED, "a consumer needs a tag")
        if tag in self._taken():
            return Refusal(Condition.NOT_ALLOWED, f"consumer-tag {tag!r} is in use")
        if len(self._living) >= self._client.settings.limits.links_max:
            return Refusal(Condition.RESOURCE_LIMIT_EXCEEDED, "too many consumers")
        arguments = command.arguments or []
        self._client.uses.ignore([key for key, _ in arguments if key not in FILTER_ARGUMENTS])
        return None

    def cancel(self, tag: str) -> Refusal | None:
        """End a consumer; what it was sent stays with the session."""
        if self._end(tag) is None:
            return Refusal(Condition.NOT_FOUND, f"there is no consumer {tag!r}")
        self._taken().discard(tag)
        return None

    def _taken(self) -> set[str]:
        """The tags of its class, of all sessions of the connection."""
        shared = self._shared
        return shared.stream_tags if self._staging is None else shared.file_tags

    def qos(self, command: Command) -> bool:
        """file.qos or stream.qos; whether it is for all sessions of the connection."""
        assert isinstance(command, spec.FileQos | spec.StreamQos)
        rate = command.consume_rate if isinstance(command, spec.StreamQos) else 0
        window = self.windows.shared if command.global_ else self.windows.own
        window.set(command.prefetch_size or 0, command.prefetch_count or 0, rate or 0)
        self.resume()
        return command.global_

    def move(self, client: Client) -> None:
        """The session has another connection, or none."""
        super().move(client)
        self._taken().difference_update(self._living)
        shared = self._shared = self._answers.windows()
        self._taken().update(self._living)
        self.windows.move(shared.streams if self._staging is None else shared.files)

    def resume(self) -> None:
        """There is room again."""
        self.windows.due = False
        super().resume()

    def cancel_all(self, reason: Reason) -> None:
        """The session is over; its deliveries are settled next."""
        self._taken().difference_update(self._living)
        super().cancel_all(reason)


def _filter(arguments: FieldTable, no_local: NoLocal | None) -> Filter | Refusal | None:
    """What a consumer wants to see; `None`: everything."""
    return filter_of(arguments, no_local) if arguments else together(None, no_local)
