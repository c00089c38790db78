"""Cuts the connections of 1.0 links that are resumed, at random octets, again and again.

    PYTHONPATH=$PWD/tests:$PWD python tests/faults/cuts_1_0.py --cuts 500 --results FILE [--seed 1]

A client that shares nothing with the gateway publishes to a durable queue by one link and consumes
by another. Every connection breaks after a random number of octets of each direction; then the link
is attached again, with what is unsettled. At the end every message must have been received once, in
order, and the audit log must balance.
The program makes 50 cuts with each gateway, and appends what came of it to FILE.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Final

from faults.cut_line import CutError
from faults.cutting import Cutting, Published, play_cuts
from faults.links_raw import LinkRaw
from faults.runs import Told
from support.bridge_ledger import ledger_of
from support.gateway_process import GatewayProcess

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
        self._chance = chance
        self.cutting = Cutting(port, chance, OCTETS)
        self.published = Published(chance, SIZES)
        self.publisher = LinkRaw("publisher", QUEUE, sends=True)
        self.consumer = LinkRaw("consumer", QUEUE, sends=False)

    def run(self, cuts: int) -> None:
        """Cut so often, and then let all come to its end."""
        often = (self.publisher, self.publisher, self.consumer)  # so that messages wait for it
        while self.cutting.cuts < cuts:
            self._live(self._chance.choice(often), whole=False)
        self._live(self.publisher, whole=True)
        self._live(self.consumer, whole=True)
        self.published.assert_came(self.consumer.bodies)

    def _live(self, link: LinkRaw, *, whole: bool) -> None:
        """One connection of one link, until it breaks or all is done."""
        chance = self._chance
        if link.sends and not whole:
            self.published.some_more(self.publisher.publish)
        line = self.cutting.line(whole=whole)
        try:
            link.connect(line, understands=chance.random() < 0.5)
            while not self._done(link):
                link.go_on()
                if not link.sends and (chance.random() < 0.2 or self._has_all(link)):
                    link.settle()
            line.cut()
        except CutError:
            self.cutting.cuts += not whole

    def _done(self, link: LinkRaw) -> bool:
        if link.sends:
            return link.in_doubt() == 0
        return self._has_all(link) and link.in_doubt() == 0

    def _has_all(self, link: LinkRaw) -> bool:
        """What is known to have been published has come."""
        return len(link.bodies) >= len(self.published.bodies) - self.publisher.in_doubt()


def campaign(directory: Path, cuts: int, seed: int) -> Told:
    """Cut the links of one gateway so often; how often, and how much was resumed."""
    with GatewayProcess(directory, CONFIGURATION) as gateway:
        made = Campaign(gateway.amqp_port, random.Random(seed))
        made.run(cuts)
    ledger_of(gateway.audit).assert_balanced()
    return {
        "cuts": made.cutting.cuts,
        "messages": len(made.published.bodies),
        "sent_resumed": made.publisher.resumed,
        "received_resumed": made.consumer.resumed,
    }


if __name__ == "__main__":
    raise SystemExit(play_cuts(__doc__, "cuts", campaign))
