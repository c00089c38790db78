from gateway.permissions.quotas import Quotas


class Living:
    """The queues that there are."""

    def __init__(self) -> None:
        self.queues: set[tuple[str, str, int]] = set()

    def lives(self, host: str, name: str, number: int) -> bool:
        return (host, name, number) in self.queues


def test_connections_are_counted_for_each_user():
    quotas = Quotas()
    quotas.connected("alice")
    quotas.connected("alice")
    quotas.connected("bob")
    quotas.disconnected("alice")
    quotas.disconnected("bob")
    assert (quotas.connections("alice"), quotas.connections("bob")) == (1, 0)


def test_who_has_made_as_many_queues_as_allowed_makes_no_more_until_one_is_gone():
    quotas, living = Quotas(), Living()
    for number, name in enumerate("ab"):
        assert quotas.has_room("alice", 2, living)
        living.queues.add(("host", name, number))
        quotas.made("alice", "host", name, number)
    assert not quotas.has_room("alice", 2, living)
    assert quotas.has_room("bob", 2, living)
    living.queues.remove(("host", "a", 0))
    assert quotas.has_room("alice", 2, living)


def test_another_queue_of_the_same_name_is_not_the_one_that_was_made():
    quotas, living = Quotas(), Living()
    living.queues = {("host", "a", 7)}
    quotas.made("alice", "host", "a", 1)
    assert quotas.has_room("alice", 1, living)


def test_without_a_limit_there_is_room_and_with_none_allowed_never():
    quotas, living = Quotas(), Living()
    assert quotas.has_room("alice", -1, living)
    assert not quotas.has_room("alice", 0, living)
