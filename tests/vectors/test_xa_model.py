"""The model of XA says what a real qpidd answered, and the departures where we do otherwise."""

import re
from collections import Counter
from typing import Any

import pytest
from support.qpidd_lines import Said, pause_ms, read
from support.xa_model import Copy, Model
from vectors.test_qpidd_conversations import CONVERSATIONS, expected

from gateway.amqp_0_10 import _spec as spec

VERBS = {
    spec.DtxSelect: "select",
    spec.DtxStart: "start",
    spec.DtxEnd: "end",
    spec.DtxPrepare: "prepare",
    spec.DtxCommit: "commit",
    spec.DtxRollback: "rollback",
    spec.DtxForget: "forget",
    spec.DtxRecover: "recover",
    spec.DtxGetTimeout: "get_timeout",
    spec.DtxSetTimeout: "set_timeout",
}
FLAGS = ("join", "resume", "fail", "suspend", "one_phase")
# What is about transactions of class tx, limits, deleted queues and accept-mode none is not its.
OTHERS = ("tx.select", "full", "deleted", "to a subscription")
NAMES = [
    name
    for file, name in CONVERSATIONS
    if file == "xa" and not any(other in name for other in OTHERS)
]


class Telling:
    """A conversation told to the model, with the deliveries that there were in it."""

    def __init__(self) -> None:
        self.model = Model()
        self.came: dict[str, dict[int, Copy]] = {}
        self.commands: Counter[str] = Counter()  # of the broker: deliveries are called by number

    def tell(self, line: str, answer: str) -> tuple[str, str]:
        """What the model answers, and what was answered, but for deliveries."""
        who, what = read(line)
        said = ""
        if isinstance(what, Said):
            said = self._command(who, what)
        elif what == "end":
            self.model.leaves(who)
            self._forget(who)
        elif what != "hear":
            self.model.time_passes(pause_ms(what))
        told = [each for each in answer.split("; ") if not self._delivered(who, each)]
        if not told or not said:
            return "", ""
        if said.isdigit():
            self._forget(who)
        return said, told[0]

    def _command(self, who: str, said: Said) -> str:
        command = said.commands[0]
        if type(command) in VERBS:
            return self._dtx(who, command)
        if isinstance(command, spec.MessageTransfer):
            return self._publish(who, said)
        if isinstance(command, spec.MessageAccept | spec.MessageRelease | spec.MessageReject):
            self._settle(who, command)
        elif isinstance(command, spec.MessageCancel) and command.destination == "none":
            self.model.leaves(who)
        elif isinstance(command, spec.QueueQuery):
            return f"{len(self.model.ready(command.queue or ''))} ready"
        return ""

    def _dtx(self, who: str, command: Any) -> str:  # Any: one of VERBS
        names = [getattr(command, "xid", None)]
        arguments: list[object] = [
            ".".join(each.decode() for each in (xid.global_id, xid.branch_id) if each)
            for xid in names
            if xid is not None
        ]
        if isinstance(command, spec.DtxSetTimeout):
            arguments.append(command.timeout)
        flags = {name: True for name in FLAGS if getattr(command, name, False)}
        return self.model.says(who, VERBS[type(command)], *arguments, **flags)

    def _publish(self, who: str, said: Said) -> str:
        found = re.search(rb"\x01([qr])", said.header or b"")
        if found is None:
            return ""
        return self.model.says(who, "publish", said.body.decode(), found[1].decode())

    def _settle(self, who: str, command: Any) -> None:  # Any: what settles
        for number, _ in command.transfers or []:
            if number not in self.came.get(who, {}):
                continue
            copy = self.came[who][number]
            if who not in (copy.of, copy.by):
                continue
            if isinstance(command, spec.MessageReject):
                copy.goes("gone")
            else:
                verb = "accept" if isinstance(command, spec.MessageAccept) else "release"
                self.model.says(who, verb, copy)

    def _delivered(self, who: str, answer: str) -> bool:
        found = re.fullmatch(r"d gets (\w+)( again)?", answer)
        if found is None:
            self.commands[who] += answer != "ok" and not answer.isdigit()
            return False
        copy = self.model.takes(who, found[1], "q")
        assert copy.again is None or copy.again == bool(found[2]), answer
        self.came.setdefault(who, {})[self.commands[who]] = copy
        self.commands[who] += 1
        return True

    def _forget(self, who: str) -> None:
        self.came.pop(who, None)
        del self.commands[who]


@pytest.mark.parametrize("name", NAMES)
def test_the_model_answers_as_it_was_recorded(name: str) -> None:
    conversation = CONVERSATIONS["xa", name]
    telling = Telling()
    answers = expected("xa", conversation)
    for line, answer in zip(conversation["lines"], answers, strict=True):
        said, told = telling.tell(line, answer)
        assert said == in_short(told), line


def in_short(answer: str) -> str:
    """Of results what the model knows."""
    if answer.startswith("QueueQueryResult"):
        found = re.search(r"message_count=(\d+)", answer)
        return f"{found[1] if found else 0} ready"
    found = re.fullmatch(r"GetTimeoutResult\(timeout=(\d+)\)", answer)
    return f"timeout {found[1]}" if found else answer
