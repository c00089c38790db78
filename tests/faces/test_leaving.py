"""What a connection leaves behind ends a share of a turn at a time, and it with the last of it."""

import weakref

from gateway.audit.schema import Reason
from gateway.faces.leaving import Addressee, KeptSessions, Leaving
from gateway.message import ACCEPTED, Outcome
from gateway.wire.work import COMMAND, SHARE, WORK


class Client:
    def __init__(self) -> None:
        self.said: list[object] = []

    def touch(self) -> None:
        self.said.append("more")

    def on_closed(self, reason: Reason) -> None:
        self.said.append(reason)


class Sessions:
    """Each costs half a share when it ends."""

    def __init__(self, count: int) -> None:
        self.names = list(range(count))
        self.ended: list[tuple[int, Reason]] = []

    def let_go(self, name: int, reason: Reason) -> None:
        WORK.units += SHARE // 2
        self.ended.append((name, reason))


def test_a_connection_ends_behind_its_last_session() -> None:
    client, sessions = Client(), Sessions(5)
    leaving: Leaving[int] = Leaving()
    leaving.begin(sessions.names, Reason.CONNECTION_LOST)
    assert leaving.gone
    cut, units = WORK.cut, WORK.units
    leaving.go_on(client, sessions.let_go)
    assert sessions.ended == [(0, Reason.CONNECTION_LOST), (1, Reason.CONNECTION_LOST)]
    assert WORK.units - units == 2 * (COMMAND + SHARE // 2)
    assert leaving.under_way
    assert WORK.cut == cut + 1
    while leaving.under_way:
        leaving.go_on(client, sessions.let_go)
    assert [name for name, _ in sessions.ended] == sessions.names
    assert client.said == ["more", "more", Reason.CONNECTION_LOST]


def test_sessions_of_a_connection_that_closes_in_good_order_have_a_reason_all_the_same() -> None:
    client, sessions = Client(), Sessions(1)
    leaving: Leaving[int] = Leaving()
    leaving.begin(sessions.names, Reason.NONE)
    leaving.go_on(client, sessions.let_go)
    assert sessions.ended == [(0, Reason.SESSION_ENDED)]
    assert client.said == [Reason.NONE]


class Publisher:
    def __init__(self) -> None:
        self.heard: list[tuple[int, Outcome]] = []

    def on_published(self, token: int, outcome: Outcome) -> None:
        self.heard.append((token, outcome))


def test_who_has_left_is_told_nothing_and_not_kept() -> None:
    publisher = Publisher()
    addressee = Addressee(publisher)
    addressee.on_published(1, ACCEPTED)
    addressee.leave()
    addressee.on_published(2, ACCEPTED)
    assert publisher.heard == [(1, ACCEPTED)]
    left = weakref.ref(publisher)
    del publisher
    assert left() is None


class Held:
    """An `Absent` that ends when it is told to."""

    octets = 10

    def __init__(self, kept: KeptSessions, number: int, deadline_ms: int, work: int = 0) -> None:
        self._kept, self._number, self._work = kept, number, work
        self.deadline_ms = deadline_ms
        kept.absent[number] = self

    def leave(self) -> None:
        """Nothing."""

    def end(self, reason: Reason) -> None:
        del self._kept.absent[self._number]
        WORK.units += self._work


def test_those_whose_time_is_over_end_and_no_others() -> None:
    kept = KeptSessions()
    for number, deadline_ms in enumerate((5, 9, 7)):
        Held(kept, number, deadline_ms)
    assert kept.octets() == 30
    assert not kept.look(4)
    assert kept.look(7)
    assert (list(kept.absent), kept.expired) == ([1], 2)
    kept.end_all()
    assert kept.absent == {}


def test_no_more_of_them_end_at_once_than_are_a_share_of_a_turn() -> None:
    kept = KeptSessions()
    for number in range(3):
        Held(kept, number, 1, work=SHARE + 1)
    assert kept.look(1)
    assert len(kept.absent) == 2
    assert kept.look(1) and kept.look(1)
    assert kept.absent == {}


def test_the_names_of_a_user_are_one_set_for_all_who_ask() -> None:
    kept = KeptSessions()
    kept.names("ann").add(b"s")
    assert kept.names("ann") == {b"s"}
    assert kept.names("bob") == set()


def test_one_session_may_be_ended_before_its_turn() -> None:
    leaving: Leaving[str] = Leaving()
    gone: list[tuple[str, Reason]] = []
    leaving.begin(["a", "b", "c"], Reason.CONNECTION_LOST)
    leaving.hurry(lambda each: each == "b", lambda each, reason: gone.append((each, reason)))
    assert gone == [("b", Reason.CONNECTION_LOST)]
    assert leaving.under_way
