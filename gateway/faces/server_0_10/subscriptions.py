"""What a 0-10 session is subscribed to, by destination, and the commands about that.

Source: 0-10 XML, message.subscribe, cancel, set-flow-mode, flow, flush, stop. A value outside of
its domain is an illegal-argument, as class execution says.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.types import Command, FieldTable
from gateway.audit.schema import Flag as AuditFlag
from gateway.bridge.exchanges.filters import NoLocal, binding_selector, together
from gateway.bridge.seams import Filter, Owner, SubscribeOptions
from gateway.faces.features import Feature
from gateway.faces.placed import JMS_SELECTOR, SELECTOR, is_remote_queue
from gateway.faces.server_0_10.answers import Answers
from gateway.faces.server_0_10.outlets import SessionOutlets
from gateway.faces.server_0_10.parking import Parking
from gateway.faces.server_0_10.subscription import ServerSubscription
from gateway.faces.server_0_10.unsettled import Unsettled
from gateway.message import Condition, Encoding, Refusal
from gateway.translate.view import neutral_0_10
from gateway.wire.accounts import weigh
from gateway.wire.work import SUBSCRIPTION, WORK

NO_LOCAL: Final = "no-local"
SELECTOR_ARGUMENTS: Final = frozenset((SELECTOR, JMS_SELECTOR))
SUBSCRIPTION_OCTETS: Final = 4096  # what a subscription takes, apart from its selector
FILTER_ARGUMENTS: Final = frozenset((*SELECTOR_ARGUMENTS, NO_LOCAL))


class Beside(Protocol):
    """Who has other deliveries of the session."""

    def on_settled(self) -> None:
        """Some were settled."""


@final
class Subscriptions(SessionOutlets[ServerSubscription]):
    """Those of one session, by destination.

    Attributes:
        transactional: the session has selected transactions.
        beside: who else is told that deliveries were settled.
    """

    __slots__ = ("beside", "transactional")

    def __init__(
        self, answers: Answers, unsettled: Unsettled, parking: Parking, owner: Owner
    ) -> None:
        super().__init__(answers, unsettled, parking, owner)
        self.transactional = False
        self.beside: Beside | None = None

    def carry_out(self, command: Command) -> Refusal | None:
        """Carry out one command of class message that is about a subscription, flush excepted."""
        if isinstance(command, spec.MessageSubscribe):
            return self._subscribe(command)
        if isinstance(command, spec.MessageFlow):
            return self._flow(command)
        if isinstance(command, spec.MessageSetFlowMode):
            return self._set_flow_mode(command)
        if isinstance(command, spec.MessageStop):
            return self._stop(command)
        if isinstance(command, spec.MessageCancel):
            return self._cancel(command)
        # message.resume is the only one left.
        self._client.uses.refuse(Feature.RESUME)
        return Refusal(Condition.NOT_IMPLEMENTED, f"{type(command).__name__} is not offered here")

    def flush(self, command: spec.MessageFlush, command_id: int) -> Refusal | None:
        """message.flush: the command is completed when the flush is done."""
        found = self._find(command.destination)
        if isinstance(found, Refusal):
            return found
        found.flush(command_id)
        return None

    def unaccepting(self) -> bool:
        """Whether there is a subscription whose deliveries are settled as they are sent."""
        return any(not each.accept_explicit for each in self._living.values())

    def on_completed(self) -> None:
        """The client has completed transfers: window credit comes back, and there may be room."""
        WORK.units += SUBSCRIPTION * len(self._living)
        for subscription in self._living.values():
            if subscription.credit.due:
                subscription.grant()
            else:
                subscription.resume()

    def on_settled(self) -> None:
        """Deliveries were settled, of whoever has any."""
        super().on_settled()
        if self.beside is not None:
            self.beside.on_settled()

    def _find(self, destination: str | None) -> ServerSubscription | Refusal:
        found = self._living.get(destination or "")
        if found is None:
            return _not_found(destination)
        return found

    def _subscribe(self, command: spec.MessageSubscribe) -> Refusal | None:
        refusal = self._check(command)
        if refusal is not None:
            return refusal
        client = self._client
        arguments = command.arguments or []
        remote = is_remote_queue(client.host, command.queue or "")
        own = is_without_own(arguments) and not remote
        no_local = NoLocal(client.peer.connection_id) if own else None
        filter = None if remote else filter_of(arguments, no_local)
        if isinstance(filter, Refusal):
            return filter
        asked = selector_of(arguments) if remote else ""
        kept = SUBSCRIPTION_OCTETS + weigh(asked)
        if filter is not None:
            kept += filter.octets
        explicit = command.accept_mode != spec.AcceptMode.NONE
        acquire = command.acquire_mode != spec.AcquireMode.NOT_ACQUIRED
        destination = command.destination or ""
        outlet = ServerSubscription(
            self._answers,
            self._unsettled,
            self._parking,
            destination=destination,
            accept_explicit=explicit,
            acquire=acquire,
            exclusive=command.exclusive,
            kept=kept,
            no_local=no_local,
        )
        options = SubscribeOptions(
            acquire=acquire,
            exclusive=command.exclusive,
            settled=not explicit,
            name=destination,
            filter=filter,
            selector=asked,
            target=Encoding.AMQP_0_10,
        )
        flags = 0 if acquire else AuditFlag.COPY
        return self._begin(destination, outlet, command.queue or "", options, flags=flags)

    def _check(self, command: spec.MessageSubscribe) -> Refusal | None:
        settings = self._client.settings
        arguments = command.arguments or []
        destination = command.destination or ""
        if not command.queue:
            return Refusal(Condition.ILLEGAL_ARGUMENT, "a subscription needs a queue")
        if destination in self._living:
            return Refusal(Condition.NOT_ALLOWED, f"destination {destination!r} is in use")
        if len(self._living) >= settings.limits.links_max:
            return Refusal(Condition.RESOURCE_LIMIT_EXCEEDED, "too many subscriptions")
        if (command.accept_mode or 0) > 1 or (command.acquire_mode or 0) > 1:
            return Refusal(Condition.ILLEGAL_ARGUMENT, "no such accept-mode or acquire-mode")
        if settings.strict and command.accept_mode == spec.AcceptMode.NONE and self.transactional:
            return Refusal(Condition.NOT_ALLOWED, "accept-mode none in a transactional session")
        remote = is_remote_queue(self._client.host, command.queue or "")
        if remote and is_without_own(arguments):
            # A consumer must never get what it excluded.
            self._client.uses.refuse(Feature.NO_LOCAL)
            return Refusal(Condition.NOT_IMPLEMENTED, "no-local is not offered here")
        ignored = [key for key, _ in arguments if key not in FILTER_ARGUMENTS]
        self._client.uses.ignore(ignored)
        return None

    def _cancel(self, command: spec.MessageCancel) -> Refusal | None:
        if self._end(command.destination or "") is None:
            return _not_found(command.destination)
        return None

    def _set_flow_mode(self, command: spec.MessageSetFlowMode) -> Refusal | None:
        found = self._find(command.destination)
        if isinstance(found, Refusal):
            return found
        mode = command.flow_mode or spec.FlowMode.CREDIT
        if mode > spec.FlowMode.WINDOW:
            return Refusal(Condition.ILLEGAL_ARGUMENT, "flow-mode is credit or window")
        found.credit.set_window(mode == spec.FlowMode.WINDOW)
        return None

    def _flow(self, command: spec.MessageFlow) -> Refusal | None:
        found = self._find(command.destination)
        if isinstance(found, Refusal):
            return found
        unit = command.unit or spec.CreditUnit.MESSAGE
        if unit > spec.CreditUnit.BYTE:
            return Refusal(Condition.ILLEGAL_ARGUMENT, "unit is message or byte")
        found.flow(unit == spec.CreditUnit.BYTE, command.value)
        return None

    def _stop(self, command: spec.MessageStop) -> Refusal | None:
        found = self._find(command.destination)
        if isinstance(found, Refusal):
            return found
        found.stop()
        return None


def _not_found(destination: str | None) -> Refusal:
    return Refusal(Condition.NOT_FOUND, f"there is no subscription {destination!r}")


def is_without_own(arguments: FieldTable) -> bool:
    """Whether a subscription wants nothing that its own connection published."""
    return any([key == NO_LOCAL and bool(tagged.value) for key, tagged in arguments])


def filter_of(arguments: FieldTable, no_local: NoLocal | None) -> Filter | Refusal | None:
    """What a subscription to a local queue wants to see; `None`: everything."""
    given = {key: neutral_0_10(tagged) for key, tagged in arguments if key in SELECTOR_ARGUMENTS}
    selector = binding_selector(given)
    if isinstance(selector, Refusal):
        return selector
    return together(selector, no_local)


def selector_of(arguments: FieldTable) -> str:
    """The selector that a subscription wants; "" for none."""
    for key, tagged in arguments:
        if key in SELECTOR_ARGUMENTS and tagged.value:
            return str(tagged.value)
    return ""
