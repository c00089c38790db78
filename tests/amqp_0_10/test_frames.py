"""Frames cut, segments put together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import drive_0_10 as drive
from support.rules import rule
from support.work import units_of

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.errors import FramingError
from gateway.amqp_0_10.frames import FrameParser, FrameWriter, SegmentBuffer, read_command_head
from gateway.errors import DecodeError
from gateway.wire.buffers import Reader
from gateway.wire.work import OCTETS_COPIED


def parsed(parser: FrameParser, octets: bytes, limit: int = 65535) -> list[tuple]:
    parser.feed(octets)
    found = []
    while parser.next(limit):
        payload = parser.buf[parser.start : parser.end]
        found.append((parser.flags, parser.type, parser.channel, payload))
    return found


frames = st.tuples(
    st.integers(0, 15), st.integers(0, 3), st.integers(0, 65535), st.binary(max_size=40)
)


@given(st.lists(frames, max_size=8), st.lists(st.integers(1, 60), min_size=1))
def test_frames_are_the_same_wherever_the_octets_are_cut(wanted: list, cuts: list) -> None:
    octets = b"".join(drive.frame(*one) for one in wanted)
    parser = FrameParser()
    found, at, turn = [], 0, 0
    while at < len(octets):
        size = cuts[turn % len(cuts)]
        found += parsed(parser, octets[at : at + size])
        at, turn = at + size, turn + 1
    assert found == wanted


@pytest.mark.parametrize(
    "octets",
    [
        bytes.fromhex("4f00000c00000000 00000000"),
        bytes.fromhex("0f04000c00000000 00000000"),
        bytes.fromhex("0f00000b00000000 00000000"),
        bytes.fromhex("0f00100100000000 00000000"),
    ],
    ids=["version bits", "segment type", "too small", "too large"],
)
def test_what_cannot_be_a_frame_header_breaks_the_parser(octets: bytes) -> None:
    parser = FrameParser()
    with pytest.raises(FramingError):
        parsed(parser, octets, 4096)
    assert parser.broken


def test_a_frame_of_just_the_allowed_size_is_taken() -> None:
    octets = drive.frame(0x0F, 0, 0, bytes(4096 - 12))
    assert len(parsed(FrameParser(), octets, 4096)) == 1


@rule("0-10", "connection.tune-ok.max-frame-size", "max-frame-size")
@given(st.binary(max_size=9000), st.binary(max_size=20000))
def test_a_command_is_cut_to_the_frame_size_and_put_together_again(
    header: bytes, body: bytes
) -> None:
    transfer = spec.MessageTransfer(destination="d")
    octets = drive.command(transfer, 7, header=header, body=body, max_frame_size=4096)
    assert all(len(payload) <= 4096 - 12 for _, _, _, payload in parsed(FrameParser(), octets))
    assert drive.values(octets) == [transfer, header, *([body] if body else [])]


def test_the_flags_of_a_command_with_content_say_first_and_last() -> None:
    octets = drive.command(
        spec.MessageTransfer(), 7, header=bytes(5000), body=b"b", max_frame_size=4096
    )
    found = [(flags, kind, channel) for flags, kind, channel, _ in parsed(FrameParser(), octets)]
    assert found == [(0x0B, 1, 7), (0x02, 2, 7), (0x01, 2, 7), (0x07, 3, 7)]


def test_a_command_without_content_is_one_segment_and_an_empty_body_is_none() -> None:
    octets = drive.command(spec.ExecutionSync(), sync=True) + drive.command(
        spec.MessageTransfer(), header=b"h"
    )
    found = [(flags, kind) for flags, kind, _, _ in parsed(FrameParser(), octets)]
    assert found == [(0x0F, 1), (0x0B, 1), (0x07, 2)]


def test_known_octets_of_a_control_and_of_a_command() -> None:
    attach = drive.control(spec.SessionAttach(name=b"ab"), 3)
    assert attach.hex() == "0f000014000000030000000002010100" + "00026162"
    sync = drive.command(spec.ExecutionSync(), 3, sync=True)
    assert sync.hex() == "0f01001200010003000000000301" + "0101" + "0000"


def test_a_control_larger_than_a_frame_is_cut() -> None:
    start = spec.ConnectionStart(server_properties=[], mechanisms=["x" * 3000] * 3, locales=[])
    writer = FrameWriter()
    writer.control(0, start)
    octets = writer.take()
    found = [(flags, kind) for flags, kind, _, _ in parsed(FrameParser(), octets)]
    assert found == [(0x0E, 0), (0x0C, 0), (0x0D, 0)]
    assert drive.values(octets) == [start]
    assert writer.take() == b""


@pytest.mark.parametrize("flags", [[0x00], [0x02, 0x02], [0x02, 0x01, 0x01]])
def test_the_frames_of_a_segment_come_in_order(flags: list[int]) -> None:
    segment = SegmentBuffer()
    with pytest.raises(FramingError):
        for one in flags:
            if segment.add(one, b"x"):
                segment.take()


def test_the_session_header_may_be_of_any_size() -> None:
    assert read_command_head(Reader(bytes.fromhex("0401 00"))) == (0x0401, False)
    assert read_command_head(Reader(bytes.fromhex("0401 02 01 ff"))) == (0x0401, True)
    with pytest.raises(DecodeError):
        read_command_head(Reader(bytes.fromhex("0401 03 01 ff")))


def test_a_segment_that_comes_behind_other_octets_is_one_with_them() -> None:
    segment = SegmentBuffer()
    segment.begin_behind(b"header")
    assert (segment.size, segment.open) == (0, False)
    assert not segment.add(2, b"bo")
    assert segment.add(1, b"dy")
    assert segment.size == 4
    assert segment.take() == b"headerbody"
    assert segment.take() == b""


def test_a_segment_of_several_frames_is_work_by_its_octets_when_it_is_whole() -> None:
    segment = SegmentBuffer()
    segment.add(2, bytes(64_000))
    segment.add(1, bytes(64_000))
    assert units_of(segment.take) == 128_000 // OCTETS_COPIED
