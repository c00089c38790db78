"""Two gateways in a row: a message is the same one in the audit logs of both."""

from __future__ import annotations

import pathlib
from uuid import UUID

import pytest
from support.chain import Chain

from gateway.audit.reader import Segment, records, segment_paths
from gateway.audit.story import Story
from gateway.cli.trace import digests_of
from gateway.clients.letter import Letter, Typed

ID = "8c79d4bf-09b3-350a-9cd3-127a4be2ac36"


def steps_of(chain: Chain, message_id: str) -> list[list[str]]:
    """What happened in each gateway to the message of that id, translations aside."""
    told = []
    for log in chain.logs():
        segments = [Segment(path.name, path.read_bytes()) for path in segment_paths(log)]
        lines = Story(digests_of(message_id)).lines(
            record for segment in segments for record in records(segment)
        )
        steps = [line.text.split()[2] for line in lines]
        told.append([step for step in steps if step != "translation-checked"])
    return told


@pytest.mark.parametrize("publisher", ["0-10", "1.0"])
@pytest.mark.parametrize("consumer", ["0-10", "1.0"])
def test_a_message_is_followed_by_its_id_from_gateway_to_gateway(
    publisher: str, consumer: str, tmp_path: pathlib.Path
) -> None:
    chain = Chain(tmp_path)
    chain.sends(publisher, Letter(Typed("string", "x"), durable=True, message_id=ID))
    assert len(chain.receives(consumer)) == 1
    steps = ["received", "entered", "sent", "settled"]
    assert steps_of(chain, str(UUID(ID))) == [steps, steps]


def test_so_is_one_whose_id_0_10_has_no_type_for(tmp_path: pathlib.Path) -> None:
    chain = Chain(tmp_path)
    chain.sends("1.0", Letter(Typed("string", "x"), durable=True, message_id="order-17"))
    assert len(chain.receives("0-10")) == 1
    steps = ["received", "entered", "sent", "settled"]
    assert steps_of(chain, "order-17") == [steps, steps]
