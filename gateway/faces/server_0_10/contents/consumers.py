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
from gateway.faces.server_0_10.contents.windows import SharedWindows, Windows
from gateway.faces.server_0_10.parking import TOO_MUCH, Parking
from gateway.faces.server_0_10.permissions import Permissions
from gateway.faces.server_0_10.subscriptions import FILTER_ARGUMENTS, filter_of
from gateway.faces.server_0_10.unsettled import Unsettled
from gateway.message import Condition, Refusal
from gateway.wire.work import LINK, SUBSCRIPTION, WORK

CONSUMER_OCTETS: Final = 4096  # what a consumer takes, apart from its selector


@final
class Consumers:
    """Those of one session, of one class.

    Attributes:
        windows: what may be ahead of them.
        attaching: the one that has just come has to be attached at an upstream first.
    """

    __slots__ = (
        "_answers",
        "_client",
        "_leaving",
        "_living",
        "_owner",
        "_parking",
        "_shared",
        "_staging",
        "_tags",
        "_unsettled",
        "attaching",
        "windows",
    )

    def __init__(
        self,
        answers: Answers,
        unsettled: Unsettled,
        parking: Parking,
        owner: Owner,
        shared: SharedWindows,
        tags: Tags,
        windows: Windows,
        staging: Staging | None,
    ) -> None:
        self._answers = answers
        self._client = answers.client
        self._unsettled = unsettled
        self._parking = parking
        self._owner = owner
        self._shared = shared
        self._tags = tags
        self._staging = staging
        self.windows = windows
        self.attaching = False
        self._living: dict[str, Consumer] = {}
        # Cancelled, for what reason, and still with deliveries that are not settled.
        self._leaving: list[tuple[Consumer, Reason]] = []

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
        kept = CONSUMER_OCTETS + (0 if filter is None else filter.octets)
        if not client.account.take(kept):
            return TOO_MUCH
        stream = isinstance(command, spec.StreamConsume)
        outlet = Consumer(
            self._answers,
            self._unsettled,
            self._parking,
            self.windows,
            self._shared,
            self._tags,
            self._staging,
            tag=command.consumer_tag or "",
            no_ack=stream or (isinstance(command, spec.FileConsume) and command.no_ack),
        )
        return self._begin(outlet, command, filter, kept, no_local)

    def _begin(
        self,
        outlet: Consumer,
        command: spec.FileConsume | spec.StreamConsume,
        filter: Filter | None,
        kept: int,
        no_local: NoLocal | None,
    ) -> Refusal | None:
        client = self._client
        options = SubscribeOptions(
            exclusive=command.exclusive,
            settled=self._staging is None,
            filter=filter,
        )
        bridged = client.host.subscribing.subscribe(
            command.queue or "", outlet, self._owner, options
        )
        if isinstance(bridged, Refusal):
            client.account.give(kept)
            return bridged
        outlet.kept = kept
        outlet.no_local = no_local
        outlet.bridged = bridged
        outlet.attaching = self.attaching = bridged.attaching
        self._living[outlet.tag] = outlet
        self._taken().add(outlet.tag)
        client.on_link(opened=True)
        client.record_link(bridged.number, node=bridged.queue.node, flags=0)
        outlet.begin()
        return None

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
        found = self._living.pop(tag, None)
        if found is None:
            return Refusal(Condition.NOT_FOUND, f"there is no consumer {tag!r}")
        self._taken().discard(tag)
        found.cancel()
        if self._staging is not None:
            self._staging.release(found)
        self._detach(found, Reason.CANCELLED)
        return None

    def _taken(self) -> set[str]:
        """The tags of its class, of all sessions of the connection."""
        shared = self._shared
        return shared.stream_tags if self._staging is None else shared.file_tags

    def _detach(self, consumer: Consumer, reason: Reason) -> None:
        """It is over once what was sent, which stays with the session, is settled."""
        if consumer.unsettled():
            self._leaving.append((consumer, reason))
            return
        self._client.on_link(opened=False)
        self._client.record_link_end(consumer.number(), reason)
        consumer.bridged = None  # which holds it

    def qos(self, command: Command) -> bool:
        """file.qos or stream.qos; whether it is for all sessions of the connection."""
        assert isinstance(command, spec.FileQos | spec.StreamQos)
        rate = command.consume_rate if isinstance(command, spec.StreamQos) else 0
        window = self.windows.shared if command.global_ else self.windows.own
        window.set(command.prefetch_size or 0, command.prefetch_count or 0, rate or 0)
        self.resume()
        return command.global_

    def review(self, permissions: Permissions) -> Refusal | None:
        """Why one of them may not go on, by other access rules."""
        for consumer in self._living.values():
            refusal = permissions.review(consumer.queue_name(), acquire=True)
            if refusal is not None:
                return refusal
        return None

    def pause(self) -> None:
        """The session has no connection: nothing is sent."""
        WORK.units += SUBSCRIPTION * len(self._living)
        for consumer in self._living.values():
            consumer.pause()

    def go_on(self) -> None:
        """It has one again."""
        WORK.units += SUBSCRIPTION * len(self._living)
        for consumer in list(self._living.values()):
            consumer.go_on()

    def move(self, client: Client, shared: SharedWindows) -> None:
        """The session has another connection, or none."""
        all_of_them = [*self._living.values(), *[consumer for consumer, _ in self._leaving]]
        for consumer in all_of_them:
            consumer.move(client, shared)
        self._client.links -= len(all_of_them)
        client.links += len(all_of_them)
        self._client = client
        self._taken().difference_update(self._living)
        self._shared = shared
        self._taken().update(self._living)
        self.windows.move(shared.streams if self._staging is None else shared.files)

    def resume(self) -> None:
        """There is room again."""
        self.windows.due = False
        WORK.units += SUBSCRIPTION * len(self._living)
        for consumer in self._living.values():
            consumer.resume()

    def on_settled(self) -> None:
        """Deliveries were settled: there may be room, and cancelled consumers may be over."""
        self.resume()
        leaving = self._leaving
        if leaving:
            self._leaving = []
            for consumer, reason in leaving:
                self._detach(consumer, reason)

    def cancel_all(self, reason: Reason) -> None:
        """The session is over; its deliveries are settled next."""
        living = self._living
        self._living = {}
        self._taken().difference_update(living)
        WORK.units += LINK * len(living)
        for consumer in living.values():
            consumer.cancel()
            self._leaving.append((consumer, reason))


def _filter(arguments: FieldTable, no_local: NoLocal | None) -> Filter | Refusal | None:
    """What a consumer wants to see; `None`: everything."""
    return filter_of(arguments, no_local) if arguments else together(None, no_local)
