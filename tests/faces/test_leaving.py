"""What a connection leaves behind ends a share of a turn at a time, and it with the last of it."""

import weakref

from gateway.audit.schema import Reason
from gateway.faces.leaving import Addressee, Leaving
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
