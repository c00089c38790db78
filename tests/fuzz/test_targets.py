"""A short campaign against every parser, and what longer ones found, replayed."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fuzz.mutation import Mutator
from fuzz.run import CRASHERS, replay, run_bounded
from fuzz.targets import DEPTH, TARGETS, Target
from support.examples import examples

from gateway.amqp_0_10 import decoding as decoding_0_10
from gateway.amqp_1_0 import sections, types
from gateway.amqp_1_0.primitives import decoding as decoding_1_0
from gateway.errors import DecodeError
from gateway.store.log_rows import check
from gateway.store.writes import TurnWriter
from gateway.wire.buffers import Reader
from gateway.wire.tagged import Tagged

CHEAP = {"values-1.0", "values-0-10", "sections-1.0", "headers-0-10", "escrow", "rows", "segments"}


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_spoiled_octets_do_no_harm_and_take_memory_in_proportion(target: Target) -> None:
    mutator = Mutator(target.seeds, seed=20)
    for run in range(examples(1500 if target.name in CHEAP else 60)):
        pieces = mutator.next()
        if run % 6:
            target.run(pieces)
        else:
            run_bounded(target, pieces)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_what_clients_really_sent_does_no_harm(target: Target) -> None:
    for pieces in target.seeds[:20]:
        target.run(pieces)


@pytest.mark.parametrize("path", sorted(CRASHERS.glob("*.hex")), ids=lambda path: path.stem)
def test_what_once_did_harm_does_no_more(path: Path) -> None:
    replay(path)


def calls(run: Callable[[], object]) -> int:
    """How many functions are entered: a measure of work that does not depend on the machine."""
    count = [0]

    def profile(_frame: object, event: str, _argument: object) -> None:
        count[0] += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        run()
    except DecodeError:
        pass
    finally:
        sys.setprofile(None)
    return count[0]


def _map_0_10(size: int) -> Callable[[], object]:
    entries = b"".join(b"\x04k%03d\x02\x05" % (n % 1000) for n in range(size))
    octets = (len(entries) + 4).to_bytes(4, "big") + size.to_bytes(4, "big") + entries
    return lambda: decoding_0_10.read_map(Reader(octets), DEPTH)


def _map_1_0(size: int) -> Callable[[], object]:
    pairs = [(Tagged(types.STRING, f"k{n}"), Tagged(types.UINT, n)) for n in range(size)]
    octets = types.to_bytes(Tagged(types.MAP, pairs))
    return lambda: decoding_1_0.from_bytes(octets, DEPTH)


def _arrays_1_0(size: int) -> Callable[[], object]:
    content = bytes.fromhex("f0000000050000010040") * size
    listed = b"\xd0" + (len(content) + 4).to_bytes(4, "big") + size.to_bytes(4, "big") + content
    return lambda: decoding_1_0.from_bytes(listed, DEPTH)


def _sections_1_0(size: int) -> Callable[[], object]:
    octets = bytes.fromhex("005375a003616263") * size
    return lambda: sections.data(octets, sections.scan(octets))


def _row(size: int) -> Callable[[], object]:
    writer = TurnWriter()
    for position in range(size):
        writer.dequeue(1, position)
    writes = writer.take()
    return lambda: check(writes)


@pytest.mark.parametrize("make", [_map_0_10, _map_1_0, _arrays_1_0, _sections_1_0, _row])
def test_work_grows_no_faster_than_the_octets(make: Callable[[int], Callable[[], object]]) -> None:
    # Compiled code is not seen by the profiler: then nothing is compared with nothing.
    assert calls(make(4000)) <= 4.2 * calls(make(1000)) + 100
