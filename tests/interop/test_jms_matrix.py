"""The JMS clients of both protocols send each other messages of every type, with every header.

What arrives is what was sent, header by header, but for the differences in the table: each is
either what a row of the mapping says, and the gateway has counted it, or is made by a client
itself. And who asks finds the answer by the id that it gave.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from interop import foreign
from interop.declaring import declare_queues
from interop.foreign import Client, Event
from interop.needed import needed
from support.gateway_process import GatewayProcess

TOPIC = "TOPIC:news.uk"
# The types of properties in JMS, and what else maps and streams hold.
SIMPLE: dict[str, list[Any]] = {
    "a_boolean": ["boolean", True],
    "a_byte": ["byte", -5],
    "a_short": ["short", 300],
    "an_int": ["int", -70000],
    "a_long": ["long", "9223372036854775807"],
    "a_float": ["float", "1.5"],
    "no_number": ["float", "NaN"],
    "a_double": ["double", "-2.5"],
    "infinite": ["double", "-Infinity"],
    "a_string": ["string", "h\u00e9llo \U0001d11e"],
    "no_letter": ["string", ""],
}
ELEMENTS = {**SIMPLE, "octets": ["binary", "00ff"], "nothing": ["null", None]}
CHARACTER = ["char", "q"]
UUID = "b62c1a1b-8e83-3ac3-9874-76c503552361"

CASES: dict[str, dict[str, Any]] = {
    "text": {"body": ["text", "h\u00e9 \U0001d11e"]},
    "long-text": {"body": ["text", "long " * 20_000]},
    "empty-text": {"body": ["text", ""]},
    "null-text": {"body": ["text", None]},
    "bytes": {"body": ["bytes", "00ff10"]},
    "no-bytes": {"body": ["bytes", ""]},
    "map": {"body": ["map", ELEMENTS]},
    "map-of-character": {"body": ["map", {"c": CHARACTER}]},
    "empty-map": {"body": ["map", {}]},
    "stream": {"body": ["stream", list(ELEMENTS.values())]},
    "stream-of-character": {"body": ["stream", [CHARACTER]]},
    "empty-stream": {"body": ["stream", []]},
    "object": {"body": ["object", ["string", "kept"]]},
    "null-object": {"body": ["object", ["null", None]]},
    "message": {},
    "properties": {"body": ["text", "x"], "properties": SIMPLE},
    "properties-alone": {"properties": SIMPLE},
    "group": {"body": ["text", "x"], "group-id": "g", "group-sequence": 3},
    "type": {"body": ["text", "x"], "jms-type": "order"},
    "type-of-map": {"body": ["map", {"i": ["int", 1]}], "jms-type": "order"},
    "correlation": {"body": ["text", "x"], "correlation-id": "c-\u00e9"},
    "correlation-id": {"body": ["text", "x"], "correlation-id": "ID:c-1"},
    "correlation-uuid": {"body": ["text", "x"], "correlation-id": f"ID:{UUID}"},
    "reply-to-queue": {"body": ["text", "x"], "reply-to": "QUEUE:replies"},
    "reply-to-topic": {"body": ["text", "x"], "reply-to": "TOPIC:news.replies"},
    "reply-to-temporary-queue": {"body": ["text", "x"], "reply-to": "TEMPORARY-QUEUE"},
    "reply-to-temporary-topic": {"body": ["text", "x"], "reply-to": "TEMPORARY-TOPIC"},
    "priorities-low": {"body": ["text", "x"], "priority": 0},
    "priorities-high": {"body": ["text", "x"], "priority": 9},
    "expiration": {"body": ["text", "x"], "ttl-ms": 600_000},
    "persistent": {"body": ["text", "x"], "durable": True},
    "all": {
        "body": ["text", "x"],
        "properties": SIMPLE,
        "jms-type": "order",
        "correlation-id": "c-1",
        "reply-to": "QUEUE:replies",
        "durable": True,
        "priority": 7,
        "ttl-ms": 600_000,
    },
    "topic": {"body": ["text", "x"], "destination": TOPIC},
    "topic-with-type": {"body": ["text", "x"], "jms-type": "order", "destination": TOPIC},
    "topic-of-map": {"body": ["map", {"i": ["int", 1]}], "destination": TOPIC},
}
# The map and stream messages of the client of 0-10 that it does not send by itself.
OTHER_FORMS = "&use_legacy_map_msg_format='true'&use_legacy_stream_msg_format='false'"
OF_OTHER_FORM = [
    *("map", "map-of-character", "empty-map", "type-of-map"),
    *("stream", "stream-of-character", "empty-stream"),
]


@dataclass(frozen=True)
class Way:
    """A direction: who sends, to what queue as each of the two calls it."""

    sender: Client
    receiver: Client
    queue: str

    @property
    def name(self) -> str:
        return f"{self.sender.protocol} to {self.receiver.protocol}"

    def called(self, client: Client) -> str:
        return f"ADDR:{self.queue}" if client.protocol == "0-10" else f"QUEUE:{self.queue}"


OLD_TO_NEW = Way(foreign.JMS, foreign.JMS_1_0, "from-0-10")
NEW_TO_OLD = Way(foreign.JMS_1_0, foreign.JMS, "from-1.0")


@dataclass(frozen=True)
class Difference:
    """What a header, or the body, becomes.

    Attributes:
        row: of the mapping, that says so and is counted; "" where a client does it by itself.
        becomes: given the value that was sent, and that was received.
    """

    way: Way
    field: str
    row: str
    cases: Callable[[dict[str, Any]], bool]
    becomes: Callable[[Any, Any], Any]


def always(_wanted: dict[str, Any]) -> bool:
    return True


def to_topic(wanted: dict[str, Any]) -> bool:
    return "destination" in wanted


def to_queue(wanted: dict[str, Any]) -> bool:
    return "destination" not in wanted


def replied_by(*ends: str) -> Callable[[dict[str, Any]], bool]:
    return lambda wanted: str(wanted.get("reply-to", "")).startswith(ends)


def bodiless(wanted: dict[str, Any]) -> bool:
    return "body" not in wanted


def of_character(kind: str) -> Callable[[dict[str, Any]], bool]:
    return lambda wanted: wanted.get("body") in ([kind, {"c": CHARACTER}], [kind, [CHARACTER]])


def constantly(value: Any) -> Callable[[Any, Any], Any]:
    return lambda _sent, _received: value


def some_uuid(_sent: Any, received: Any) -> Any:
    return (
        received if re.fullmatch(r"ID:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", received) else 0
    )


DIFFERENCES = [
    # The client of 1.0 says of an id that it is a uuid; a queue by an address is any node to that
    # of 0-10; what has no body is a BytesMessage to both.
    Difference(
        OLD_TO_NEW, "message-id", "", always, lambda sent, _: f"ID:AMQP_UUID:{sent[len('ID:') :]}"
    ),
    Difference(OLD_TO_NEW, "destination-kind", "", to_queue, constantly("queue")),
    Difference(OLD_TO_NEW, "body", "", bodiless, constantly(["bytes", ""])),
    Difference(NEW_TO_OLD, "destination-kind", "", always, constantly(None)),
    Difference(NEW_TO_OLD, "reply-to-kind", "", always, constantly(None)),
    Difference(NEW_TO_OLD, "body", "", bodiless, constantly(["bytes", ""])),
    # The mapping.
    Difference(NEW_TO_OLD, "message-id", "properties.message-id", always, some_uuid),
    Difference(
        NEW_TO_OLD, "destination", "properties.to", to_topic, lambda sent, _: f"amq.topic/{sent}"
    ),
    Difference(
        NEW_TO_OLD,
        "reply-to",
        "properties.reply-to",
        replied_by("TOPIC:"),
        lambda sent, _: f"amq.topic/{sent}",
    ),
    Difference(
        NEW_TO_OLD,
        "body",
        "body.value-map",
        of_character("map"),
        constantly(["map", {"c": ["string", "q"]}]),
    ),
    Difference(
        NEW_TO_OLD,
        "body",
        "body.value-list",
        of_character("stream"),
        constantly(["stream", [["string", "q"]]]),
    ),
]
# Properties that come and go: of the clients, of JMS 2.0, and headers that stand for other things.
OWN_PROPERTIES = {
    *("x-jms-type", "qpid.subject", "JMS_AMQP_NULL", "JMSXDeliveryCount", "x-amqp-1.0"),
}


@dataclass
class Exchanged:
    """All messages of a way: what was to be sent, what its sender and its receiver say of it."""

    messages: dict[str, tuple[dict[str, Any], Event, Event]]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    needed("jms")
    needed("artemis")
    with GatewayProcess(tmp_path_factory.mktemp("gateway"), {"anonymous": True}) as running:
        declare_queues(running.amqp_port, OLD_TO_NEW.queue, NEW_TO_OLD.queue, "replies", "requests")
        yield running


@pytest.fixture(scope="module")
def exchanged(gateway: GatewayProcess) -> dict[str, Exchanged]:
    return {way.name: exchange(gateway.amqp_port, way) for way in (OLD_TO_NEW, NEW_TO_OLD)}


def exchange(port: int, way: Way) -> Exchanged:
    names = [name for name in CASES if to_queue(CASES[name])]
    topical = [name for name in CASES if to_topic(CASES[name])]
    others = OF_OTHER_FORM if way is OLD_TO_NEW else []
    receiving = way.receiver.start(
        "consume",
        port,
        destination=way.called(way.receiver),
        count=len(names + others),
        also=TOPIC,
        also_count=len(topical),
    )
    receiving.until("ready")
    to = way.called(way.sender)
    messages = [CASES[name] for name in names + topical]
    sent = way.sender.run("publish", port, messages, destination=to).sent
    if others:
        messages = [CASES[name] for name in others]
        more = way.sender.run(
            "publish", port, messages, destination=to, url_options=OTHER_FORMS
        ).sent
        sent = sent[: len(names)] + more + sent[len(names) :]
    received = receiving.finish().without_error().received
    keys = [*names, *[f"{name}-of-other-form" for name in others], *topical]
    wanted = [CASES[key.removesuffix("-of-other-form")] for key in keys]
    found = zip(wanted, sent, received, strict=True)
    return Exchanged(dict(zip(keys, found, strict=True)))


def address(text: str | None) -> str | None:
    """A destination as an address: the client of 0-10 has two spellings of its own."""
    for spelling in (r"'(.*?)'/(?:None|'(.*?)'); None", r"[a-z]+://(.*?)/(.*?)/.*"):
        spelt = re.fullmatch(spelling, text or "")
        if spelt is not None:
            return f"{spelt[1]}/{spelt[2]}" if spelt[2] else spelt[1]
    return text


def said(event: Event) -> dict[str, Any]:
    """What a client says of a message."""
    seen = {name: value for name, value in event.items() if name not in ("event", "body")}
    for name in ("destination", "reply-to"):
        seen[name] = address(event[name])
    seen["properties"] = {
        name: value for name, value in event["properties"].items() if name not in OWN_PROPERTIES
    }
    return seen


def compared(found: tuple[dict[str, Any], Event, Event]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The two ends of a message: as it was sent, and as it was received."""
    wanted, sent, received = found
    body = wanted.get("body", ["message", None])
    return {**said(sent), "body": body}, {**said(received), "body": received["body"]}


