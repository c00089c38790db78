"""Tokens for the nodes of an upstream: claims-based security over its node `$cbs`.

A pair of links, requests and replies, comes first on each connection. Each address that a link is
to have is granted by a token put to that node; until the answer the link waits. Tokens are put anew
before they expire; the peer forgets them with the connection. Where tokens come from is the
caller's affair. Source: AMQP Claims-based Security 1.0, as Azure Service Bus documents what it does
of it.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_1_0 import _spec, sections, types
from gateway.amqp_1_0._spec import DeliveryState, Error, Properties, Rejected
from gateway.amqp_1_0._spec_conditions import NOT_FOUND, UNAUTHORIZED_ACCESS
from gateway.amqp_1_0.events import AttachReceived, DeliveryReceived
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.session import Session
from gateway.amqp_1_0.transfers.outgoing import Outgoing
from gateway.errors import DecodeError, RemoteProtocolError
from gateway.faces.dialled.settings import CbsToken, Tokens
from gateway.faces.upstream_1_0.context import UpstreamContext
from gateway.faces.upstream_1_0.errors import text_of
from gateway.faces.upstream_1_0.links import Links
from gateway.faces.upstream_1_0.slot import LinkSlot
from gateway.wire.buffers import Writer
from gateway.wire.tagged import Tagged

NODE: Final = "$cbs"
CREDIT: Final = 100
DESCRIPTION_MAX: Final = 500
TAKEN: Final = (200, 202)
# What the other status codes mean for whoever wants a link; those that are not listed pass.
REFUSALS: Final = {401: UNAUTHORIZED_ACCESS, 403: UNAUTHORIZED_ACCESS, 404: NOT_FOUND}
RENEWAL_MS: Final = 1_800_000  # where a token does not say when it expires
RENEWAL_MIN_MS: Final = 5_000


@final
class Claim:
    """The claim to one address: its token. Implements `Sleeper`.

    Attributes:
        waiting: links that are to be attached when it is held.
        asked: the message-id of the request that has no answer; "" is none.
        held: the peer has taken a token, which has not expired.
        expires_ms: when the token that was put last does; 0: unknown.
    """

    __slots__ = ("_cbs", "address", "asked", "expires_ms", "held", "waiting")

    def __init__(self, cbs: Cbs, address: str) -> None:
        self._cbs = cbs
        self.address = address
        self.waiting: list[LinkSlot] = []
        self.asked = ""
        self.held = False
        self.expires_ms = 0

    def handle_deadline(self, now_ms: int) -> None:
        """It is to be renewed, or is without an answer."""
        self._cbs.on_claim_deadline(self)


@final
class Cbs:
    """Implements `slot.Gate`: a link is attached when its address is granted.

    It is the gate of `links`, those of one connection, and has two of them.
    """

    def __init__(self, upstream: UpstreamContext, links: Links, tokens: Tokens) -> None:
        self.upstream = upstream
        self._links = links
        self._tokens = tokens
        self._requests = CbsLink(self, _spec.SENDER)
        self._replies = CbsLink(self, _spec.RECEIVER)
        self._hostname = ""
        self._claims: dict[str, Claim] = {}
        self._asked: dict[str, Claim] = {}  # by message-id
        self._due: dict[Claim, None] = {}
        self._number = 0
        links.gate = self
        for link in (self._requests, self._replies):
            link.slot = links.add(link, stays=True)

    def open(self, hostname: str) -> None:
        """A connection is open; addresses are those of `hostname`."""
        self._hostname = hostname

    def lose(self) -> None:
        """It is gone, and every token with it; the links that waited are placed anew."""
        for claim in self._claims.values():
            self.upstream.unwake(claim)
        self._claims = {}
        self._asked = {}
        self._due = {}

    def admits(self, slot: LinkSlot) -> bool:
        """Whether the link's address is granted; if not, a token is put, and the link waits."""
        address = slot.address
        if not address:
            return True
        claim = self._claims.get(address)
        if claim is None:
            if len(self._claims) >= self.upstream.settings.limits.links_max:
                self._sweep()
            claim = Claim(self, address)
            self._claims[address] = claim
        if claim.held:
            return True
        if slot not in claim.waiting:
            claim.waiting.append(slot)
        if not claim.asked:
            self._due[claim] = None
            self.pump()
        return False

    def _sweep(self) -> None:
        """Forget the tokens of addresses that no link has."""
        used = {slot.address for slot in self._links.slots}
        for claim in [each for each in self._claims.values() if each.address not in used]:
            self._forget(claim)

    def _forget(self, claim: Claim) -> None:
        self._claims.pop(claim.address, None)
        self._asked.pop(claim.asked, None)
        self._due.pop(claim, None)
        self.upstream.unwake(claim)

    # Requests.

    def pump(self) -> None:
        """Put what is due, as far as the links are attached."""
        while self._due and self._replies.link is not None:
            link = self._requests.link
            if link is None or link.credit <= 0 or link.session.blocked:
                return
            claim = next(iter(self._due))
            del self._due[claim]
            self._put(claim, link)

    def _put(self, claim: Claim, link: Link) -> None:
        upstream = self.upstream
        now_ms = upstream.bridge.now_ms
        audience = f"sb://{self._hostname}/{claim.address}"
        token = self._tokens(audience, now_ms)
        if token.problem:
            self._refuse(claim, UNAUTHORIZED_ACCESS, token.problem)
            return
        self._number += 1
        claim.asked = str(self._number)
        claim.expires_ms = token.expires_ms
        self._asked[claim.asked] = claim
        upstream.wake(claim, now_ms + upstream.settings.attach_timeout_ms)
        payload = request(claim.asked, self._replies.name, audience, token)
        link.send_delivery(
            self._number.to_bytes(8, "big"), b"", payload, settled=False, context=claim
        )
        upstream.touch()

    # Answers.

    def on_answer(self, payload: bytes) -> None:
        """The peer has decided about one token."""
        try:
            to, code, description = answer(payload)
        except DecodeError:
            return  # the request will be without an answer
        claim = self._asked.pop(to, None)
        if claim is None:
            return
        claim.asked = ""
        if code in TAKEN:
            self._hold(claim)
            return
        text = f"{code} {description}".rstrip()
        condition = REFUSALS.get(code)
        if condition is None:
            self._fail(claim, text)
        else:
            self._refuse(claim, condition, text)

    def on_rejected(self, claim: Claim, error: Error | None) -> None:
        """The peer does not take the request itself."""
        if self._asked.pop(claim.asked, None) is not None:
            claim.asked = ""
            self._fail(claim, text_of(error))

    def _hold(self, claim: Claim) -> None:
        upstream = self.upstream
        now_ms = upstream.bridge.now_ms
        claim.held = True
        wait_ms = RENEWAL_MS
        if claim.expires_ms:
            wait_ms = max((claim.expires_ms - now_ms) * 3 // 4, RENEWAL_MIN_MS)
        upstream.wake(claim, now_ms + wait_ms)
        waiting, claim.waiting = claim.waiting, []
        self._links.admit(waiting)
        upstream.touch()

    def _refuse(self, claim: Claim, condition: str, text: str) -> None:
        """No token for this address: its links hear it as a refusal of the node."""
        problem = self._problem(claim, text)
        if self._goes_on(claim):
            return
        error = Error(condition=condition, description=problem)
        for slot in self._dismiss(claim):
            slot.user.on_detach(error, True)

    def _fail(self, claim: Claim, text: str) -> None:
        """No token for now: its links try again."""
        problem = self._problem(claim, text)
        if self._goes_on(claim):
            return
        for slot in self._dismiss(claim):
            slot.user.on_failed(RemoteProtocolError(problem))

    def _problem(self, claim: Claim, text: str) -> str:
        problem = f"token for {claim.address}: {text}"
        self.upstream.health.note_problem(problem)
        return problem

    def _goes_on(self, claim: Claim) -> bool:
        """A renewal is tried again while the token before it may be good."""
        if claim.held:
            upstream = self.upstream
            upstream.wake(claim, upstream.bridge.now_ms + RENEWAL_MIN_MS)
        return claim.held

    def _dismiss(self, claim: Claim) -> list[LinkSlot]:
        self._forget(claim)
        slots = self._links.slots
        return [slot for slot in claim.waiting if slot in slots]

    def on_claim_deadline(self, claim: Claim) -> None:
        """To be renewed, if it is of use; or the peer does not answer."""
        if claim.asked:
            del self._asked[claim.asked]
            claim.asked = ""
            self._fail(claim, "no answer to put-token")
        elif claim.address not in [slot.address for slot in self._links.slots]:
            self._forget(claim)
        else:
            self._due[claim] = None
            self.upstream.wake(claim, self.upstream.bridge.now_ms + RENEWAL_MIN_MS)
            self.pump()


@final
class CbsLink:
    """One of the two links. Implements `UpstreamLink`.

    Attributes:
        link: while it is attached.
    """

    def __init__(self, cbs: Cbs, role: bool) -> None:
        self._cbs = cbs
        self._role = role
        self.name = cbs.upstream.link_name(NODE)
        self.link: Link | None = None
        self.slot: LinkSlot | None = None

    def attach(self, session: Session) -> Link:
        """To or from the node; replies are addressed to the target's name."""
        link = session.attach(self.name, self._role)
        source, target = self.name, NODE
        if self._role == _spec.RECEIVER:
            source, target = target, source
        link.send_attach(source=_spec.Source(address=source), target=_spec.Target(address=target))
        return link

    def on_attach(self, event: AttachReceived) -> None:
        """The peer has the node."""
        self.link = event.link
        self._give_credit(event.link)
        self._cbs.pump()

    def _give_credit(self, link: Link) -> None:
        if self._role == _spec.RECEIVER and link.credit * 2 <= CREDIT:
            link.send_flow(credit=CREDIT)

    def on_flow(self) -> None:
        """There is credit."""
        self._cbs.pump()

    def on_room(self) -> None:
        """There is room; or an answer was given up, and its credit with it."""
        if self.link is not None:
            self._give_credit(self.link)
        self._cbs.pump()

    def on_delivery(self, event: DeliveryReceived) -> None:
        """An answer."""
        if not event.settled:
            event.link.session.settle_incoming(event.delivery_id, _spec.Accepted())
        self._give_credit(event.link)
        self._cbs.on_answer(event.payload)

    def on_disposition(
        self, delivery: Outgoing, state: DeliveryState | None, settled: bool
    ) -> None:
        """A request has come, or is not taken."""
        if not settled and state is not None:
            delivery.link.session.settle_outgoing(delivery, state)
        claim = delivery.context
        if isinstance(state, Rejected) and isinstance(claim, Claim):
            self._cbs.on_rejected(claim, state.error)

    def on_settled(self, delivery_ids: set[int], state: DeliveryState | None) -> None:
        """Answers are read at once."""

    def on_detach(self, error: Error | None, closed: bool) -> None:
        """Attached again after a while; tokens that were taken are not concerned."""
        self._again()

    def on_failed(self, error: RemoteProtocolError) -> None:
        """Attached again after a while, too."""
        self._again()

    def on_lost(self) -> None:
        """Gone with its session or connection."""
        self.link = None

    def _again(self) -> None:
        self.link = None
        if self.slot is not None:
            self.slot.retry()


def request(number: str, reply_to: str, audience: str, token: CbsToken) -> bytes:
    """The message that puts a token."""
    writer = Writer()
    Properties(message_id=Tagged(types.STRING, number), to=NODE, reply_to=reply_to).encode(writer)
    values = {"operation": "put-token", "type": token.kind, "name": audience}
    pairs = {name: Tagged(types.STRING, value) for name, value in values.items()}
    if token.expires_ms:
        pairs["expiration"] = Tagged(types.TIMESTAMP, token.expires_ms)
    sections.write_application_properties(writer, pairs)
    sections.write_value(writer, Tagged(types.STRING, token.text))
    return writer.getvalue()


def answer(payload: bytes) -> tuple[str, int, str]:
    """What a reply says: to which request, the status code, its description.

    Raises:
        DecodeError: it is none.
    """
    found = sections.scan(payload)
    properties = sections.properties(payload, found)
    to = None if properties is None else properties.correlation_id
    values = sections.application_properties(payload, found)
    code = values.get("status-code")
    said = values.get("status-description")
    if to is None or code is None or not isinstance(code.value, int):
        raise DecodeError("an answer without correlation-id or status-code")
    description = "" if said is None else str(said.value)[:DESCRIPTION_MAX]
    return str(to.value), code.value, description
