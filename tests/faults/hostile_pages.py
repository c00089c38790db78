"""Attacks on queues that are larger than memory: pages that are wanted all the time."""

from __future__ import annotations

from collections.abc import Sequence

from support.gateway_process import GatewayProcess
from support.raw_peers import Raw, Raw010

from gateway.amqp_0_10 import _spec as spec
from gateway.wire.work import SHARE

from .hostile import MIB, Attack
from .hostile_clients import FULL, logged_in
from .hostile_work import filled

BROWSERS = 4
TRANSFER = 60  # octets of one, at least


def looked_through(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Several browsers want all pages of a queue at once, then it is purged."""
    client, session = filled(gateway, count)
    for name in ("all", "settled"):
        browsers: list[Raw010] = []
        for _ in range(BROWSERS):
            browser, its = logged_in(gateway)
            accept_mode = 1 if name == "settled" else 0
            browser.does(
                its,
                [
                    spec.MessageSubscribe(
                        queue="q", destination=name, accept_mode=accept_mode, acquire_mode=1
                    ),
                    spec.MessageFlow(destination=name, unit=0, value=FULL),
                    spec.MessageFlow(destination=name, unit=1, value=FULL),
                ],
            )
            browsers.append(browser)
        for browser in browsers:
            seen = 0
            while seen < count * TRANSFER and (heard := browser.hear()):
                seen += len(heard)
            browser.close()
    client.does(session, [spec.QueuePurge(queue="q")])
    return [client]


ATTACKS = (
    Attack(
        "pages of a queue larger than memory",
        looked_through,
        200_000,
        8_000,
        config={"queues": {"memory": "256KiB"}},
        units_max=400 * SHARE,
        kept_max=64 * MIB,
        grown_max=64 * MIB,
    ),
)
