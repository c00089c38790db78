"""Other access rules, for all who are connected."""

from support.bridge_world import World
from support.own_rules import own_rules

from gateway.faces.access.book import AccessBook
from gateway.faces.access.client_access import ClientAccess
from gateway.faces.counts import FaceCounts
from gateway.permissions.asked import publishing
from gateway.wire.work import COMMAND, SHARE, WORK


class Connection:
    """Counts how often it is asked what it may have no longer; may end others."""

    def __init__(self) -> None:
        self.asked = 0
        self.others: list[ClientAccess] = []
        self.book: AccessBook

    def on_rules_changed(self, now_ms: int) -> None:
        self.asked += 1
        for other in self.others:
            self.book.dismiss(other)


def clients(world: World, book: AccessBook, count: int) -> list[tuple[Connection, ClientAccess]]:
    made = []
    for number in range(1, count + 1):
        connection = Connection()
        access = ClientAccess(book.in_force, FaceCounts(), world.bridge, number, "", connection)
        assert book.admit(access, "alice", "alice", world.host) is None
        made.append((connection, access))
    return made


def test_they_count_at_once_and_very_many_clients_are_asked_over_several_turns() -> None:
    world, book = World(), AccessBook()
    several = 3 * SHARE // COMMAND
    made = clients(world, book, several)
    spread = world.bridge.turns.spread
    units = WORK.units
    book.adopt(own_rules("allow: consume"), "f", spread)
    assert WORK.units - units < 2 * SHARE
    assert not any(access.may(publishing("", "q")) for _, access in made)
    asked = sum(connection.asked for connection, _ in made)
    assert 0 < asked < several
    assert spread.has_work
    while spread.has_work:
        units = WORK.units
        spread.run()
        assert WORK.units - units < 2 * SHARE
    assert [connection.asked for connection, _ in made] == [1] * several


def test_who_has_gone_meanwhile_is_not_asked() -> None:
    world, book = World(), AccessBook()
    (first, access), (last, _) = clients(world, book, 2)
    last.others, last.book = [access], book
    book.adopt(own_rules("allow: all"), "f", world.bridge.turns.spread)
    assert (first.asked, last.asked) == (0, 1)
