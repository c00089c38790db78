"""What comes by TLS is opened for what that costs, in turns, and nothing of it is lost or kept."""

import pathlib
from collections import Counter
from contextlib import suppress

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding
from OpenSSL import SSL
from support.certificates import Authority
from support.net import Net, Wire
from support.tls_visit import Renewing, Visit
from support.work import units_of
from twisted.internet.defer import Deferred, succeed
from twisted.internet.protocol import Factory, Protocol
from twisted.logger import capturedLogs, formatEvent

from gateway.net.listening.first_octets import HEADER_1_0_SASL
from gateway.net.tls.files import AUTHORITIES_MAX, tls_context, upstream_tls
from gateway.net.tls.layer import (
    KEPT,
    MOST,
    PIECE,
    RENEWALS_MAX,
    SHOWN_MAX,
    Terms,
    TlsFactory,
    TlsLayer,
    WithinTls,
)
from gateway.net.tls.records import HELLO_MAX
from gateway.wire.work import (
    OCTETS_READ,
    READING,
    STRANGERS,
    TLS_ENDED,
    TLS_HANDSHAKE,
    TLS_KEY_UPDATE,
    TLS_RECORD,
    USER,
)


@pytest.fixture
def net(tmp_path: pathlib.Path) -> Net:
    certificate, key = Authority(tmp_path).issue("gateway")
    return Net(tls_context=tls_context(certificate, key, None, require_client_certificate=False))


def layer_of(visit: Visit) -> TlsLayer:
    layer = visit.pump.transport
    assert isinstance(layer, TlsLayer)
    return layer


def client(net: Net, user: str = "alice") -> Visit:
    """One that has logged in."""
    visit = Visit(net)
    visit.shakes_hands()
    visit.says(HEADER_1_0_SASL)
    net.faces[-1].peer.entered(user)
    net.turn()
    return visit


def tiny(visit: Visit, records: int) -> bytes:
    """Records of one octet each, as they cross the network."""
    for _ in range(records):
        visit.tls.send(b"x")
    found = b""
    with suppress(SSL.WantReadError):
        while True:
            found += visit.tls.bio_read(1 << 16)
    return found


def came(net: Net) -> int:
    return net.faces[-1].received.count(b"x")


def test_a_read_of_tiny_records_is_opened_in_turns(net: Net) -> None:
    visit = client(net)
    records = 3 * MOST // TLS_RECORD
    sealed = tiny(visit, records)
    turns: Counter[int] = Counter()
    net.faces[-1].receive_data = lambda data, _now_ms: turns.update({net.counts.turns: len(data)})
    first = units_of(lambda: layer_of(visit).dataReceived(sealed))
    assert MOST <= first <= MOST + PIECE + TLS_RECORD
    net.turn()
    assert turns.total() == records
    assert max(turns.values()) <= (MOST + PIECE) // TLS_RECORD


def test_what_a_piece_held_is_passed_on_as_one(net: Net) -> None:
    visit = client(net)
    reads: list[bytes] = []
    face = net.faces[-1]
    face.receive_data = lambda data, _now_ms: reads.append(data)
    layer_of(visit).dataReceived(tiny(visit, 20))
    assert reads == [b"x" * 20]


