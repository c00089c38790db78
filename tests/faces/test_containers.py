"""Who makes way when a connection of a container opens."""

import pytest

from gateway.faces.containers import CLOSE_EXISTING, REFUSE_CONNECTION, UNASKED, Containers
from gateway.wire.work import SHARE, WORK

NAME = ("/", "user", "container")


class Opened:
    """A `Contained` that leaves at once."""

    def __init__(self, containers):
        self.containers = containers
        self.gone = False

    def make_way(self):
        self.gone = True
        self.containers.leave(NAME, self)

    def enter(self, policy=UNASKED):
        return self.containers.enter(NAME, self, policy)


def test_all_of_a_container_make_way_for_one_that_wants_to_be_alone():
    containers = Containers()
    others = [Opened(containers) for _ in range(3)]
    assert all(other.enter().go_on(WORK.units) for other in others)
    only = Opened(containers)
    assert only.enter(CLOSE_EXISTING).go_on(WORK.units + SHARE)
    assert all(other.gone for other in others)
    assert not only.gone


def test_very_many_make_way_a_share_at_a_time_and_one_that_goes_meanwhile_does_not_matter():
    containers = Containers()
    others = [Opened(containers) for _ in range(5000)]
    for other in others:
        other.enter()
    making_way = Opened(containers).enter(CLOSE_EXISTING)
    assert not making_way.go_on(WORK.units + SHARE)
    assert 0 < sum(other.gone for other in others) < len(others)
    others[0].make_way()
    while not making_way.go_on(WORK.units + SHARE):
        pass
    assert all(other.gone for other in others)


@pytest.mark.parametrize("policy", [UNASKED, REFUSE_CONNECTION, CLOSE_EXISTING])
def test_what_is_over_keeps_nobody_out(policy):
    containers = Containers()
    first = Opened(containers)
    first.enter(REFUSE_CONNECTION)
    assert Opened(containers).enter(policy) is None
    containers.leave(NAME, first)
    containers.leave(NAME, first)
    assert Opened(containers).enter(policy) is not None
