"""What somebody who can write the directory may do to a signed log, and what is to be found."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from support.audit_logs import ScriptedGateway
from support.forged_logs import SEAL, Forger
from support.keys import Key

from gateway.audit.reader import segment_paths
from gateway.audit.sealing import Sign


def sealed_log(directory: Path, sign: Sign | None, *, lives: int = 3) -> Path:
    """Three runs that ended in order, of some segments each, sealed each third turn."""
    gateway = ScriptedGateway(directory, segment_octets=4000, sign=sign)
    for life in range(lives):
        for number in range(12):
            gateway.consume("orders", gateway.publish("orders"))
            gateway.turn()
            if number % 3 == 2:
                gateway.writer.seal()
        gateway.stop()
        if life < lives - 1:
            gateway.start()
    return gateway.close()


class Planted(NamedTuple):
    """What is done to the log, and what is found: by the log, a trusted key, its last head."""

    harm: Callable[[Path], None]
    alone: str
    trusted: str
    anchored: str = "by kept"


def flipped(log: Path) -> None:
    path = segment_paths(log)[1]
    octets = bytearray(path.read_bytes())
    octets[-300] ^= 1
    path.write_bytes(octets)


def edited(log: Path) -> None:
    """The record's block has the right checksum, and each segment the right hash."""
    forger = Forger(log)
    forger.change(1)
    forger.write()


def resealed(log: Path) -> None:
    """Seals say what is there now, and nobody has signed them."""
    forger = Forger(log)
    forger.change(1)
    forger.write(reseal=True)


def stripped(log: Path) -> None:
    forger = Forger(log)
    forger.change(1)
    forger.strip()
    forger.write()


def stripped_at_the_end(log: Path) -> None:
    """Of the last run alone: its stop is not sealed any more."""
    forger = Forger(log)
    forger.change(len(forger.segments) - 1)
    life = forger.segments[-1].header["incarnation"]
    forger.strip(lambda place: forger.segments[place].header["incarnation"] == life)
    forger.write(reseal=False)


def without_a_life(log: Path) -> None:
    forger = Forger(log)
    forger.drop_life(2)
    forger.write(reseal=True)


def of_another_log(log: Path) -> None:
    """A segment of another gateway, of the same number, with its seals and its signature."""
    other = log.parent / "other"
    shutil.rmtree(other, ignore_errors=True)
    sealed_log(other, KEY.sign)
    place = len(segment_paths(log)) - 1
    shutil.copy(segment_paths(other)[place], segment_paths(log)[place])


def cut_to_a_seal(log: Path) -> None:
    """Nothing is wrong with what is left: only who has kept a later head can tell."""
    path = segment_paths(log)[-1]
    forger = Forger(log)
    blocks = forger.segments[-1].blocks
    seals = [index for index, block in enumerate(blocks) if block[0] == SEAL]
    forger.segments[-1].blocks = blocks[: seals[0] + 1]
    path.write_bytes(forger.segments[-1].octets(reseal=False))


KEY: Final = Key()
PLANTED: Final = {
    each.harm.__name__: each
    for each in (
        Planted(flipped, "checksum differs", "", ""),
        Planted(edited, "when they were sealed", ""),
        Planted(resealed, "", "no trusted key has signed anything of this log"),
        Planted(stripped, "", "no trusted key has signed anything of this log"),
        Planted(stripped_at_the_end, "", "ended in order, and this is not sealed"),
        Planted(without_a_life, "run 2 of the gateway is missing", ""),
        Planted(of_another_log, "of another log", ""),
        Planted(cut_to_a_seal, "", ""),
    )
}