CROSSINGS = [
    *[(OLD_TO_NEW, name) for name in CASES],
    *[(OLD_TO_NEW, f"{name}-of-other-form") for name in OF_OTHER_FORM],
    *[(NEW_TO_OLD, name) for name in CASES],
]


@pytest.mark.parametrize(
    ("way", "case"), CROSSINGS, ids=[f"{way.name}-{case}" for way, case in CROSSINGS]
)
def test_a_message_arrives_as_it_was_sent_but_for_what_is_declared(
    way: Way, case: str, exchanged: dict[str, Exchanged]
) -> None:
    found = exchanged[way.name].messages[case]
    expected, seen = compared(found)
    for each in DIFFERENCES:
        if each.way is way and each.cases(found[0]):
            expected[each.field] = each.becomes(expected[each.field], seen[each.field])
    assert seen == expected


@pytest.mark.parametrize("each", DIFFERENCES, ids=lambda each: f"{each.way.name}-{each.field}")
def test_a_declared_difference_is_one(each: Difference, exchanged: dict[str, Exchanged]) -> None:
    found = [found for found in exchanged[each.way.name].messages.values() if each.cases(found[0])]
    assert any(before[each.field] != after[each.field] for before, after in map(compared, found))


@pytest.mark.parametrize("row", sorted({each.row for each in DIFFERENCES if each.row}))
def test_the_gateway_counts_what_the_mapping_makes_different(
    row: str, exchanged: dict[str, Exchanged], gateway: GatewayProcess
) -> None:
    counted = gateway.metrics()
    assert counted[f'gateway_translation_escrowed_total{{row="{row}"}}'] > 0