def test_the_connections_of_one_user_have_one_share_and_nobody_else_waits(net: Net) -> None:
    alices = [client(net) for _ in range(-(-USER // MOST) + 1)]
    alices_faces = net.faces[-len(alices) :]
    bob = client(net, "bob")
    for each in alices:
        layer_of(each).dataReceived(tiny(each, 2 * MOST // TLS_RECORD))
    assert [b"x" in face.received for face in alices_faces] == [True] * (len(alices) - 1) + [False]
    layer_of(bob).dataReceived(tiny(bob, 10))
    assert came(net) == 10


def test_before_a_login_there_is_less(net: Net) -> None:
    visits = [Visit(net) for _ in range(3)]
    for each in visits:
        each.shakes_hands()
        each.says(HEADER_1_0_SASL)
        net.turn()
    net.turn()
    sealed = [(layer_of(each), tiny(each, 900)) for each in visits]
    units = units_of(lambda: [layer.dataReceived(data) for layer, data in sealed])
    assert STRANGERS <= units <= STRANGERS + 2 * PIECE


def test_a_handshake_is_as_much_as_it_is(net: Net) -> None:
    visits, said = hellos(net, 2 * STRANGERS // TLS_HANDSHAKE)
    units = units_of(lambda: [layer.dataReceived(data) for layer, data in said])
    assert STRANGERS <= units < STRANGERS + 2 * TLS_HANDSHAKE
    while not all(each.pump.handshaken for each in visits):
        net.turn()
        for each in visits:
            each.goes_on()


def hellos(net: Net, clients: int) -> tuple[list[Visit], list[tuple[TlsLayer, bytes]]]:
    """So many clients of one address, and what they say first."""
    visits = [Visit(net) for _ in range(clients)]
    said = []
    for each in visits:
        with suppress(SSL.WantReadError):
            each.tls.do_handshake()
        said.append((layer_of(each), each.tls.bio_read(1 << 16)))
    return visits, said


def test_a_step_of_a_handshake_is_what_it_took_of_the_thread(net: Net) -> None:
    took = [0]

    def worked() -> int:
        took[0] += 7 * STRANGERS // 2  # since it was asked last
        return took[0]

    net.turns.worked_units = worked
    visits, said = hellos(net, 3)
    turns: list[int] = []
    for each in visits:
        each.pump.on_step = lambda: turns.append(net.counts.turns)  # type: ignore[method-assign]
    units = units_of(lambda: [layer.dataReceived(data) for layer, data in said])
    assert units == 7 * STRANGERS // 2
    net.turn()
    assert [turn - turns[0] for turn in turns] == [0, 3, 7]


def test_a_step_that_took_less_has_its_price(net: Net) -> None:
    took = iter(range(0, 100, 7))
    net.turns.worked_units = lambda: next(took)
    _, ((layer, data),) = hellos(net, 1)
    assert units_of(lambda: layer.dataReceived(data)) == TLS_HANDSHAKE


def asking_for_certificates(directory: pathlib.Path, authority: Authority) -> Net:
    """A net that takes clients with certificates of that authority."""
    own = authority.issue("gateway")
    context = tls_context(*own, authority.ca, require_client_certificate=False)
    return Net(tls_context=context)


@pytest.mark.parametrize("version", [SSL.TLS1_2_VERSION, SSL.TLS1_3_VERSION])
def test_certificates_of_a_client_have_so_many_octets(tmp_path: pathlib.Path, version: int) -> None:
    authority = Authority(tmp_path)
    net = asking_for_certificates(tmp_path, authority)
    certificate, key = authority.issue("mallory")
    one = certificate.read_bytes()
    octets = len(x509.load_pem_x509_certificate(one).public_bytes(Encoding.DER)) + 3
    few, many = tmp_path / "few.pem", tmp_path / "many.pem"
    few.write_bytes(one * (16 * 1024 // octets))
    many.write_bytes(one * (SHOWN_MAX // octets + 1))
    Visit(net, own=(few, key), version=version).shakes_hands()
    visit = Visit(net, own=(many, key), version=version)
    while not visit.server._aborting:
        visit.goes_on()
    assert not visit.pump.handshaken
    with capturedLogs() as captured:
        visit.goes()
    (line,) = [formatEvent(event) for event in captured if event["log_level"].name == "warn"]
    assert "a connection from 127.0.0.1 was refused: it sent too much before TLS" in str(line)
    assert net.counts.handshake_failures["size"] == 1
    assert net.account.held == KEPT


def test_a_chain_of_six_long_certificates_is_short_enough(tmp_path: pathlib.Path) -> None:
    key = rsa.generate_private_key(65537, 4096)
    above = root = Authority(tmp_path, key=key)
    for number in range(AUTHORITIES_MAX):
        above = Authority(
            tmp_path, f"an authority of a large company, number {number}", above=above, key=key
        )
    own = above.issue("a client of a large company", key=key)
    assert own[0].read_bytes().count(b"BEGIN") == 6
    Visit(asking_for_certificates(tmp_path, root), own=own).shakes_hands()


def test_a_hello_that_waits_for_its_turn_is_not_its_peers_time(net: Net) -> None:
    visits, said = hellos(net, STRANGERS // TLS_HANDSHAKE + 1)
    for layer, data in said:
        layer.dataReceived(data)
    assert [each.pump.behind for each in visits] == [False] * (len(visits) - 1) + [True]
    assert [each.pump.steps for each in visits] == [1] * (len(visits) - 1) + [0]
    net.turn()
    assert not visits[-1].pump.behind
    assert visits[-1].pump.steps == 1


def test_while_something_waits_nothing_is_read(net: Net) -> None:
    visit = client(net)
    server = visit.server
    states = []
    server.pauseProducing = lambda: states.append("paused")  # type: ignore[method-assign]
    server.resumeProducing = lambda: states.append("reads")  # type: ignore[method-assign]
    layer_of(visit).dataReceived(tiny(visit, 2 * MOST // TLS_RECORD))
    assert states == ["paused"]
    for _ in range(4):
        net.turn()
    assert states[-1] == "reads"
    assert states.count("reads") == 1


def test_who_wants_nothing_for_now_is_given_nothing(net: Net) -> None:
    visit = client(net)
    layer = layer_of(visit)
    layer.dataReceived(tiny(visit, 2 * MOST // TLS_RECORD))
    layer.pauseProducing()
    before = came(net)
    for _ in range(3):
        net.turn()
    assert came(net) == before
    layer.resumeProducing()
    for _ in range(3):
        net.turn()
    assert came(net) == 2 * MOST // TLS_RECORD


def test_what_came_before_the_end_is_given_before_it(net: Net) -> None:
    visit = client(net)
    records = 2 * MOST // TLS_RECORD
    layer_of(visit).dataReceived(tiny(visit, records))
    face = net.faces[-1]
    visit.goes()
    assert "eof" not in face.log
    for _ in range(3):
        net.turn()
    assert came(net) == records
    assert "eof" in face.log
    assert net.counts.lost == 1
    assert net.account.held == 0


def test_who_is_cut_off_is_given_nothing_more(net: Net) -> None:
    visit = client(net)
    layer_of(visit).dataReceived(tiny(visit, 2 * MOST // TLS_RECORD))
    before = came(net)
    visit.pump.abort()
    visit.goes()
    net.turn()
    assert came(net) == before
    assert net.counts.lost == 1


def test_who_is_cut_off_after_its_end_is_gone(net: Net) -> None:
    visit = client(net)
    layer_of(visit).dataReceived(tiny(visit, 2 * MOST // TLS_RECORD))
    visit.goes()
    visit.pump.abort()
    net.turn()
    assert net.counts.lost == 1
    assert net.account.held == 0


def test_what_waits_and_what_tls_needs_are_on_the_account(net: Net) -> None:
    visit = client(net)
    assert net.account.held == KEPT
    sealed = tiny(visit, 2 * MOST // TLS_RECORD)
    layer_of(visit).dataReceived(sealed)
    assert KEPT + len(sealed) // 3 < net.account.held < KEPT + len(sealed)
    for _ in range(3):
        net.turn()
    assert net.account.held == KEPT
    visit.goes()
    assert net.account.held == 0


@pytest.mark.parametrize("size", [1, 700])
def test_a_hello_that_says_that_it_will_be_large_ends_the_connection(net: Net, size: int) -> None:
    visit = Visit(net)
    said = b"\1" + (HELLO_MAX + 1).to_bytes(3) + b"\3\3" + bytes(1000)
    for at in range(0, len(said), size):
        fragment = said[at : at + size]
        layer_of(visit).dataReceived(b"\x16\3\1" + len(fragment).to_bytes(2) + fragment)
        net.turn()
    assert visit.server.disconnecting or visit.server.disconnected or visit.server._aborting
    visit.goes()
    assert net.counts.handshake_failures == {
        **dict.fromkeys(net.counts.handshake_failures, 0),
        "size": 1,
    }
    assert net.account.held == 0


def test_a_handshake_that_never_ends_is_ended(net: Net) -> None:
    visit = Visit(net)
    layer = layer_of(visit)
    warning = b"\x15\3\1\0\2\1\x5a"  # no_renegotiation, which says nothing now
    for _ in range(10_000):
        layer.dataReceived(warning)
        net.turn()
        if layer.disconnecting or visit.server.disconnecting:
            break
    assert layer.disconnecting or visit.server.disconnecting
    visit.goes()
    assert net.account.held == 0


def test_a_hello_of_ssl_2_is_none(net: Net) -> None:
    visit = Visit(net)
    suites = b"\0\xc0\x2f\0\xc0\x30"
    hello = b"\1\3\3" + len(suites).to_bytes(2) + b"\0\0" + b"\0\x20" + suites + bytes(32)
    layer_of(visit).dataReceived((0x8000 | len(hello)).to_bytes(2) + hello)
    assert visit.server.disconnecting or visit.server._aborting


def test_a_stall_is_of_that_connection(net: Net) -> None:
    visit = client(net)
    said = layer_of(visit).who()
    assert said.startswith("TLS of connection 1 from 127.0.0.1:")
    layer = layer_of(visit)
    visit.goes()
    assert layer.who() == "TLS of one that is over"


@pytest.mark.parametrize("asks", [False, True])
def test_new_keys_are_as_much_work_as_they_are(net: Net, asks: bool) -> None:
    visit = client(net)
    sealer = Renewing(visit)
    said = b"".join(sealer.key_update(asks=asks) for _ in range(RENEWALS_MAX))
    units = units_of(lambda: layer_of(visit).dataReceived(said))
    assert units >= RENEWALS_MAX * (TLS_RECORD + TLS_KEY_UPDATE)
    layer_of(visit).dataReceived(sealer.content(b"x"))
    assert came(net) == 1


def test_who_renews_its_keys_again_and_again_and_says_nothing_is_cut_off(net: Net) -> None:
    visit = client(net)
    layer = layer_of(visit)
    sealer = Renewing(visit)
    for _ in range(RENEWALS_MAX):
        layer.dataReceived(sealer.key_update())
        net.turn()
    layer.dataReceived(sealer.content(b"x"))
    for _ in range(RENEWALS_MAX):
        layer.dataReceived(sealer.key_update())
        net.turn()
    assert not visit.server._aborting
    layer.dataReceived(sealer.key_update())
    assert visit.server._aborting
    assert net.counts.handshake_failures["keys"] == 1
    visit.goes()
    assert net.account.held == 0


def test_who_says_a_little_between_new_keys_has_its_share_of_a_turn(net: Net) -> None:
    visit = client(net)
    sealer = Renewing(visit)
    rounds = 3 * MOST // TLS_KEY_UPDATE
    said = b"".join(sealer.key_update() + sealer.content(b"x") for _ in range(rounds))
    piece = PIECE // TLS_RECORD * (TLS_RECORD + TLS_KEY_UPDATE)
    assert units_of(lambda: layer_of(visit).dataReceived(said)) < MOST + piece
    assert came(net) < rounds
    for _ in range(5):
        net.turn()
    assert came(net) == rounds


def test_content_is_no_new_keys_however_it_comes(net: Net) -> None:
    visit = client(net)
    sealer = Renewing(visit)
    said = b"".join(sealer.content(bytes(size)) for size in (1, 3000, 0, 16_000, 5))
    layer = layer_of(visit)

    def says() -> None:
        for at in range(0, len(said), 700):
            layer.dataReceived(said[at : at + 700])

    octets = READING * len(said) // 700 + len(said) // OCTETS_READ
    assert units_of(says) < TLS_KEY_UPDATE + octets


def test_the_ends_of_the_clients_of_a_user_are_spread_over_turns(net: Net) -> None:
    clients = [client(net) for _ in range(3)]
    for each in clients[:2]:
        each.pump.turn_share.use(net.turns.number, USER // 2 - TLS_ENDED)  # type: ignore[union-attr]  # it has one
    for each in clients:
        each.goes()
    assert net.counts.lost == 1
    assert units_of(net.turn) >= 2 * TLS_ENDED
    assert net.counts.lost == 3
    assert net.account.held == 0


@pytest.mark.parametrize("user", ["alice", ""])
def test_a_full_house_that_was_lost_comes_back_while_its_ends_wait(net: Net, user: str) -> None:
    """`user`: "" for those that have not logged in, whose share is their address's."""
    net.door.connections_max = 3

    def come() -> list[Visit]:
        visits = [client(net, user) if user else Visit(net) for _ in range(3)]
        assert net.door.admit("192.0.2.1", tls_first=False) is None
        return visits

    net.turn()
    first = come()
    first[0].pump.turn_share.use(net.turns.number, USER)  # type: ignore[union-attr]  # it has one
    for each in first:
        each.goes()
    assert net.counts.lost == 0
    last = [Visit(net) for _ in range(3)]
    assert net.door.admit("192.0.2.1", tls_first=False) is None
    assert net.counts.refused["limit"] == 2
    assert [each.server.disconnected for each in first] == [True] * 3
    net.turn()
    assert net.counts.lost == 3
    for each in last:
        each.goes()
    net.turn()
    net.turn()
    assert net.counts.lost == 6
    assert net.account.held == 0


class Road:
    """An endpoint that is connected at once, to an upstream with a certificate."""

    def __init__(self, own: tuple[pathlib.Path, pathlib.Path]) -> None:
        context = SSL.Context(SSL.TLS_METHOD)
        context.use_certificate_file(str(own[0]))
        context.use_privatekey_file(str(own[1]))
        self.upstream = SSL.Connection(context, None)
        self.upstream.set_accept_state()
        self.wire = Wire()

    def connect(self, factory: TlsFactory) -> Deferred[Protocol]:
        protocol = factory.buildProtocol(None)
        self.wire.protocol = protocol
        protocol.makeConnection(self.wire)
        return succeed(protocol)

    def says(self) -> None:
        """What both have to say, till nobody has."""
        for _ in range(4):
            if self.wire.value():
                self.upstream.bio_write(self.wire.value())
                self.wire.clear()
            with suppress(SSL.WantReadError):
                self.upstream.do_handshake()
            with suppress(SSL.WantReadError):
                self.wire.protocol.dataReceived(  # type: ignore[attr-defined]  # a protocol
                    self.upstream.bio_read(1 << 16)
                )


class Heard(Protocol):
    def __init__(self) -> None:
        self.reads: list[bytes] = []

    def dataReceived(self, data: bytes) -> None:
        self.reads.append(data)


def test_what_an_upstream_sends_is_opened_in_turns(net: Net, tmp_path: pathlib.Path) -> None:
    authority = Authority(tmp_path, "another")
    road = Road(authority.issue("upstream"))
    terms = Terms(
        net.turns,
        net.account,
        1 << 16,
        net.now_ms,
        share=lambda _heard: None,
        who=lambda _heard: "an upstream",
    )
    creator = upstream_tls("127.0.0.1", ca=authority.ca)
    heard = WithinTls(creator, road, terms).connect(Factory.forProtocol(Heard)).result
    road.says()
    records = 3 * MOST // TLS_RECORD
    for _ in range(records):
        road.upstream.send(b"x")
    sealed = b""
    with suppress(SSL.WantReadError):
        while True:
            sealed += road.upstream.bio_read(1 << 16)
    road.wire.protocol.dataReceived(sealed)  # type: ignore[attr-defined]  # a protocol
    assert 0 < sum(map(len, heard.reads)) < records
    assert road.wire.producerState == "paused"
    net.turn()
    assert b"".join(heard.reads) == b"x" * records
    assert road.wire.producerState == "producing"
