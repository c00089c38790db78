"""The demo's scenario against a gateway in memory, and that it would notice what is wrong."""

import pathlib
from typing import Any

import pytest
from support.memory_connector import MemoryConnector
from support.whole_gateway import WholeGateway

from gateway.cli.demo import Counted, _print
from gateway.clients.client import ClientError
from gateway.clients.demo import BODIES, LANES, Count, Tally, arrives_as, letter, scenario
from gateway.clients.letter import Typed


def play(whole: WholeGateway, count: int) -> list[Tally]:
    connector: Any = MemoryConnector(whole)
    where: Any = None
    counted = Counted(whole.service)
    tallies: list[Tally] = connector.play(
        scenario(connector, where, counted, count, lambda _said: None)
    )
    return tallies


def test_everything_arrives_both_ways_and_is_settled(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = WholeGateway(tmp_path).start()
    tallies = play(whole, 2 * len(BODIES))
    whole.stop()
    assert [tally.title for tally in tallies] == ["0-10 to 1.0", "1.0 to 0-10"]
    for tally in tallies:
        assert tally.complete
        assert tally.escrowed > 0
        assert tally.settled == 2 * len(BODIES) * len(LANES)
        _print(tally)
    assert capsys.readouterr().out.count("amq.match") == 2


def test_without_escrow_values_are_lost_and_the_tally_says_so(tmp_path: pathlib.Path) -> None:
    whole = WholeGateway(tmp_path, "translation.escrow=false").start()
    tallies = play(whole, 2)
    whole.stop()
    assert any(tally.lost > 0 for tally in tallies)
    assert not all(tally.complete for tally in tallies)


def test_a_message_that_does_not_arrive_is_an_error(tmp_path: pathlib.Path) -> None:
    whole = WholeGateway(tmp_path).start()
    whole.service.bridge.drain()  # nothing is dispatched any more
    with pytest.raises(ClientError, match="4 messages did not arrive"):
        play(whole, 1)
    whole.stop()


@pytest.mark.parametrize(
    "count",
    [
        Count(2, 2, 2, 2, 1),
        Count(2, 2, 1, 1),
        Count(2, 1, 2, 2),
        Count(1, 1, 1, 1),
    ],
)
def test_a_tally_that_does_not_add_up_is_not_complete(count: Count) -> None:
    tally = Tally("x", lanes={"a": count}, settled=2)
    assert not tally.complete
    assert Tally("x", lanes={"a": Count(2, 2, 2, 2)}, settled=2).complete


def test_every_body_header_and_delivery_fact_takes_its_turn() -> None:
    made = [letter(number, LANES[3], []) for number in range(30)]
    assert {each.body.type for each in made} == {body.type for body in BODIES}
    assert {each.durable for each in made} == {True, False}
    assert {each.priority for each in made} == set(range(10))
    assert {each.ttl_ms is None for each in made} == {True, False}
    assert made[0].properties["demo-color"] == Typed("string", "blue")


def test_what_the_other_protocol_shows_is_what_the_mapping_says() -> None:
    assert arrives_as(Typed("string", "x"), "1.0", body=True) == Typed("binary", b"x")
    assert arrives_as(Typed("string", "x"), "1.0") == Typed("string", "x")
    assert arrives_as(Typed("char", "x"), "0-10") == Typed("string", "x")
    assert arrives_as(Typed("char", "x"), "1.0") == Typed("char", "x")
