"""However many connections a user has, together they have one user's share of a turn."""

from support.net import FakeFace, Net, Wire
from support.work import units_of

from gateway.net.listening.first_octets import HEADER_0_10
from gateway.net.pump import Pump
from gateway.net.turn_shares import TurnShare, TurnShares
from gateway.wire.work import SHARE, USER

CLIENTS = 3 * USER // SHARE


def connected(net: Net, user: str) -> tuple[Pump, Wire, FakeFace]:
    """A client that has opened."""
    pump, wire = net.connect()
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
    share = TurnShare()
    share.use(1, USER - 1)
    assert not share.used_up(1)
    share.use(1, 1)
    assert share.used_up(1)
    assert not share.used_up(2)
    share.use(2, 1)
    assert not share.used_up(2)


def test_a_user_has_one_whatever_the_connection() -> None:
    shares = TurnShares()
    assert shares.of("alice") is shares.of("alice")
    assert shares.of("alice") is not shares.of("bob")


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
        assert units_of(net.turns.end_now) <= USER
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


def test_what_was_put_off_is_read_before_the_end() -> None:
    net = a_net()
    clients = crowd(net)
    for pump, _, _ in clients:
        pump.dataReceived(b"first;")
    last, _, face = clients[-1]
    last.dataReceived(b"second")
    assert face.received == b""
    last.connectionLost()
    assert face.received == b"first;second"
    assert face.log == ["eof"]


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
