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

import random
from functools import partial
from pathlib import Path
from typing import Final

from faults.cut_line import CutError
from faults.cutting import Cutting, Published, play_cuts
from faults.lasting_ours import LastingOurs
from faults.lasting_raw import LastingRaw
from faults.runs import Told
from support.bridge_ledger import ledger_of
from support.gateway_process import GatewayProcess

# Octets that a connection lets through: few, for handshakes; some, for commands; many, for bodies.
OCTETS: Final = (600, 2_500, 20_000, 100_000)
SIZES: Final = (0, 1, 100, 4_084, 9_000, 30_000)
Lasting = LastingRaw | LastingOurs


class Ends:
    """A publisher and a consumer of one queue, and what they know."""

    def __init__(
        self, queue: str, publisher: Lasting, consumer: Lasting, chance: random.Random
    ) -> None:
        self.queue, self.publisher, self.consumer = queue, publisher, consumer
        self.published = Published(chance, SIZES)
        self.began: set[str] = set()

    def publish(self) -> None:
        """Some messages more, as soon as the session has been attached for the first time."""
        self.published.some_more(partial(self.publisher.publish, self.queue))


class Campaign:
    """One gateway, and the four sessions."""

    def __init__(self, port: int, chance: random.Random) -> None:
        self._chance = chance
        self.cutting = Cutting(port, chance, OCTETS)
        ours, raw = LastingOurs, LastingRaw
        self.ends = [
            Ends("of-raw", raw("raw publisher"), ours("our consumer"), chance),
            Ends("of-ours", ours("our publisher"), raw("raw consumer"), chance),
        ]

    def run(self, cuts: int) -> None:
        """Cut so often, and then let all come to its end."""
        while self.cutting.cuts < cuts:
            ends = self._chance.choice(self.ends)
            self._live(ends, publishes=self._chance.random() < 0.5, whole=False)
        for ends in self.ends:
            for publishes in (True, False):
                self._live(ends, publishes=publishes, whole=True)
            ends.published.assert_came(ends.consumer.bodies)

    def _live(self, ends: Ends, *, publishes: bool, whole: bool) -> None:
        """One connection of one session, until it breaks or all is done."""
        client = ends.publisher if publishes else ends.consumer
        line = self.cutting.line(whole=whole)
        try:
            client.connect(line)
            if client.name.decode() not in ends.began:
                ends.began.add(client.name.decode())
                client.declare(ends.queue)
                if not publishes:
                    client.subscribe(ends.queue)
            if publishes and not whole:
                ends.publish()
            while not self._done(ends, publishes=publishes):
                client.go_on()
                if not publishes:
                    client.settle()
            line.cut()
        except CutError:
            self.cutting.cuts += not whole

    @staticmethod
    def _done(ends: Ends, *, publishes: bool) -> bool:
        if publishes:
            return ends.publisher.in_doubt() == 0
        in_doubt = ends.publisher.in_doubt() if ends.publisher.name.decode() in ends.began else 0
        confirmed = len(ends.published.bodies) - in_doubt
        return len(ends.consumer.bodies) >= confirmed and ends.consumer.in_doubt() == 0


def campaign(directory: Path, cuts: int, seed: int) -> Told:
    """Cut the sessions of one gateway so often; how often, and how much was sent again."""
    with GatewayProcess(directory) as gateway:
        made = Campaign(gateway.amqp_port, random.Random(seed))
        made.run(cuts)
    ledger_of(gateway.audit).assert_balanced()
    ends = made.ends
    return {
        "cuts": made.cutting.cuts,
        "messages": sum(len(each.published.bodies) for each in ends),
        "raw_replayed": ends[0].publisher.replayed + ends[1].consumer.replayed,
        "ours_resumed": ends[0].consumer.replayed + ends[1].publisher.replayed,
    }


if __name__ == "__main__":
    raise SystemExit(play_cuts(__doc__, "cuts", campaign))
