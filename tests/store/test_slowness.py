"""Who waits for the disk without an answer is seen to wait, and told of."""

from gateway.errors import StoreError
from gateway.store.interface import StoreCounts
from gateway.store.slowness import SLOW_MS, Slowness

TOLD = "slow: the disk has not answered for 5 s"


class Stand:
    def __init__(self) -> None:
        self.counts = StoreCounts()
        self.log: list[str] = []
        self.slowness = Slowness(self.counts, self.failed, lambda: self.log.append("eased"))

    def failed(self, error: StoreError) -> None:
        self.log.append(f"{error.cause}: {error}")

    def look(self, *times_ms: int) -> None:
        for now_ms in times_ms:
            self.slowness.look(now_ms)


def test_a_turn_that_waits_longer_than_that_is_told_of_once_and_when_it_is_over() -> None:
    stand = Stand()
    stand.look(0)
    stand.counts.turns_submitted = 3
    stand.look(60_000, 60_000 + SLOW_MS - 1)
    assert stand.log == []
    stand.look(60_000 + SLOW_MS, 60_000 + 2 * SLOW_MS)
    assert stand.log == [TOLD]
    stand.counts.turns = 2  # of the third nobody knows yet
    stand.look(80_000)
    assert stand.log == [TOLD, "eased"]


def test_a_sync_that_nobody_waits_for_counts_too() -> None:
    stand = Stand()
    stand.counts.attempts = 1
    stand.look(0, SLOW_MS)
    assert stand.log == [TOLD]
    stand.counts.answers = 1
    stand.look(SLOW_MS + 1)
    assert stand.log == [TOLD, "eased"]


def test_a_disk_that_is_always_busy_but_gets_on_is_not_slow() -> None:
    stand = Stand()
    for second in range(100):
        stand.counts.turns_submitted += 2
        stand.counts.turns += 1
        stand.look(1000 * second)
    assert stand.log == []


def test_what_it_refuses_is_passed_on_and_is_not_called_slow() -> None:
    stand = Stand()
    stand.counts.turns_submitted = 1
    stand.slowness.on_failed(StoreError("broken"))
    stand.look(0, SLOW_MS)
    stand.slowness.on_eased()
    assert stand.log == ["error: broken", "eased"]


def test_a_full_disk_that_does_not_answer_is_slow_and_full_again_when_it_does() -> None:
    stand = Stand()
    stand.slowness.on_failed(StoreError("full", full=True, on_reserve=True))
    stand.counts.turns_submitted = 1
    stand.look(0, SLOW_MS)
    stand.counts.turns = 1
    stand.look(SLOW_MS + 1)
    assert stand.log == ["full: full", TOLD, "full: full"]


def test_what_the_thread_tells_is_the_end_of_a_wait() -> None:
    stand = Stand()
    stand.counts.turns_submitted = 1
    stand.look(0, SLOW_MS)
    stand.slowness.on_failed(StoreError("broken"))
    stand.counts.attempts = stand.counts.answers = 1
    stand.look(SLOW_MS + 1)
    assert stand.log == [TOLD, "error: broken"]


def test_how_long_it_has_not_answered_is_known_until_it_does() -> None:
    stand = Stand()
    assert stand.slowness.silent() == 0
    stand.counts.turns_submitted = stand.counts.attempts = 1
    stand.look(1000, 2000, 9000)
    assert stand.slowness.silent() == 8000
    stand.counts.answers = 1
    assert stand.slowness.silent() == 0
