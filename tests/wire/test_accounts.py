"""What is kept on somebody's behalf, in octets."""

from gateway.wire.accounts import DECODED, Account, weigh
from gateway.wire.tagged import Tagged


def test_what_passes_the_limit_is_refused_and_not_counted() -> None:
    account = Account(100)
    assert account.take(60)
    assert not account.take(41)
    assert (account.held, account.refused) == (60, 1)
    account.give(20)
    assert account.take(60)
    assert account.held == 100


def test_what_a_connection_keeps_counts_for_all_above_it() -> None:
    user, host = Account(100), Account(150)
    first, second = Account(1000), Account(1000)
    for connection in (first, second):
        connection.join(user)
        connection.join(host)
    assert first.take(70)
    assert not second.take(40)
    assert (user.held, host.held, second.held) == (70, 70, 0)
    assert (user.refused, host.refused, second.refused) == (1, 0, 0)


def test_what_is_kept_already_counts_for_who_is_joined() -> None:
    connection, user = Account(), Account(10)
    connection.note(30)
    connection.join(user)
    assert user.held == 30
    assert not connection.take(1)


def test_whoever_leaves_takes_all_of_it_along() -> None:
    connection, user = Account(), Account()
    connection.join(user)
    connection.note(30)
    connection.close()
    assert (connection.held, user.held) == (0, 0)
    connection.give(5)  # something of it is let go later
    assert user.held == 0


def test_an_account_knows_how_often_those_below_it_met_their_own_limits() -> None:
    connection, everybody = Account(10), Account()
    connection.join(everybody)
    assert not connection.take(11)
    assert (everybody.refused, everybody.refused_below) == (0, 1)


def test_what_there_is_no_room_for_is_counted_as_refused() -> None:
    account = Account(10)
    assert account.has_room(10)
    assert not account.has_room(11)
    assert (account.held, account.refused) == (0, 1)


def test_a_decoded_value_weighs_at_least_what_its_memory_is() -> None:
    nulls: list[object] = [Tagged(1, None) for _ in range(1000)]
    assert weigh(nulls) >= DECODED * 1000
    assert weigh("x" * 1000) > 1000
    assert weigh({"key": Tagged(2, b"x" * 500)}) > 500
    assert weigh([("key", Tagged(3, 1.5))]) > 64
    assert weigh(object()) >= DECODED * 1024
