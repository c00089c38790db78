"""What sessions say of XA to a gateway in memory, in the verbs of `xa_model.Model`."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from support.qpidd_lines import result_in_words, xid
from support.talk_0_10 import Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.structs import Header
from gateway.amqp_0_10.types import Command, Struct

COMMANDS: dict[str, Callable[..., Command]] = {
    "select": spec.DtxSelect,
    "start": spec.DtxStart,
    "end": spec.DtxEnd,
    "prepare": spec.DtxPrepare,
    "commit": spec.DtxCommit,
    "rollback": spec.DtxRollback,
    "forget": spec.DtxForget,
    "recover": spec.DtxRecover,
    "get_timeout": spec.DtxGetTimeout,
    "set_timeout": spec.DtxSetTimeout,
}


class Came(NamedTuple):
    """A delivery: its number, and whether it was out before."""

    number: int
    body: str
    again: bool


KEPT, PASSING = spec.DeliveryMode.PERSISTENT, spec.DeliveryMode.NON_PERSISTENT


class Talk:
    """One session; what it hears is counted, as deliveries are called by their number."""

    def __init__(self, gateway: Gateway) -> None:
        self.client = gateway.session()
        self.commands = 0

    def hears(self) -> tuple[list[str], list[Came]]:
        """Answers in words, and deliveries."""
        answers: list[str] = []
        deliveries: list[Came] = []
        for each in self.client.hears():
            if isinstance(each, tuple) and len(each) == 3:
                header: Header = each[1]
                again = header[0] is not None and bool(header[0].redelivered)
                deliveries.append(Came(self.commands, each[2].decode(), again))
            self.commands += isinstance(each, tuple | Struct)
            answers += _in_words(each)
        return answers, deliveries


class Talks:
    """Sessions by name; who has ended, or was ended, has a new one with the next command."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.talks: dict[str, Talk] = {}
        self.subscriptions = 0

    def says(self, who: str, verb: str, name: str = "", seconds: int = 0, **flags: bool) -> str:
        """A command of class dtx; a status, a result, "ok", or the code of an exception."""
        fields: dict[str, object] = dict(flags)
        if name:
            fields["xid"] = xid(name)
        if verb == "set_timeout":
            fields["timeout"] = seconds
        return self._answer(who, COMMANDS[verb](**fields))

    def publishes(self, who: str, body: str, queue: str, *, kept: bool) -> str:
        """One message."""
        delivery = spec.DeliveryProperties(delivery_mode=KEPT if kept else PASSING)
        self._talk(who).client.publishes(body.encode(), key=queue, delivery=delivery)
        return self._answer(who, spec.ExecutionSync())

    def takes(self, who: str, queue: str) -> Came | None:
        """The next message, if there is one."""
        found = self._subscribed(who, queue, credit=1)
        return found[0] if found else None

    def settles(self, who: str, verb: str, number: int) -> str:
        """Accept or release a delivery."""
        ids = [(number, number)]
        if verb == "accept":
            return self._answer(who, spec.MessageAccept(transfers=ids))
        return self._answer(who, spec.MessageRelease(transfers=ids))

    def leaves(self, who: str) -> None:
        """Its connection is cut."""
        talk = self.talks.pop(who, None)
        if talk is not None:
            talk.client.loses_transport()
            self.gateway.world.turn()

    def browses(self, queue: str) -> list[str]:
        """All bodies that somebody who looks sees."""
        found = self._subscribed("observer", queue, credit=0xFFFFFFFF, looks=1)
        return [each.body for each in found]

    def _subscribed(self, who: str, queue: str, *, credit: int, looks: int = 0) -> list[Came]:
        """What comes at once to a subscription that is cancelled then."""
        self.subscriptions += 1
        destination = f"d{self.subscriptions}"
        talk = self._talk(who)
        talk.client.subscribes(queue, destination, credit=credit, acquire=looks, accept=looks)
        found = talk.hears()[1]
        talk.client.says(spec.MessageCancel(destination=destination))
        return found + talk.hears()[1]

    def _talk(self, who: str) -> Talk:
        if who not in self.talks:
            self.talks[who] = Talk(self.gateway)
        return self.talks[who]

    def _answer(self, who: str, command: Command) -> str:
        talk = self._talk(who)
        talk.client.says(command, sync=True)
        answers, deliveries = talk.hears()
        assert answers and not deliveries, f"{who} hears {answers}, {deliveries}"
        if any(answer.isdigit() for answer in answers):
            self.leaves(who)
        results = [answer for answer in answers if answer != "ok"]
        return results[0] if results else "ok"


def _in_words(event: object) -> list[str]:
    if isinstance(event, spec.GetTimeoutResult):
        return [f"timeout {event.timeout}"]
    if isinstance(event, Struct):
        return [result_in_words(event)]
    if isinstance(event, tuple):
        return [str(event[0])] if len(event) == 2 else []
    return ["ok"] if isinstance(event, str) and event.startswith("completed ") else []
