"""However many connections a user has, together they have one user's share of a turn."""

from support.net import FakeFace, Net, Wire
from support.work import units_of

from gateway.net.listening.first_octets import HEADER_0_10
from gateway.net.pump import Pump
from gateway.net.turn_shares import TurnShare, TurnShares
from gateway.wire.work import (
    ALL_STRANGERS,
    BEGUN,
    ENDED,
    EVERYBODY,
    OCTETS_READ,
    READING,
    SHARE,
    STRANGERS,
    USER,
    WORK,
)

CLIENTS = 3 * USER // SHARE


def connected(net: Net, user: str, address: str = "192.0.2.1") -> tuple[Pump, Wire, FakeFace]:
    """A client that has opened."""
    pump, wire = net.connect(address)
    pump.dataReceived(HEADER_0_10)
    face = net.faces[-1]
    face.peer.entered(user)
    net.turn()
    wire.clear()
    face.received = b""
    return pump, wire, face


def crowd(net: Net, user: str = "mallory") -> list[tuple[Pump, Wire, FakeFace]]:
    """Clients of one user, each of whose reads, and shares of a turn, are a share."""
    clients = [connected(net, user) for _ in range(CLIENTS)]
    for _, _, face in clients:
        face.units = SHARE
    return clients


def a_net() -> Net:
    return Net(connections_max=CLIENTS + 2, connections_per_address_max=CLIENTS + 2)


def test_a_share_is_that_of_one_turn() -> None:
    share = TurnShares().of("alice")
    share.use(1, USER - 1)
    assert not share.used_up(1)
    share.use(1, 1)
    assert share.used_up(1)
    assert not share.used_up(2)
    share.use(2, 1)
    assert not share.used_up(2)


