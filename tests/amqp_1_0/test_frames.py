import pytest
from support.frames_1_0 import octets_of, read_frames
from support.rules import rule

from gateway.amqp_1_0 import _spec, frames
from gateway.amqp_1_0.errors import FrameSizeTooSmallError, FramingError
from gateway.wire.buffers import Reader, Writer


def test_a_frame_says_its_size_type_and_channel():
    octets = octets_of(_spec.End(), channel=0x0102)
    assert octets.hex() == "0000000c" + "02" + "00" + "0102" + "00531745"


@rule("1.0", "2.3.1", "extended-header-is-skipped")
def test_an_extended_header_is_skipped():
    plain = octets_of(_spec.End())
    longer = (len(plain) + 4).to_bytes(4) + b"\x03" + plain[5:8] + b"\xff" * 4 + plain[8:]
    reader = Reader(longer, 4)
    assert frames.enter_frame(reader, frames.AMQP_FRAME) == 0
    assert _spec.decode_performative(reader) == _spec.End()


@pytest.mark.parametrize("size", [0, 7, 513, 2**32 - 1])
def test_a_size_beyond_its_bounds_is_a_framing_error(size):
    with pytest.raises(FramingError):
        frames.frame_size(size.to_bytes(4), 0, 512)


@pytest.mark.parametrize("size", [8, 512])
def test_a_size_within_its_bounds_is_taken(size):
    assert frames.frame_size(size.to_bytes(4), 0, 512) == size


def test_a_performative_that_does_not_fit_is_not_written_at_all():
    writer = Writer()
    close = _spec.Close(error=_spec.Error(condition="amqp:not-found", description="x" * 600))
    with pytest.raises(FrameSizeTooSmallError):
        frames.write_frame(writer, 0, close, 512)
    assert writer.getvalue() == b""
    frames.write_frame(writer, 0, close, 1024)
    assert read_frames(writer.getvalue()) == [(0, close)]


def test_an_empty_frame_is_a_header_alone():
    writer = Writer()
    frames.write_empty_frame(writer)
    assert writer.getvalue() == b"\0\0\0\x08\2\0\0\0"
