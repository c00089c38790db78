"""Files that a client stages: opened, sent from where the gateway says on, and published.

No file.stage says of which file it is: it is of the first that was opened and is not staged. What
has come is kept whatever becomes of the client, so that it, or another connection of its user, can
go on with it; who opens a file last goes on with it alone. What a transaction or a branch has
published stays staged until its commit.
Source: 0-10 XML, file.open, open-ok, stage and publish.
"""

from __future__ import annotations

from collections import deque
from typing import Final, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.events import CommandReceived
from gateway.bridge.staging.area import Claim, Staged, StagingArea
from gateway.errors import DecodeError
from gateway.faces.client import Client
from gateway.faces.server_0_10.answers import Answers
from gateway.faces.server_0_10.contents.arrivals import NO_PROPERTIES, Incoming
from gateway.faces.server_0_10.transactions import Transactions
from gateway.message import Condition, Refusal
from gateway.translate.contents.arriving import read_content
from gateway.translate.facts import undecodable

NOT_OPENED: Final = Refusal(Condition.ILLEGAL_STATE, "no file is opened")
NOT_WHOLE: Final = Refusal(Condition.PRECONDITION_FAILED, "not all of the file is staged")
TAKEN_OVER: Final = Refusal(Condition.RESOURCE_LOCKED, "the file was opened once more")
NO_ROOM: Final = Refusal(
    Condition.RESOURCE_LIMIT_EXCEEDED, "the gateway holds as much as it may, or as much of yours"
)
OTHER_SIZE: Final = Refusal(Condition.ILLEGAL_ARGUMENT, "the file has not its content-size")


@final
class Inbound:
    """Those of one session."""

    __slots__ = ("_answers", "_client", "_opened", "_transactions")

    def __init__(self, answers: Answers, transactions: Transactions) -> None:
        self._answers = answers
        self._transactions = transactions
        self._client = answers.client
        # What is opened and not staged, and which time that was.
        self._opened: deque[tuple[Staged, int]] = deque()

    def move(self, client: Client) -> None:
        """The session has another connection, or none."""
        self._client = client

    def open(self, command: spec.FileOpen) -> Refusal | None:
        """file.open: tell how much of it there is."""
        client = self._client
        identifier = command.identifier or ""
        size = command.content_size or 0
        if not identifier:
            return Refusal(Condition.ILLEGAL_ARGUMENT, "a file needs an identifier")
        limits = client.settings.limits
        if size > limits.message_size_max:
            text = f"a file of more than {limits.message_size_max} octets"
            return Refusal(Condition.RESOURCE_LIMIT_EXCEEDED, text)
        if len(self._opened) >= limits.links_max:
            return Refusal(Condition.RESOURCE_LIMIT_EXCEEDED, "too many files are opened")
        denied = client.publish_access.staging_refusal()
        if denied is not None:
            return denied
        staged = self._area().open(
            client.identity, identifier, size, client.peer.connection_id, client.bridge.now_ms
        )
        if isinstance(staged, Refusal):
            return staged
        self._opened.append((staged, staged.turn))
        self._answers.send(spec.FileOpenOk(staged_size=staged.octets))
        return None

    def part(self, header: bytes, octets: bytes) -> Refusal | None:
        """Some of the content of a file has come, and more will."""
        if not self._opened:
            return NOT_OPENED
        staged, turn = self._opened[0]
        return self._add(staged, turn, header, octets)

    def stage(self, event: CommandReceived) -> Refusal | None:
        """file.stage: all of it has come, or the rest of it."""
        if not self._opened:
            return NOT_OPENED
        staged, turn = self._opened.popleft()
        body = event.payload[event.body_at :]
        refusal = self._add(staged, turn, event.payload[: event.body_at], body)
        if refusal is None and not staged.whole():
            return OTHER_SIZE
        return refusal

    def _add(self, staged: Staged, turn: int, header: bytes, octets: bytes) -> Refusal | None:
        if staged.turn != turn:
            return TAKEN_OVER
        try:
            if not header:
                raise DecodeError(NO_PROPERTIES)
            read_content(header, self._client.settings.limits.depth_max, file=True)
        except DecodeError as error:
            return undecodable(error)
        if staged.octets + len(octets) > staged.size:
            return OTHER_SIZE
        client = self._client
        if client.bridge.pressure.full(client.peer.connection_id):
            return NO_ROOM
        area, now_ms = self._area(), client.bridge.now_ms
        area.describe(staged, header, now_ms)
        area.append(staged, octets, now_ms)
        return None

    def incoming(self, publish: spec.FilePublish) -> tuple[Staged, Incoming] | Refusal:
        """The file that file.publish names, if all of it is there."""
        staged = self._area().find(self._client.identity, publish.identifier or "")
        if staged is None or staged.claimed:
            return Refusal(Condition.NOT_FOUND, f"no file {publish.identifier!r} is staged")
        if not staged.whole():
            return NOT_WHOLE
        content = read_content(staged.header, self._client.settings.limits.depth_max, file=True)
        incoming = Incoming(
            content,
            staged.content(),
            publish.exchange or "",
            publish.routing_key or "",
            mandatory=publish.mandatory,
            immediate=publish.immediate,
            empty_body=staged.size == 0,
        )
        return staged, incoming

    def published(self, staged: Staged) -> None:
        """It is a message now, or will be with the commit."""
        transaction = self._transactions.current
        if transaction is None:
            self._area().remove(staged)
        else:
            transaction.claims.append(Claim(self._area(), staged))

    def _area(self) -> StagingArea:
        return self._client.host.staging