def test_what_strangers_of_an_address_had_too_much_they_owe_to_the_turns_that_follow() -> None:
    shares = TurnShares(STRANGERS, ALL_STRANGERS, STRANGERS // 4, owes=True)
    address, other = TurnShare(shares), TurnShare(shares)
    address.use(1, 3 * STRANGERS + 1)
    assert [address.used_up(turn) for turn in (1, 2, 3, 4)] == [True, True, True, False]
    assert not other.used_up(4)
    address.use(4, STRANGERS - 2)
    assert not address.used_up(4)
    address.use(4, 1)
    assert address.used_up(4)
    assert not address.used_up(5)
    address.use(5, 100 * STRANGERS)
    assert not address.used_up(105)


def test_a_user_owes_nothing() -> None:
    alice = TurnShares().of("alice")
    alice.use(1, 3 * USER)
    assert alice.used_up(1)
    assert not alice.used_up(2)


def test_a_user_has_one_whatever_the_connection() -> None:
    shares = TurnShares()
    assert shares.of("alice") is shares.of("alice")
    assert shares.of("alice") is not shares.of("bob")


def greedy(shares: TurnShares, users: int, turn: int) -> list[int]:
    """So many users take a connection's share each until they have had enough: what each took."""
    took = [0] * users
    for number in range(users):
        share = shares.of(f"user-{number}")
        while not share.used_up(turn):
            share.use(turn, SHARE)
            took[number] += SHARE
    return took


def test_clients_without_a_login_are_told_apart_by_address() -> None:
    net = a_net()
    shares = [
        connected(net, user, f"192.0.2.{address}")[0].turn_share
        for user, address in (("anonymous", 1), ("anonymous", 1), ("anonymous", 2), ("alice", 2))
    ]
    assert shares[0] is shares[1]
    assert len({id(share) for share in shares}) == 3
    assert {share._all for share in shares if share is not None} == {net.turns.shares}


def test_what_comes_with_an_opening_is_of_its_address_too() -> None:
    net = a_net()
    clients = [net.connect() for _ in range(4)]
    net.turn()

    def open_and_ask(face: FakeFace) -> None:
        face.peer.entered("alice")
        WORK.units += STRANGERS // 2

    for pump, _ in clients:
        pump.dataReceived(HEADER_0_10)
    faces = net.faces[-4:]
    net.turn()
    heard: list[FakeFace] = []
    for (pump, _), face in zip(clients, faces, strict=True):
        face.receive_data = lambda _data, _now_ms, face=face: (  # type: ignore[method-assign]
            heard.append(face),
            open_and_ask(face),
        )
        pump.dataReceived(b"opens, and asks for much")
    assert heard == faces[:2]
    net.turn()
    assert heard == faces


def test_an_address_has_one_share_whether_its_clients_have_opened_or_not() -> None:
    strangers = TurnShares(STRANGERS, ALL_STRANGERS, STRANGERS // 4, owes=True)
    entering = TurnShare(strangers)
    nameless = TurnShare(TurnShares(), entering)
    entering.use(1, STRANGERS)
    nameless.use(1, USER - STRANGERS - 1)
    assert not nameless.used_up(1)
    nameless.use(1, 1)
    assert nameless.used_up(1)
    assert not nameless.used_up(2)


def test_what_those_owe_who_have_not_opened_is_not_taken_from_those_who_have() -> None:
    strangers = TurnShares(STRANGERS, ALL_STRANGERS, STRANGERS // 4, owes=True)
    entering = TurnShare(strangers)
    nameless = TurnShare(TurnShares(), entering)
    entering.use(1, 100 * USER)
    assert nameless.used_up(1)
    assert entering.used_up(2)
    assert not nameless.used_up(2)


def test_the_ends_of_those_who_have_not_opened_are_spread_over_turns_too() -> None:
    many = 3 * STRANGERS // ENDED
    net = Net(connections_max=many, connections_per_address_max=many, entering_per_address_max=many)
    strangers = [net.connect() for _ in range(many)]
    for _ in range(many * BEGUN // STRANGERS + 1):
        net.turns.end_now()  # what is owed for their beginnings

    def leave() -> None:
        for pump, _ in strangers:
            pump.connectionLost()

    assert units_of(leave) <= STRANGERS
    while net.counts.lost < many:
        assert units_of(net.turns.end_now) <= STRANGERS


def test_octets_are_work_whatever_they_are() -> None:
    net = a_net()
    pump, _, _ = connected(net, "alice")
    few = units_of(lambda: pump.dataReceived(bytes(8_000)))
    many = units_of(lambda: pump.dataReceived(bytes(64_000)))
    assert many - few == 56_000 // OCTETS_READ


def test_users_who_want_that_much_have_one_share_between_them() -> None:
    shares = TurnShares()
    greedy(shares, 5, 1)
    assert greedy(shares, 5, 2) == [USER // 5] * 5


def test_the_parts_of_very_many_are_no_less_than_one_connections_share() -> None:
    shares = TurnShares()
    greedy(shares, CLIENTS, 1)
    took = greedy(shares, CLIENTS, 2)
    assert took == [SHARE] * (USER // SHARE) + [0] * (CLIENTS - USER // SHARE)


def test_who_asks_for_little_is_not_held_up_by_those_who_ask_for_much() -> None:
    shares = TurnShares()
    greedy(shares, CLIENTS, 1)
    for turn in range(2, 5):
        greedy(shares, CLIENTS, turn)
        alice = shares.of("alice")
        assert not alice.used_up(turn)
        alice.use(turn, SHARE - 1)
        assert not alice.used_up(turn)
        assert not alice.greedy(turn)


def test_one_who_asks_for_much_once_is_as_all_others_afterwards() -> None:
    shares = TurnShares()
    greedy(shares, 2, 1)
    alice = shares.of("user-0")
    assert alice.greedy(2)
    assert not alice.used_up(2)
    assert not alice.greedy(3)
    alice.use(3, USER - 1)
    assert not alice.used_up(3)


def test_many_who_begin_at_once_have_no_longer_turn_than_two_users() -> None:
    shares = TurnShares()
    taken = 0
    for number in range(1000):
        share = shares.of(f"user-{number}")
        if not share.used_up(1):
            share.use(1, SHARE - 1)
            taken += SHARE - 1
    assert EVERYBODY <= taken < EVERYBODY + SHARE


def test_what_the_clients_of_a_user_have_to_do_is_spread_over_turns() -> None:
    net = a_net()
    clients = crowd(net)
    for _, _, face in clients:
        face.shares = 1
        net.turns.touch(face)
    done = []
    while any(face.shares for _, _, face in clients):
        assert units_of(net.turns.end_now) <= USER
        done.append(sum(face.shares == 0 for _, _, face in clients))
    assert done == [CLIENTS // 3, 2 * CLIENTS // 3, CLIENTS]


def test_each_of_them_has_its_turn_before_one_has_a_second() -> None:
    net = a_net()
    clients = crowd(net)
    for _, _, face in clients:
        face.shares = 2
        net.turns.touch(face)
    for _ in range(3):
        net.turns.end_now()
        for _, _, face in clients:
            net.turns.touch(face)  # they are behind
    assert [face.shares for _, _, face in clients] == [1] * CLIENTS


def test_many_users_together_have_no_longer_turn_than_one() -> None:
    net = Net(connections_max=100, connections_per_address_max=100)
    clients = [connected(net, f"user-{number}") for number in range(CLIENTS)]
    for _, _, face in clients:
        face.units = SHARE
        face.shares = 4
        net.turns.touch(face)
    bounds = [EVERYBODY] + [USER] * 11
    for bound in bounds:
        assert units_of(net.turns.end_now) <= bound
        for _, _, face in clients:
            net.turns.touch(face)  # they are behind
    assert [face.shares for _, _, face in clients] == [0] * CLIENTS


def test_others_are_flushed_before_those_who_had_to_wait() -> None:
    net = a_net()
    clients = crowd(net)
    _, _, polite = connected(net, "alice")
    for _, _, face in clients:
        face.shares = 1
        net.turns.touch(face)
    net.turns.end_now()
    waited = [face for _, _, face in clients if face.shares]
    order = []
    for face in waited:
        face.on_flush = lambda: order.append("mallory")
    polite.on_flush = lambda: order.append("alice")
    net.turns.touch(polite)
    net.turns.end_now()
    assert order == ["alice"] + ["mallory"] * (CLIENTS // 3)


def test_what_they_send_is_read_when_it_is_their_turn_and_nobody_elses_waits() -> None:
    net = a_net()
    clients = crowd(net)
    _, wire, polite = connected(net, "alice")
    for number, (pump, _, _) in enumerate(clients):
        pump.dataReceived(b"%d;" % number)
    pump_of(net, polite).dataReceived(b"polite")
    read = [face for _, _, face in clients if face.received]
    assert len(read) == CLIENTS // 3
    assert polite.received == b"polite"
    paused = [client for _, client, face in clients if client.producerState == "paused"]
    assert len(paused) == CLIENTS - len(read)
    turns = 0
    while len(read) < CLIENTS:
        assert units_of(net.turns.end_now) <= USER + READING * (CLIENTS // 3)
        read = [face for _, _, face in clients if face.received]
        turns += 1
    assert turns == 2
    assert wire.value() == b"polite"
    net.turn()
    for number, (_, client, face) in enumerate(clients):
        assert face.received == b"%d;" % number
        assert client.producerState == "producing"


def pump_of(net: Net, face: FakeFace) -> Pump:
    pump = net.turns._pumps[id(face)]
    assert isinstance(pump, Pump)
    return pump


def test_what_was_put_off_is_read_before_the_end_in_its_turn() -> None:
    net = a_net()
    clients = crowd(net)
    for pump, _, _ in clients:
        pump.dataReceived(b"1st;")
    last, _, face = clients[-1]
    last.dataReceived(b"2nd")
    last.connectionLost()
    assert face.received == b""
    assert face.log == []
    for _ in range(4):
        assert units_of(net.turns.end_now) <= USER + ENDED + READING * (CLIENTS // 3)
    assert face.received == b"1st;2nd"
    assert face.log == ["eof"]


def test_the_ends_of_the_clients_of_a_user_are_spread_over_turns() -> None:
    net = a_net()
    clients = crowd(net)

    def leave() -> None:
        for pump, _, _ in clients:
            pump.connectionLost()

    for _, _, face in clients:
        face.eof_units = SHARE - ENDED
    assert units_of(leave) <= USER
    ended = [sum(face.log == ["eof"] for _, _, face in clients)]
    while ended[-1] < CLIENTS:
        assert units_of(net.turns.end_now) <= USER
        ended.append(sum(face.log == ["eof"] for _, _, face in clients))
    assert ended == [CLIENTS // 3, 2 * CLIENTS // 3, CLIENTS]


def test_the_ends_of_very_many_are_spread_over_turns_whatever_they_had() -> None:
    many = 3 * USER // ENDED
    net = Net(connections_max=many, connections_per_address_max=many, entering_per_address_max=many)
    clients = [connected(net, "alice") for _ in range(many)]
    bound = USER - USER % ENDED + ENDED

    def leave() -> None:
        for pump, _, _ in clients:
            pump.connectionLost()

    assert units_of(leave) <= bound
    turns = 1
    while net.counts.lost < many:
        assert units_of(net.turns.end_now) <= bound
        turns += 1
    assert turns == 3
    assert [face.log for _, _, face in clients] == [["eof"]] * many


def test_an_end_is_work_whatever_the_connection_had() -> None:
    net = a_net()
    clients = crowd(net)
    assert units_of(lambda: [pump.connectionLost() for pump, _, _ in clients]) == CLIENTS * ENDED


def test_what_was_put_off_of_a_connection_that_is_cut_off_is_not_read() -> None:
    net = a_net()
    clients = crowd(net)
    for pump, _, _ in clients:
        pump.dataReceived(b"first")
    last, wire, face = clients[-1]
    last.abort()
    for _ in range(4):
        net.turn()
    assert wire.aborted
    assert face.received == b""


def test_who_has_not_opened_has_no_user_whose_share_it_could_be() -> None:
    net = a_net()
    crowded = crowd(net, "")
    for pump, _, _ in crowded:
        pump.dataReceived(b"x")
    pump, _ = net.connect()
    pump.dataReceived(HEADER_0_10 + b"first")
    assert net.faces[-1].received.endswith(b"first")


def test_who_has_not_opened_has_a_small_share_with_its_address() -> None:
    net = a_net()
    strangers = [net.connect() for _ in range(4)]
    other, _ = net.connect("192.0.2.2")
    for pump, _ in strangers:
        pump.dataReceived(HEADER_0_10)
        net.faces[-1].units = STRANGERS // 2 - READING
    other.dataReceived(HEADER_0_10)
    net.turn()
    faces = net.faces[:4]

    def come() -> None:
        for pump, _ in strangers:
            pump.dataReceived(b"x")

    assert units_of(come) == STRANGERS
    assert [face.received[8:] for face in faces] == [b"x", b"x", b"", b""]
    other.dataReceived(b"x")
    assert net.faces[-1].received[8:] == b"x"
    net.turn()
    assert [face.received[8:] for face in faces] == [b"x"] * 4


def test_of_many_addresses_those_that_ask_for_much_have_one_share_together() -> None:
    shares = TurnShares(STRANGERS, ALL_STRANGERS, STRANGERS // 4)
    crowd = [TurnShare(shares) for _ in range(20)]
    for share in crowd:
        share.use(1, STRANGERS)
        share.used_up(1)
    for turn in range(2, 5):
        used = 0
        for share in crowd:
            while not share.used_up(turn):
                share.use(turn, STRANGERS // 8)
                used += STRANGERS // 8
        assert STRANGERS <= used < 2 * STRANGERS
    modest = TurnShare(shares)
    assert not modest.used_up(4)
