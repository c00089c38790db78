"""tshark reads what we send and finds nothing wrong with it."""

from pathlib import Path
from typing import Any

from interop.addresses import jms_queue
from interop.dissector import Dissection, dissect
from interop.foreign import Client
from interop.recorder import Conversation, Recorder

MESSAGES: list[dict[str, Any]] = [
    {
        "body": ["text", "x"],
        "properties": {
            "a_boolean": ["boolean", True],
            "a_short": ["short", 300],
            "an_int": ["int", -70000],
            "a_string": ["string", "x"],
        },
        "durable": True,
        "ttl-ms": 600_000,
        "jms-type": "order",
    },
    {"body": ["bytes", "00ff"]},
    {"body": ["map", {"i": ["int", 1]}]},
]


def ours(dissection: Dissection) -> str:
    """What the server sent, one line a packet."""
    return "\n".join(
        line.split("\t", 1)[1] for line in dissection.summary if line.startswith("5672\t")
    )


def test_it_reads_our_0_10(tshark: None, jms: Client, recorder: Recorder, name: str) -> None:
    jms.run("publish", recorder.port, MESSAGES, destination=jms_queue(name))
    jms.run("consume", recorder.port, destination=f"ADDR:{name}", count=3)
    publishing, consuming = (dissect(one) for one in recorder.conversations)
    for dissection in (publishing, consuming):
        assert dissection.complaints() == []
    assert "connection.open-ok" in ours(publishing)
    assert "session.completed" in ours(publishing)
    assert ours(consuming).count("message.transfer") == 3


def test_it_reads_our_1_0(
    tshark: None, jms: Client, proton: Client, recorder: Recorder, name: str
) -> None:
    jms.run("publish", recorder.port, MESSAGES, destination=jms_queue(name))
    proton.run("receive", recorder.port, address=name, count=3)
    proton.run("send", recorder.port, [{"body": ["string", "x"]}], address=name)
    _, receiving, sending = (dissect(one) for one in recorder.conversations)
    for dissection in (receiving, sending):
        assert dissection.complaints() == []
    assert ours(receiving).count("transfer") == 3
    assert "disposition" in ours(sending)


def test_it_complains_of_what_it_cannot_read(tshark: None) -> None:
    vectors = Path(__file__).parent.parent / "vectors" / "1.0"
    conversation = Conversation.from_text((vectors / "proton-send-kinds.hex").read_text())
    assert dissect(conversation).complaints() == []
    from_client, _ = conversation.pieces[-1]
    # a frame of the right size whose performative ends in the middle
    conversation.pieces.append((from_client, b"\0\0\0\x0c\2\0\0\0\0\x53\x10\xd0"))
    assert dissect(conversation).complaints()
