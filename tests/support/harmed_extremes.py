"""More of `harmed_records`: numbers that no gateway counts to, the greatest and the least of all.

What is wrong with them is told, and no sum or difference of them ends the job.
"""

from __future__ import annotations

from functools import reduce
from operator import xor
from typing import Final

from support.hand_log import mix
from support.harmed_records import DUPLICATE, LOST, Harmed, story, three
from support.whole_log import WholeLog

GREATEST: Final = (1 << 63) - 1
LEAST: Final = -(1 << 63)


def _stated(queue: str, **said: int) -> tuple[tuple[str, dict, dict], ...]:
    """What its checkpoint says, in the run in which its three messages came."""
    return (("QUEUE_CHECKPOINT", {"node": queue, "entered": 3}, said),)


@story
def a_checkpoint_with_the_least_numbers(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    changes = _stated(queue, depth=LEAST, entered=LEAST, octets=LEAST)
    return Harmed(((LOST, None),), changes)


@story
def a_checkpoint_with_the_greatest_depth(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    return Harmed(((DUPLICATE, None),), _stated(queue, depth=GREATEST, octets=GREATEST))


@story
def a_checkpoint_with_one_more_and_a_checksum_that_none_has(
    log: WholeLog, queue: str, first: int
) -> Harmed:
    three(log, queue, first)
    whole = reduce(xor, (mix(message, message) for message in range(first, first + 3)))
    changes = _stated(queue, depth=4, checksum=GREATEST ^ whole)
    return Harmed(((DUPLICATE, None),), changes)


@story
def an_outlet_with_the_greatest_and_one_with_the_least_count(
    log: WholeLog, queue: str, first: int
) -> Harmed:
    three(log, queue, first)
    log.take(queue, first, first + 2)
    log.take(queue, first + 1, first + 3)
    changes = tuple(
        ("OUTLET_CHECKPOINT", {"link": link}, {"sent": sent})
        for link, sent in ((first + 2, GREATEST), (first + 3, LEAST))
    )
    return Harmed(((LOST, None),), changes)


@story
def a_route_with_the_least_count_and_the_greatest_sizes(
    log: WholeLog, queue: str, first: int
) -> Harmed:
    """A counter that is below the log says nothing, nor do sizes."""
    three(log, queue, first)
    sizes = tuple(
        ("RECEIVED", {"message": message}, {"size": GREATEST}) for message in (first, first + 1)
    )
    return Harmed((), (("ROUTE_CHECKPOINT", {"exchange": queue}, {"routed": LEAST}), *sizes))
