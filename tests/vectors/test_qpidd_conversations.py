"""What a real qpidd answered (interop/record_qpidd.py), the gateway answers, but where it says."""

import json
from typing import Any

import pytest
from support.qpidd_lines import (
    FOLDER,
    Said,
    corpus,
    delivery_in_words,
    pause_ms,
    read,
    result_in_words,
)
from support.talk_0_10 import Client, Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.types import Struct

RESULTS = {
    each.CODE
    for each in (
        *(spec.Acquired, spec.ExchangeQueryResult, spec.ExchangeBoundResult),
        *(spec.QueueQueryResult, spec.XaResult, spec.GetTimeoutResult, spec.RecoverResult),
    )
}
ANSWERS = json.loads((FOLDER / "answers.json").read_text())
CONVERSATIONS = {
    (file, each["name"]): each for file, conversations in corpus().items() for each in conversations
}


def in_words(heard: list[object]) -> list[str]:
    told: list[str] = []
    for each in heard:
        if isinstance(each, tuple) and len(each) == 3 and isinstance(each[0], spec.MessageTransfer):
            told.append(delivery_in_words(*each))
        elif isinstance(each, tuple):
            told.append(str(each[0]))
        elif each is None or (isinstance(each, Struct) and each.CODE in RESULTS):
            told.append(result_in_words(each))
        elif isinstance(each, str) and each.startswith("closed "):
            told.append(each.replace("closed", "close"))
    return told


def ends(told: list[str]) -> bool:
    """Whether the session has ended."""
    return bool(told) and told[-1].removeprefix("close ").isdigit()


class Replay:
    """A client, and which of its lines are not completed yet."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.waiting: dict[int, str] = {}

    def says(self, said: Said) -> int:
        self.client.says(*said.commands[:-1])
        last = self.client.says(*said.commands[-1:], sync=True, header=said.header, body=said.body)
        self.waiting[last] = said.name()
        return last

    def hears(self, said: int = -1) -> str:
        """What came; `said` is the command whose answer it is."""
        heard = self.client.hears()
        told = in_words(heard)
        ended = ends(told)
        for each in heard:
            if isinstance(each, str) and each.startswith("completed "):
                told += self._completed(each, said)
        if said in self.waiting and not ended:
            told.append("waits")
        told.sort(key=lambda each: not each.startswith("xa-"))  # which wait for the store
        return "; ".join(told) or "ok"

    def _completed(self, ranges: str, said: int) -> list[str]:
        told = []
        for each in ranges.removeprefix("completed ").split():
            first, last = map(int, each.split("-"))
            for number in sorted(self.waiting):
                if first <= number <= last:
                    name = self.waiting.pop(number)
                    told += [] if number == said else [f"{name} is completed"]
        return told


def replayed(lines: list[str]) -> list[str]:
    """What the gateway answers to each line."""
    gateway = Gateway()
    clients: dict[str, Replay] = {}
    found = []
    for line in lines:
        who, what = read(line)
        if who not in clients:
            clients[who] = Replay(gateway.session())
        client = clients[who]
        if isinstance(what, str) and what.startswith("wait "):
            gateway.world.pass_time(pause_ms(what))
        told = client.hears(client.says(what) if isinstance(what, Said) else -1)
        if what == "end":
            client.client.loses_transport()
            del clients[who]
        if ends(told.split("; ")):
            clients.pop(who, None)
        found.append(told)
    return found


def expected(file: str, conversation: dict[str, Any]) -> list[str]:
    """What qpidd said, and where we depart from that, what we say."""
    answers = list(ANSWERS[file][conversation["name"]])
    for each in conversation.get("departs", []):
        for at in departing(conversation, each):
            answers[at] = each["answer"]
    return answers


def departing(conversation: dict[str, Any], departure: dict[str, Any]) -> list[int]:
    """Which lines it is about: all that are so, or one of them (`time`: the first is 1)."""
    found = [at for at, line in enumerate(conversation["lines"]) if line == departure["line"]]
    return [found[departure["time"] - 1]] if "time" in departure else found


@pytest.mark.parametrize(("file", "name"), CONVERSATIONS)
def test_every_line_is_answered_as_qpidd_answered_it(file: str, name: str):
    conversation = CONVERSATIONS[file, name]
    lines = conversation["lines"]
    answers = dict(enumerate(zip(lines, replayed(lines), strict=True)))
    assert answers == dict(enumerate(zip(lines, expected(file, conversation), strict=True)))


def test_each_departure_has_its_reason_and_is_one():
    for (file, name), conversation in CONVERSATIONS.items():
        said = ANSWERS[file][name]
        for each in conversation.get("departs", []):
            answers = [said[at] for at in departing(conversation, each)]
            assert each["why"] and answers and set(answers) != {each["answer"]}, each


def test_the_record_is_of_these_conversations():
    recorded = {
        (file, name): len(said) for file, each in ANSWERS.items() for name, said in each.items()
    }
    assert recorded == {key: len(each["lines"]) for key, each in CONVERSATIONS.items()}