def test_nothing_is_lost(exchanged: dict[str, Exchanged], gateway: GatewayProcess) -> None:
    lost = {
        name: count
        for name, count in gateway.metrics().items()
        if name.startswith("gateway_translation_losses_total") and count
    }
    assert lost == {}


@pytest.mark.parametrize(
    ("requester", "responder"),
    [(foreign.JMS, foreign.JMS_1_0), (foreign.JMS_1_0, foreign.JMS)],
    ids=["0-10 asks 1.0", "1.0 asks 0-10"],
)
def test_who_asks_selects_the_answer_by_the_id_that_it_gave(
    requester: Client, responder: Client, gateway: GatewayProcess
) -> None:
    way = Way(requester, responder, "requests")
    port = gateway.amqp_port
    answering = responder.start("respond", port, destination=way.called(responder), count=3)
    answering.until("ready")
    asked = requester.run(
        "select",
        port,
        [{"body": ["text", str(number)]} for number in range(3)],
        destination=way.called(requester),
        replies=Way(requester, responder, "replies").called(requester),
        timeout_ms=180_000,
    )
    answering.finish().without_error()
    texts = [reply["body"] for reply in asked.received]
    assert texts == [["text", "2"], ["text", "1"], ["text", "0"]]
    ids = [request["message-id"] for request in asked.sent]
    assert [reply["correlation-id"] for reply in asked.received] == ids[::-1]
