from gateway.faces.dialled.sleepers import Sleepers


class Sleeper:
    def __init__(self, then=None):
        self.woken = []
        self.then = then

    def handle_deadline(self, now_ms):
        self.woken.append(now_ms)
        if self.then is not None:
            self.then(self)


def test_everybody_is_woken_once_when_the_time_has_come():
    sleepers = Sleepers()
    early, late = Sleeper(), Sleeper()
    sleepers.wake(late, 20)
    sleepers.wake(early, 10)
    assert sleepers.next_deadline() == 10
    sleepers.run(15)
    assert (early.woken, late.woken) == ([15], [])
    assert sleepers.next_deadline() == 20
    sleepers.run(20)
    assert (early.woken, late.woken) == ([15], [20])
    assert sleepers.next_deadline() is None


def test_a_later_wish_takes_the_place_of_an_earlier_one():
    sleepers = Sleepers()
    sleeper = Sleeper()
    sleepers.wake(sleeper, 10)
    sleepers.wake(sleeper, 30)
    assert sleepers.next_deadline() == 30
    sleepers.run(20)
    assert sleeper.woken == []
    sleepers.run(30)
    assert sleeper.woken == [30]


def test_a_wish_can_be_called_off_also_by_one_who_wakes_earlier():
    sleepers = Sleepers()
    victim = Sleeper()
    killer = Sleeper(then=lambda _: sleepers.unwake(victim))
    sleepers.wake(killer, 10)
    sleepers.wake(victim, 10)
    sleepers.run(10)
    assert killer.woken == [10]
    assert victim.woken == []
    sleepers.unwake(victim)


def test_who_wishes_again_while_it_is_woken_waits_for_the_next_time():
    sleepers = Sleepers()
    sleeper = Sleeper(then=lambda own: sleepers.wake(own, 10))
    sleepers.wake(sleeper, 10)
    sleepers.run(10)
    assert sleeper.woken == [10]
    assert sleepers.next_deadline() == 10
