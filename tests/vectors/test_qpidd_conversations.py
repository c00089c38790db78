"""What a real qpidd answered (interop/record_qpidd.py), the gateway answers, but where it says."""

import json
from typing import Any

import pytest
from support.qpidd_lines import (
    FOLDER,
    Said,
    corpus,
    delivery_in_words,
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
        spec.QueueQueryResult,
    )
}
ANSWERS = json.loads((FOLDER / "answers.json").read_text())
CONVERSATIONS = {
    (file, each["name"]): each for file, conversations in corpus().items() for each in conversations
}


def in_words(heard: list[object]) -> str:
    told: list[str] = []
    for each in heard:
        if isinstance(each, tuple) and len(each) == 3 and isinstance(each[0], spec.MessageTransfer):
            delivery = each[1][0]
            again = delivery is not None and bool(delivery.redelivered)
            told.append(delivery_in_words(each[0], again, each[2]))
        elif isinstance(each, tuple):
            told.append(str(each[0]))
        elif each is None or (isinstance(each, Struct) and each.CODE in RESULTS):
            told.append(result_in_words(each))
    return "; ".join(told) or "ok"


def replayed(lines: list[str]) -> list[str]:
    """What the gateway answers to each line."""
    gateway = Gateway()
    clients: dict[str, Client] = {}
    found = []
    for line in lines:
        who, what = read(line)
        if who not in clients:
            clients[who] = gateway.session()
        client = clients[who]
        if isinstance(what, Said):
            client.says(*what.commands[:-1])
            client.says(*what.commands[-1:], header=what.header, body=what.body)
        heard = client.hears()
        if what == "end":
            client.loses_transport()
            del clients[who]
        told = in_words(heard)
        if told.split("; ")[-1].isdigit():
            clients.pop(who, None)
        found.append(told)
    return found


def expected(file: str, conversation: dict[str, Any]) -> list[str]:
    """What qpidd said, and where we depart from that, what we say."""
    answers = ANSWERS[file][conversation["name"]]
    departures = {each["line"]: each["answer"] for each in conversation.get("departs", [])}
    assert set(departures) <= set(conversation["lines"])
    return [
        departures.get(line, answer)
        for line, answer in zip(conversation["lines"], answers, strict=True)
    ]


@pytest.mark.parametrize(("file", "name"), CONVERSATIONS)
def test_every_line_is_answered_as_qpidd_answered_it(file: str, name: str):
    conversation = CONVERSATIONS[file, name]
    lines = conversation["lines"]
    answers = dict(enumerate(zip(lines, replayed(lines), strict=True)))
    assert answers == dict(enumerate(zip(lines, expected(file, conversation), strict=True)))


def test_each_departure_has_its_reason_and_is_one():
    for (file, name), conversation in CONVERSATIONS.items():
        said = dict(zip(conversation["lines"], ANSWERS[file][name], strict=True))
        for each in conversation.get("departs", []):
            assert each["why"] and said[each["line"]] != each["answer"], each


def test_the_record_is_of_these_conversations():
    recorded = {
        (file, name): len(said) for file, each in ANSWERS.items() for name, said in each.items()
    }
    assert recorded == {key: len(each["lines"]) for key, each in CONVERSATIONS.items()}
