"""`migrate survey`: asks a 0-10 broker what is there, by QMF and by the queries of 0-10.

One connection, a queue of its own for the answers, nothing else is made, taken or changed. Where
there is no management by QMF, nodes are asked for by the names that the caller knows.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeVar, final

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from gateway.amqp_0_10 import _spec as spec
from gateway.clients.client import ClientError, Delivered, Login, Subscription
from gateway.clients.client_0_10 import Client010
from gateway.clients.codec_0_10 import from_table
from gateway.clients.conversation import Connector, Where
from gateway.clients.letter import Letter, Typed, infer, plain
from gateway.config.topology import PREDECLARED
from gateway.migration import document, qmf

REQUESTS: Final = "qmf.default.direct"
AGENT: Final = "broker"  # the key by which a broker's own agent is asked
ANSWERS: Final = "amq.direct"
APP_ID: Final = "qmf2"
QUEUE: Final = "amqp-gateway-survey"
PARTIAL: Final = "partial"  # more of the same answer follows

T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True)
class Wanted:
    """Whom to ask, and what else than it tells by itself.

    Attributes:
        queues, exchanges: names to ask for where it has no QMF.
    """

    where: Where
    login: Login
    timeout_s: float
    queues: tuple[str, ...] = ()
    exchanges: tuple[str, ...] = ()


async def survey(connector: Connector, wanted: Wanted) -> document.Survey:
    """What is there, without findings. Raises ClientError."""
    where = wanted.where
    client = await connector.connect_0_10(where, wanted.login, wanted.timeout_s)
    address = f"{where.host}:{where.port}"
    asker = Asker(connector, client, wanted.timeout_s)
    try:
        await asker.begin()
        objects: qmf.Objects = {}
        for name in qmf.CLASSES:
            objects[name] = await asker.objects(name)
        return qmf.survey_of(objects, address, asker.queue)
    except NoManagementError as error:
        why = str(error)
    # That may have ended the session, as where access rules forbid to ask.
    client = await connector.connect_0_10(where, wanted.login, wanted.timeout_s)
    return await _by_names(Asker(connector, client, wanted.timeout_s), wanted, address, why)


class NoManagementError(ClientError):
    """It does not answer requests of QMF, and says why."""


@final
class Asker:
    """One connection's questions, one after the other.

    Attributes:
        queue: where the answers come.
    """

    def __init__(self, connector: Connector, client: Client010, timeout_s: float) -> None:
        self.queue = f"{QUEUE}-{uuid.uuid4()}"
        self._connector = connector
        self._client = client
        self._timeout_s = timeout_s
        self._parts: list[Letter] = []
        self._whole: Deferred[None] = Deferred()

    async def begin(self) -> None:
        """Have a queue for the answers. Raises NoManagementError: nobody would answer."""
        found = await self.query(spec.ExchangeQuery(name=REQUESTS), REQUESTS)
        if not isinstance(found, spec.ExchangeQueryResult) or found.not_found:
            raise NoManagementError(f"it has no management by QMF: no exchange {REQUESTS}")
        client = self._client
        client.issue(spec.QueueDeclare(queue=self.queue, exclusive=True, auto_delete=True))
        await self._answered(client.bind(self.queue, ANSWERS, self.queue), "a queue for answers")
        subscribed = client.receive(Subscription(self.queue), self._take)
        await self._answered(subscribed, "the answers of QMF")

    async def objects(self, name: str) -> list[qmf.Values]:
        """All objects of a class."""
        self._parts = []
        self._whole = Deferred()
        request = Letter(
            body=infer(qmf.query(name)),
            app_id=APP_ID,
            reply_to=f"{ANSWERS}/{self.queue}",
            correlation_id=name,
            properties={
                "method": Typed("string", "request"),
                "qmf.opcode": Typed("string", "_query_request"),
            },
        )
        what = f"objects of class {name} by QMF"
        # A qpidd tells of an accept when it is next asked to, so that only a rejection is heard.
        sent = self._client.send(f"{REQUESTS}/{AGENT}", request)
        sent.addCallbacks(self._on_outcome, self._on_failure)
        try:
            await self._answered(self._whole, what)
        except NoManagementError:
            raise
        except ClientError as error:
            raise NoManagementError(f"its QMF does not answer: {error}") from None
        return [each for part in self._parts for each in _objects(part, what)]

    async def query(self, command: spec.ExchangeQuery | spec.QueueQuery, name: str) -> object:
        """The answer to a query of 0-10."""
        return await self._answered(self._client.query(command), f"a query of {name}")

    def _take(self, delivered: Delivered) -> None:
        delivered.settle("accept")
        self._parts.append(delivered.letter)
        if PARTIAL not in delivered.letter.properties and not self._whole.called:
            self._whole.callback(None)

    def _on_outcome(self, outcome: str) -> None:
        if outcome != "accepted" and not self._whole.called:
            self._whole.errback(NoManagementError(f"its QMF takes no request: {outcome}"))

    def _on_failure(self, failure: Failure) -> None:
        if not self._whole.called:
            self._whole.errback(failure)

    async def _answered(self, answer: Deferred[T], what: str) -> T:
        return await self._connector.answered(answer, what, self._timeout_s)


def _objects(part: Letter, what: str) -> Iterable[qmf.Values]:
    """Those in one answer. Raises NoManagementError: it is none."""
    body = plain(part.body)
    opcode = part.properties.get("qmf.opcode", Typed("void", None)).value
    if opcode == "_exception" and isinstance(body, dict):
        why = (body.get("_values") or {}).get("error_text") or "without a reason"
        raise NoManagementError(f"its QMF refuses {what}: {why}")
    if opcode != "_query_response" or not isinstance(body, list):
        raise NoManagementError(f"its QMF answers a request for {what} by {opcode}")
    return body


# Without QMF.


async def _by_names(asker: Asker, wanted: Wanted, address: str, why: str) -> document.Survey:
    exchanges = [await _exchange(asker, each) for each in (*PREDECLARED, *wanted.exchanges)]
    queues = [await _queue(asker, each) for each in wanted.queues]
    told = ["bindings, subscriptions, clients and federation are not told by queries of 0-10"]
    missing = [*wanted.exchanges, *wanted.queues]
    found = [each.name for each in (*exchanges, *queues) if each is not None]
    return document.Survey(
        broker=document.Broker(address=address, asked=["0-10"]),
        not_asked=[why, *told, *[f"{each}: not found" for each in missing if each not in found]],
        exchanges=[each for each in exchanges if each is not None],
        queues=[each for each in queues if each is not None],
    )


async def _exchange(asker: Asker, name: str) -> document.Exchange | None:
    found = await asker.query(spec.ExchangeQuery(name=name), name)
    if not isinstance(found, spec.ExchangeQueryResult) or found.not_found:
        return None
    return document.Exchange(
        name=name,
        type=found.type or "",
        durable=bool(found.durable),
        arguments={key: plain(value) for key, value in from_table(found.arguments or []).items()},
    )


async def _queue(asker: Asker, name: str) -> document.Queue | None:
    found = await asker.query(spec.QueueQuery(queue=name), name)
    if not isinstance(found, spec.QueueQueryResult) or not found.queue:
        return None
    return document.Queue(
        name=name,
        durable=bool(found.durable),
        auto_delete=bool(found.auto_delete),
        exclusive=bool(found.exclusive),
        alternate_exchange=found.alternate_exchange or "",
        arguments={key: plain(value) for key, value in from_table(found.arguments or []).items()},
        messages=found.message_count or 0,
    )
