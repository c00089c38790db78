import pytest

from gateway.net.listening.fair_queue import FairQueue


def drain(queue: FairQueue[str]) -> list[str]:
    return [queue.take() for _ in range(len(queue))]


def test_however_many_one_source_has_another_waits_for_one_of_them_only() -> None:
    queue: FairQueue[str] = FairQueue()
    for number in range(100):
        queue.put("attacker", f"name {number % 3}", f"guess {number}")
    queue.put("home", "alice", "right")
    assert drain(queue)[:2] == ["guess 0", "right"]


def test_within_a_source_there_is_a_round_of_its_own_and_order_in_that() -> None:
    queue: FairQueue[str] = FairQueue()
    for what in ("mallory 1", "mallory 2", "mallory 3"):
        queue.put("balancer", "mallory", what)
    for what in ("alice 1", "alice 2"):
        queue.put("balancer", "alice", what)
    assert drain(queue) == ["mallory 1", "alice 1", "mallory 2", "alice 2", "mallory 3"]
    assert len(queue) == 0
    with pytest.raises(KeyError):
        queue.take()


def test_who_is_given_up_has_waited_longest_of_the_source_with_most() -> None:
    queue: FairQueue[str] = FairQueue()
    for what in ("mallory 1", "mallory 2", "mallory 3"):
        queue.put("balancer", "mallory", what)
    queue.put("balancer", "alice", "alice 1")
    queue.put("home", "bob", "bob 1")
    assert (queue.waiting("balancer"), queue.waiting("balancer", "alice")) == (4, 1)
    assert [queue.drop("balancer") for _ in range(3)] == ["mallory 1", "mallory 2", "mallory 3"]
    assert queue.drop("home", "bob") == "bob 1"
    assert (queue.waiting("home"), queue.waiting("home", "bob")) == (0, 0)
    with pytest.raises(KeyError):
        queue.drop("home")
    assert drain(queue) == ["alice 1"]
