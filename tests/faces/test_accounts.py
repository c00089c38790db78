"""The accounts of users and virtual hosts."""

from gateway.faces.accounts import Accounts
from gateway.wire.accounts import Account


def test_a_user_has_one_account_for_all_of_its_connections() -> None:
    accounts = Accounts(user_max=100, host_max=200)
    assert accounts.user("alice") is accounts.user("alice")
    assert accounts.user("alice") is not accounts.user("bob")
    assert (accounts.user("alice").limit, accounts.host("h").limit) == (100, 200)


def test_refusals_are_counted_by_whose_limit_was_met() -> None:
    accounts = Accounts(user_max=100, host_max=150)
    for user in ("alice", "bob"):
        connection = Account(90)
        connection.join(accounts.everybody)
        connection.join(accounts.user(user))
        connection.join(accounts.host("h"), accounts.user(user))
        connection.take(91)
        connection.take(80)
    accounts.user("alice").take(30)
    assert accounts.refusals() == {
        "connection": 2,
        "user": 1,
        "virtual_host": 1,
        "upstream": 0,
    }


def test_all_connections_to_one_upstream_have_as_much_together_as_those_of_a_user() -> None:
    accounts = Accounts(user_max=100, host_max=200)
    for _connection in range(2):
        connection = Account(90)
        connection.join(accounts.everybody)
        connection.join(accounts.upstream("broker"))
        connection.take(60)
    assert accounts.upstream("broker").held == accounts.everybody.held == 60
    assert accounts.refusals()["upstream"] == 1


def test_users_who_have_much_leave_something_to_those_who_have_little() -> None:
    accounts = Accounts(user_max=3200, host_max=6400)
    for user, taken in (("alice", 3200), ("mallory", 2400), ("polite", 100)):
        connection = Account()
        connection.join(accounts.user(user))
        connection.join(accounts.host("h"), accounts.user(user))
        while connection.take(100):
            pass
        assert accounts.user(user).held == taken
    assert accounts.refusals()["virtual_host"] == 2
