"""What is kept of the commands that were sent (session.expected, confirmed)."""

import pytest

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import UINT32, VBIN32
from gateway.amqp_0_10.commands.replay import SENT_OCTETS, Replay, SentCommand, offsets, redelivered
from gateway.amqp_0_10.errors import InvalidArgumentError
from gateway.amqp_0_10.structs import read_header, write_header
from gateway.amqp_0_10.types import Array

LAST = 0xFFFFFFFF


def sent(body: bytes = b"") -> SentCommand:
    return SentCommand(spec.MessageTransfer(destination="x"), False, b"head", body, False)


def kept(first: int, count: int) -> Replay:
    replay = Replay()
    for step in range(count):
        replay.add((first + step) & LAST, sent())
    return replay


def test_a_command_is_kept_encoded_with_all_its_segments() -> None:
    command = SentCommand(spec.MessageCancel(destination="d"), True, None, b"", False)
    assert command.command == bytes.fromhex("0408 0101 0100 01") + b"d"
    assert command.size() == 8
    assert sent(b"body").size() == len(sent().command) + 8


def test_what_is_confirmed_is_forgotten_and_told_by_its_octets() -> None:
    replay = kept(0, 5)
    each = SENT_OCTETS + sent().size()
    assert replay.octets == 5 * each
    assert replay.forget([(1, 2), (4, 4)]) == 3 * each
    assert replay.all() == [(0, 0), (3, 0)]
    assert replay.forget([(1, 2)]) == 0


def test_ranges_may_be_longer_than_all_there_is_and_wrap() -> None:
    replay = kept(LAST - 1, 4)
    replay.forget([(0x90000000, 0)])
    assert replay.all() == [(1, 0)]
    assert replay.octets == SENT_OCTETS + sent().size()


@pytest.mark.parametrize(
    ("commands", "again", "missing"),
    [
        pytest.param([], [2, 3, 4], [], id="nothing is held there"),
        pytest.param([(5, 5)], [], [], id="all has come"),
        pytest.param([(3, 3)], [3, 4], [], id="what is behind the last is expected"),
        pytest.param([(2, 2), (4, 4)], [2, 4], [], id="with a hole"),
        pytest.param([(0, 2), (5, 9)], [2], [(0, 1)], id="what is not kept any more"),
        pytest.param([(0, 0x7FFFFFFF)], [2, 3, 4], [(0, 1)], id="for ever"),
    ],
)
def test_what_is_expected_is_sent_again_and_else_told_to_be_missing(
    commands: list[tuple[int, int]], again: list[int], missing: list[tuple[int, int]]
) -> None:
    replay = kept(0, 5)
    replay.forget([(0, 1)])
    assert replay.wanted(commands, {}, 5) == ([(each, 0) for each in again], missing)


def test_fragments_are_sent_from_their_first_octet() -> None:
    replay = kept(0, 3)
    assert replay.wanted([(2, 2)], {1: 7}, 3) == ([(1, 7), (2, 0)], [])


@pytest.mark.parametrize(
    ("commands", "fragments"), [([(4, 4)], {}), ([(3, 3)], {3: 1}), ([], {0: 999})]
)
def test_what_was_never_sent_cannot_be_expected(
    commands: list[tuple[int, int]], fragments: dict[int, int]
) -> None:
    with pytest.raises(InvalidArgumentError):
        kept(0, 3).wanted(commands, fragments, 3)


def test_fragments_may_be_binaries_and_nothing_else_that_is_no_struct() -> None:
    octets = bytes.fromhex("00000007 0010") + (40).to_bytes(8, "big") + bytes([0xFF] * 8)
    assert offsets(Array(VBIN32, [octets])) == {7: 40}
    assert offsets(None) == {}
    with pytest.raises(InvalidArgumentError):
        offsets(Array(UINT32, [7]))
    with pytest.raises(InvalidArgumentError):
        offsets(Array(VBIN32, [octets[:9]]))


HEADERS = [
    (spec.DeliveryProperties(routing_key="k"), spec.MessageProperties(content_type="t")),
    (spec.DeliveryProperties(redelivered=True, priority=5), None),
    (None, spec.MessageProperties(content_type="t")),
    (None, None),
]


@pytest.mark.parametrize(("delivery", "properties"), HEADERS)
def test_a_message_that_may_have_come_before_says_so_and_is_else_as_it_was(
    delivery: spec.DeliveryProperties | None, properties: spec.MessageProperties | None
) -> None:
    expected = delivery or spec.DeliveryProperties()
    header = write_header(delivery, properties)
    expected.redelivered = True
    marked = redelivered(header)
    found = read_header(marked, len(marked))
    assert found == (expected, None, properties)


def test_properties_in_front_of_those_of_the_delivery_are_passed_over() -> None:
    header = write_header(None, spec.MessageProperties(content_type="t" * 200))
    header += write_header(spec.DeliveryProperties(routing_key="k"), None)
    marked = redelivered(header)
    assert len(marked) == len(header)
    assert sum(one != other for one, other in zip(header, marked, strict=True)) == 1


def test_only_messages_are_marked_and_what_that_takes_is_counted() -> None:
    replay = Replay()
    properties = write_header(spec.DeliveryProperties(routing_key="k"), None)
    for header, command in [
        (properties, spec.MessageTransfer(destination="x")),
        (b"", spec.MessageTransfer(destination="x")),
        (None, spec.MessageCancel(destination="d")),
    ]:
        replay.add(len(replay), SentCommand(command, False, header, b"", False))
    before = replay.octets
    assert replay.redeliver() == 8
    assert replay.octets == before + 8
    assert [replay.get(number).header for number in (0, 2)] == [redelivered(properties), None]
    assert replay.forget([(0, 2)]) == before + 8
