"""What a connection may be given ahead of what its transport takes, alone and beside others."""

from __future__ import annotations

from gateway.faces.accounts import TOLD, Accounts
from gateway.faces.room import LITTLE, Room
from gateway.wire.accounts import Account
from gateway.wire.limits import Limits

MIB = 1024 * 1024
MOST = Limits().unread_max


class Connection:
    """One of a user's."""

    def __init__(self, accounts: Accounts, user: str = "joe") -> None:
        self.touched = 0
        self.account = Account(128 * MIB)
        self.account.join(accounts.everybody)
        self.account.join(accounts.user(user))
        self.room = Room(self.account, accounts, Limits(message_size_max=MIB), self)
        self.room.join(accounts.user(user))

    def touch(self) -> None:
        self.touched += 1

    def sends(self, size: int) -> bool:
        """A delivery, if there is room."""
        if not self.room.has(size):
            return False
        self.room.left -= size
        return True

    def fills(self, size: int) -> bool:
        """The same, and its transport is full with it."""
        sent = self.sends(size)
        if sent:
            self.room.on_written(size)
            self.room.on_full(True)
        return sent


def test_what_filled_the_transport_is_kept_on_the_account_until_it_has_drained() -> None:
    each = Connection(Accounts())
    each.room.on_written(70_000)
    assert each.account.held == 0
    each.room.on_full(True)
    each.room.on_full(True)  # a transport says so again, whenever it is written to
    each.room.on_written(100)
    assert each.account.held == 70_100
    assert each.room.unread == 100
    each.room.on_full(False)
    assert (each.account.held, each.room.unread) == (0, 0)


def test_who_has_used_up_its_room_goes_on_when_the_transport_has_taken_it_at_once() -> None:
    each = Connection(Accounts())
    assert each.sends(MOST)
    assert not each.sends(1)
    each.room.on_written(MOST)
    assert each.touched == 1
    assert each.room.on_flushed()
    assert not each.room.on_flushed()
    assert each.sends(1)


def test_who_has_used_up_its_room_waits_for_a_transport_that_is_full() -> None:
    each = Connection(Accounts())
    each.fills(MOST)
    assert not each.sends(1)
    assert not each.room.on_flushed()
    each.room.on_written(0)
    assert not each.sends(1)
    each.room.on_full(False)
    assert each.sends(1)


def test_the_last_message_of_a_turn_may_be_larger_than_what_is_left() -> None:
    each = Connection(Accounts())
    assert each.sends(MOST - 1)
    assert each.sends(50 * MIB)
    assert not each.sends(1)


def test_connections_have_little_room_while_half_of_what_their_user_may_have_is_kept() -> None:
    accounts = Accounts(user_max=10 * MIB)
    first, second, other = Connection(accounts), Connection(accounts), Connection(accounts, "ann")
    assert first.fills(6 * MIB)
    assert second.sends(LITTLE)
    assert not second.sends(1)
    second.room.on_written(LITTLE)
    assert second.touched == 1  # there is room again in the next turn, if it has been taken
    assert other.sends(MOST - 1)
    first.room.on_full(False)
    assert second.sends(MOST)


def test_large_messages_wait_until_another_transport_has_drained() -> None:
    accounts = Accounts(user_max=10 * MIB)
    first, second = Connection(accounts), Connection(accounts)
    assert first.fills(6 * MIB)
    assert not second.sends(2 * MIB)
    assert not second.sends(2 * MIB)
    second.room.on_written(0)
    assert second.touched == 0
    first.room.on_full(False)
    assert second.touched == 1
    assert second.room.on_flushed()
    assert second.sends(2 * MIB)


def test_large_messages_go_on_when_a_connection_that_did_not_read_is_gone() -> None:
    accounts = Accounts(user_max=10 * MIB)
    first, second = Connection(accounts), Connection(accounts)
    first.fills(6 * MIB)
    assert not second.sends(2 * MIB)
    first.account.close()
    first.room.close()
    assert second.touched == 1
    assert not accounts.user("joe").pressed
    assert accounts.full == 0


def test_a_message_is_not_kept_back_for_what_is_not_unread() -> None:
    accounts = Accounts(user_max=10 * MIB)
    accounts.user("joe").note(9 * MIB)
    assert Connection(accounts).sends(2 * MIB)


def test_many_connections_together_are_given_about_half_of_what_their_user_may_have() -> None:
    accounts = Accounts(user_max=20 * MIB)
    crowd = [Connection(accounts) for _ in range(100)]
    given = sum([each.fills(MIB) for each in crowd])
    assert given == 11
    assert accounts.user("joe").held == 11 * MIB
    assert len(accounts.waiting) == 89
    crowd[0].room.on_full(False)
    assert sum([each.touched for each in crowd]) == TOLD


def test_answers_pause_reading_earlier_while_half_of_what_their_user_may_have_is_kept() -> None:
    accounts = Accounts(user_max=MIB)
    each, other = Connection(accounts), Connection(accounts)
    for connection in (each, other):
        connection.room.on_full(True)
    each.room.on_written(LITTLE)
    assert not each.room.unread_too_much(4 * LITTLE)
    other.room.on_written(8 * LITTLE)
    assert each.room.unread_too_much(4 * LITTLE)
    other.room.on_full(False)
    assert not each.room.unread_too_much(4 * LITTLE)
    each.room.on_written(3 * LITTLE)
    assert each.room.unread_too_much(4 * LITTLE)
