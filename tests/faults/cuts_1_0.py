"""Cuts the connections of 1.0 links that are resumed, at random octets, again and again.

    PYTHONPATH=$PWD/tests:$PWD python tests/faults/cuts_1_0.py --cuts 500 --results FILE [--seed 1]

A client that shares nothing with the gateway publishes to a durable queue by one link and consumes
by another. Every connection breaks after a random number of octets of each direction; then the link
is attached again, with what is unsettled. At the end every message must have been received once, in
order, and the audit log must balance.
The program makes 50 cuts with each gateway, and appends what came of it to FILE.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path
from typing import Final

from faults.cut_line import CutError, CutLine
from faults.links_raw import LinkRaw
from faults.runs import Runs, Told
from support.bridge_ledger import ledger_of
from support.gateway_process import GatewayProcess

CUTS_A_RUN: Final = 50
WHOLE: Final = 1 << 40
# Octets that a connection lets through: few, for handshakes; some, for frames; many, for bodies.
OCTETS: Final = (900, 3_000, 20_000, 100_000)
SIZES: Final = (0, 1, 100, 3_990, 9_000, 30_000)
QUEUE: Final = "cut"
CONFIGURATION: Final = {
    "virtual_hosts": [{"name": "/", "queues": [{"name": QUEUE, "durable": True}]}]
}


class Campaign:
    """One gateway, a link that publishes and one that consumes."""

    def __init__(self, port: int, chance: random.Random) -> None:
        self._port, self._chance = port, chance
        self.cuts = 0
        self.published: list[bytes] = []
        self.publisher = LinkRaw("publisher", QUEUE, sends=True)
        self.consumer = LinkRaw("consumer", QUEUE, sends=False)

    def run(self, cuts: int) -> None:
        """Cut so often, and then let all come to its end."""
        often = (self.publisher, self.publisher, self.consumer)  # so that messages wait for it
        while self.cuts < cuts:
            self._live(self._chance.choice(often), whole=False)
        self._live(self.publisher, whole=True)
        self._live(self.consumer, whole=True)
        numbers = [int(body.split(b" ", 1)[0]) for body in self.consumer.bodies]
        assert self.consumer.bodies == self.published, f"{len(self.published)} sent; {numbers}"

    def _live(self, link: LinkRaw, *, whole: bool) -> None:
        """One connection of one link, until it breaks or all is done."""
        chance = self._chance
        up, down = ((WHOLE if whole else chance.randrange(chance.choice(OCTETS))) for _ in range(2))
        if link.sends and not whole:
            self._publish()
        line = CutLine(self._port, up, down, reset=chance.random() < 0.5)
        try:
            link.connect(line, understands=chance.random() < 0.5)
            while not self._done(link):
                link.go_on()
                if not link.sends and (chance.random() < 0.2 or self._has_all(link)):
                    link.settle()
            line.cut()
        except CutError:
            self.cuts += not whole

    def _publish(self) -> None:
        for _ in range(self._chance.randrange(8)):
            number = len(self.published)
            body = b"%d " % number + self._chance.randbytes(self._chance.choice(SIZES))
            self.published.append(body)
            self.publisher.publish(body)

    def _done(self, link: LinkRaw) -> bool:
        if link.sends:
            return link.in_doubt() == 0
        return self._has_all(link) and link.in_doubt() == 0

    def _has_all(self, link: LinkRaw) -> bool:
        """What is known to have been published has come."""
        return len(link.bodies) >= len(self.published) - self.publisher.in_doubt()


def campaign(directory: Path, *, cuts: int, seed: int, number: int = 0) -> Told:
    """Cut the links of one gateway so often; how often, and how much was resumed."""
    chance = random.Random(f"{seed}.{number}")
    with GatewayProcess(directory, CONFIGURATION) as gateway:
        made = Campaign(gateway.amqp_port, chance)
        made.run(cuts)
    ledger_of(gateway.audit).assert_balanced()
    return {
        "cuts": made.cuts,
        "messages": len(made.published),
        "sent_resumed": made.publisher.resumed,
        "received_resumed": made.consumer.resumed,
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
