"""What a session publishes of the classes file and stream, and what comes back of it.

What has mandatory or immediate set and finds no queue, or no consumer, is returned, and has been
published for all that its completion says. Without them it is dropped, and counted.
Source: 0-10 XML, stream.publish and stream.return; file.publish and file.return.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.events import CommandReceived
from gateway.amqp_0_10.types import Command
from gateway.audit.schema import Reason
from gateway.errors import DecodeError
from gateway.faces.access.publish_access import reason_of
from gateway.faces.client import Client
from gateway.faces.server_0_10.answers import Answers
from gateway.faces.server_0_10.contents.arrivals import (
    Incoming,
    of_stream,
    record_refused_stream,
)
from gateway.faces.server_0_10.contents.inbound import Inbound
from gateway.faces.server_0_10.transfers import Transfers
from gateway.message import Condition, Refusal
from gateway.translate.facts import undecodable

NO_ROUTE: Final = int(spec.StreamReturnCode.NO_ROUTE)
NO_CONSUMERS: Final = int(spec.StreamReturnCode.NO_CONSUMERS)


@final
class ContentPublishing:
    """That of one session."""

    __slots__ = ("_answers", "_client", "_inbound", "_transfers")

    def __init__(self, answers: Answers, transfers: Transfers, inbound: Inbound) -> None:
        self._inbound = inbound
        self._answers = answers
        self._client = answers.client
        self._transfers = transfers

    def move(self, client: Client) -> None:
        """The session has another connection, or none."""
        self._client = client

    def stream(self, event: CommandReceived, publish: spec.StreamPublish) -> None:
        """stream.publish."""
        client = self._client
        try:
            incoming = of_stream(event, publish, client.settings.limits.depth_max)
        except DecodeError as error:
            self._refuse_stream(event, publish, undecodable(error), Reason.UNDECODABLE)
            return
        denied = self._denied(incoming)
        if denied is not None:
            self._refuse_stream(event, publish, denied, reason_of(denied))
            return
        self.publish(event.command_id, publish, incoming)

    def file(self, command_id: int, publish: spec.FilePublish) -> Refusal | None:
        """file.publish; a file that is not published stays staged."""
        found = self._inbound.incoming(publish)
        if isinstance(found, Refusal):
            return found
        staged, incoming = found
        denied = self._denied(incoming)
        if denied is not None:
            message = incoming.message(self._client, 0)
            self._client.host.publishing.refuse(message, reason_of(denied))
            self._client.publish_access.record_denied(message.id)
            return denied
        self.publish(command_id, publish, incoming)
        if not self._answers.over:
            self._inbound.published(staged)
        return None

    def _refuse_stream(
        self, event: CommandReceived, publish: spec.StreamPublish, why: Refusal, reason: Reason
    ) -> None:
        record_refused_stream(self._client, event, publish, reason)
        self._answers.fail(why, command_id=event.command_id, code=publish.CODE)

    def _denied(self, incoming: Incoming) -> Refusal | None:
        """Why the client may not publish it."""
        if self._client.access.permits.open:
            return None
        access = self._client.publish_access
        return access.refusal(incoming.exchange, incoming.routing_key)

    def publish(self, command_id: int, command: Command, incoming: Incoming) -> None:
        """Publish it, and tell what became of it."""
        message = incoming.message(self._client, self._transfers.link)
        why = self._transfers.publish_content(command_id, message, command.CODE)
        if why is not None:
            immediate = why.condition == Condition.IMMEDIATE
            self._send_back(incoming, NO_CONSUMERS if immediate else NO_ROUTE, why.description)

    def _send_back(self, incoming: Incoming, code: int, text: str) -> None:
        returned: Command
        if incoming.content.file:
            returned = spec.FileReturn(
                reply_code=code,
                reply_text=text,
                exchange=incoming.exchange,
                routing_key=incoming.routing_key,
            )
        else:
            returned = spec.StreamReturn(
                reply_code=code,
                reply_text=text,
                exchange=incoming.exchange,
                routing_key=incoming.routing_key,
            )
        self._answers.send_content(
            returned, incoming.content.struct, incoming.body, empty_body=incoming.empty_body
        )
