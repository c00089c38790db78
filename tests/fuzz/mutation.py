"""Seeds from recorded conversations, and how octets are made worse."""

from __future__ import annotations

import random
from pathlib import Path

VECTORS = Path(__file__).parent.parent / "vectors"
Pieces = list[bytes]

# What finds the edges of lengths, counts and codes.
_EDGES = [0, 1, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF]


def conversations(protocol: str) -> list[Pieces]:
    """What clients sent, burst by burst, in each recorded conversation of a protocol."""
    found = []
    for path in sorted((VECTORS / protocol).glob("*.hex")):
        bursts: Pieces = []
        before = ""
        for line in path.read_text().splitlines():
            direction, octets = line[:1], bytes.fromhex(line[1:])
            if direction == ">" and before == ">":
                bursts[-1] += octets
            elif direction == ">":
                bursts.append(octets)
            before = direction
        found.append(bursts)
    return found


class Mutator:
    """Takes a seed and spoils it: a few edits of octets, sometimes of the order of pieces."""

    def __init__(self, seeds: list[Pieces], seed: int) -> None:
        self.seeds = seeds
        self.chance = random.Random(seed)

    def next(self) -> Pieces:
        chance = self.chance
        if chance.random() < 0.1:
            return [chance.randbytes(chance.randrange(200))]
        pieces = list(chance.choice(self.seeds))
        for _ in range(chance.choice([1, 1, 1, 2, 3, 8])):
            at = chance.randrange(len(pieces))
            pieces[at] = self._spoiled(pieces[at])
        if chance.random() < 0.1:
            at = chance.randrange(len(pieces))
            move = chance.choice([pieces.insert, lambda where, what: pieces.pop(where)])
            move(at, chance.choice(pieces))
        return pieces or [b""]

    def _spoiled(self, octets: bytes) -> bytes:
        chance = self.chance
        at = chance.randrange(len(octets) + 1)
        what = chance.randrange(7)
        if what == 0:
            return octets[:at] + bytes([chance.randrange(256)]) + octets[at + 1 :]
        if what == 1 and octets:
            at %= len(octets)
            return octets[:at] + bytes([octets[at] ^ 1 << chance.randrange(8)]) + octets[at + 1 :]
        if what == 2:
            width = chance.choice([1, 2, 4])
            edge = chance.choice(_EDGES) & (1 << 8 * width) - 1
            return octets[:at] + edge.to_bytes(width, "big") + octets[at + width :]
        if what == 3:
            return octets[:at]
        if what == 4:
            return octets[:at] + octets[at + chance.randrange(1, 20) :]
        if what == 5:
            end = at + chance.randrange(1, 60)
            return octets[:at] + octets[at:end] * chance.randrange(2, 5) + octets[end:]
        other = b"".join(chance.choice(self.seeds))
        start = chance.randrange(len(other) + 1)
        return octets[:at] + other[start : start + chance.randrange(1, 200)] + octets[at:]
