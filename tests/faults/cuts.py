"""Cuts the connections of 0-10 sessions that outlive them, at random octets, again and again.

    PYTHONPATH=$PWD/tests:$PWD python tests/faults/cuts.py --cuts 500 --results FILE [--seed 1]

Two clients, one of which shares nothing with the gateway, publish to a queue each and consume what
the other published. Every connection breaks after a random number of octets of each direction, in
the middle of handshakes, attaches, commands and bodies; then the session is attached again. At the
end every message must have been received once, in order, every command have been completed, and the
audit log must balance.
The program makes 50 cuts with each gateway, and appends what came of it to FILE.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path
from typing import Final

from faults.cut_line import CutError, CutLine
from faults.lasting_ours import LastingOurs
from faults.lasting_raw import LastingRaw
from faults.runs import Runs, Told
from support.bridge_ledger import ledger_of
from support.gateway_process import GatewayProcess

CUTS_A_RUN: Final = 50
WHOLE: Final = 1 << 40
# Octets that a connection lets through: few, for handshakes; some, for commands; many, for bodies.
OCTETS: Final = (600, 2_500, 20_000, 100_000)
SIZES: Final = (0, 1, 100, 4_084, 9_000, 30_000)
Lasting = LastingRaw | LastingOurs


class Ends:
    """A publisher and a consumer of one queue, and what they know."""

    def __init__(self, queue: str, publisher: Lasting, consumer: Lasting) -> None:
        self.queue, self.publisher, self.consumer = queue, publisher, consumer
        self.published: list[bytes] = []
        self.began: set[str] = set()

    def publish(self, chance: random.Random) -> None:
        """Some messages more, as soon as the session has been attached for the first time."""
        for _ in range(chance.randrange(8)):
            number = len(self.published)
            body = b"%d " % number + chance.randbytes(chance.choice(SIZES))
            self.published.append(body)
            self.publisher.publish(self.queue, body)


class Campaign:
    """One gateway, and the four sessions."""

    def __init__(self, port: int, chance: random.Random) -> None:
        self._port, self._chance = port, chance
        self.cuts = 0
        self.ends = [
            Ends("of-raw", LastingRaw("raw publisher"), LastingOurs("our consumer")),
            Ends("of-ours", LastingOurs("our publisher"), LastingRaw("raw consumer")),
        ]

    def run(self, cuts: int) -> None:
        """CutError so often, and then let all come to its end."""
        while self.cuts < cuts:
            ends = self._chance.choice(self.ends)
            self._live(ends, publishes=self._chance.random() < 0.5, whole=False)
        for ends in self.ends:
            for publishes in (True, False):
                self._live(ends, publishes=publishes, whole=True)
            assert ends.consumer.bodies == ends.published, _differs(ends)

    def _live(self, ends: Ends, *, publishes: bool, whole: bool) -> None:
        """One connection of one session, until it breaks or all is done."""
        client = ends.publisher if publishes else ends.consumer
        up, down = (
            (WHOLE if whole else self._chance.randrange(self._chance.choice(OCTETS)))
            for _ in range(2)
        )
        line = CutLine(self._port, up, down, reset=self._chance.random() < 0.5)
        try:
            client.connect(line)
            if client.name.decode() not in ends.began:
                ends.began.add(client.name.decode())
                client.declare(ends.queue)
                if not publishes:
                    client.subscribe(ends.queue)
            if publishes and not whole:
                ends.publish(self._chance)
            while not self._done(ends, publishes=publishes):
                client.go_on()
                if not publishes:
                    client.settle()
            line.cut()
        except CutError:
            self.cuts += not whole

    @staticmethod
    def _done(ends: Ends, *, publishes: bool) -> bool:
        if publishes:
            return ends.publisher.in_doubt() == 0
        in_doubt = ends.publisher.in_doubt() if ends.publisher.name.decode() in ends.began else 0
        confirmed = len(ends.published) - in_doubt
        return len(ends.consumer.bodies) >= confirmed and ends.consumer.in_doubt() == 0


def _differs(ends: Ends) -> str:
    got, sent = ends.consumer.bodies, ends.published
    numbers = [int(body.split(b" ", 1)[0]) for body in got]
    return f"{ends.queue}: {len(sent)} published, received {numbers}"


def campaign(directory: Path, *, cuts: int, seed: int, number: int = 0) -> Told:
    """CutError the sessions of one gateway so often; how often, and how much was sent again."""
    chance = random.Random(f"{seed}.{number}")
    with GatewayProcess(directory) as gateway:
        campaign = Campaign(gateway.amqp_port, chance)
        campaign.run(cuts)
    ledger_of(gateway.audit).assert_balanced()
    ends = campaign.ends
    return {
        "cuts": campaign.cuts,
        "messages": sum(len(each.published) for each in ends),
        "raw_replayed": ends[0].publisher.replayed + ends[1].consumer.replayed,
        "ours_resumed": ends[0].consumer.replayed + ends[1].publisher.replayed,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cuts", type=int, default=500)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    runs = Runs(given.seed, given.results)
    directory = Path(tempfile.mkdtemp(prefix="cuts-"))

    def run(number: int, place: Path) -> Told:
        return campaign(place, cuts=CUTS_A_RUN, seed=given.seed, number=number)

    return 1 if runs.play(-(-given.cuts // CUTS_A_RUN), directory, run) else 0


if __name__ == "__main__":
    raise SystemExit(main())
