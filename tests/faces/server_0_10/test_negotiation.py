"""How a 0-10 connection opens, as a conversation."""

import pytest
from support import drive_0_10 as drive
from support.derivations import respond
from support.rules import rule
from support.talk_0_10 import TAG, Client, Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.events import Tuned
from gateway.net.listening.users import derive
from gateway.wire.places import Elsewhere, Place
from gateway.wire.sasl import Keys
from gateway.wire.scram import ScramClient


@rule("0-10", "connection.start.locales", "required-support")
@rule("0-10", "connection.open.insist", "behavior")
@rule("0-10", "connection.start.server-properties", "required-fields")
def test_a_client_is_led_through_the_negotiation() -> None:
    start, tuned, open_ok = Client(Gateway()).open("ann")
    assert start.mechanisms == ["PLAIN", "ANONYMOUS"]
    assert start.locales == ["en_US"]
    properties = {key: tagged.value for key, tagged in start.server_properties}
    assert properties["qpid.federation_tag"] == TAG
    assert properties.keys() >= {"host", "product", "version", "platform", "information"}
    assert [each.value for each in properties["qpid.features"]] == ["qpid.jms-selector"]
    assert isinstance(tuned, Tuned)
    assert open_ok == spec.ConnectionOpenOk(known_hosts=[])


def test_the_authenticator_is_shown_what_the_client_says() -> None:
    client = Client(Gateway())
    client.hears()
    client.connection.send_start_ok([], "PLAIN", b"\0ann\0secret", "en_US")
    assert client.hears() == []
    [(credentials, _)] = client.authenticator.asked
    assert (credentials.username, credentials.password) == ("ann", "secret")


def test_a_client_that_is_not_who_it_says_is_closed_with_320() -> None:
    client = Client(Gateway())
    client.hears()
    client.connection.send_start_ok([], "PLAIN", b"\0ann\0wrong", "en_US")
    client.hears()
    client.authenticated(None)
    assert client.hears() == ["closed 320"]
    assert client.face.closed
    assert client.gateway.settings.counts.authentication_failures == [1, 0]


@rule("0-10", "connection.start-ok.mechanism", "validity")
def test_a_mechanism_that_was_not_offered_closes_the_transport_without_a_word() -> None:
    client = Client(Gateway())
    client.hears()
    client.connection.send_start_ok([], "GSSAPI", b"", "en_US")
    assert client.hears() == []
    assert client.face.closed


def proved(client: Client, final: bytes, *, known: bool = True) -> list[object]:
    """What comes of a SCRAM exchange, of which the client says `final` after the server's word."""
    client.hears()
    scram = ScramClient("SCRAM-SHA-256", "ann", "secret", nonce="abc")
    octets = drive.control(
        spec.ConnectionStartOk(mechanism="SCRAM-SHA-256", response=scram.initial())
    )
    client.face.receive_data(octets, 0)
    made = derive("secret", "SCRAM-SHA-256", b"salt", 4096)
    [(credentials, _)] = client.authenticator.asked
    credentials.keys = Keys(b"salt", 4096, stored_key=made.stored_key, server_key=made.server_key)
    client.authenticated("ann")
    [secure] = drive.values(client.face.data_to_send())
    assert client.face.client.identity != "ann"  # nothing is proved yet
    answer = respond(scram, secure.challenge)
    client.face.receive_data(drive.control(spec.ConnectionSecureOk(response=answer)), 0)
    assert credentials.proven
    client.authenticated("ann" if known else None)
    if not known:
        return drive.values(client.face.data_to_send())
    assert client.face.client.identity == "ann"
    [secure] = drive.values(client.face.data_to_send())
    assert scram.respond(secure.challenge) == b""
    client.face.receive_data(drive.control(spec.ConnectionSecureOk(response=final)), 0)
    return drive.values(client.face.data_to_send())


def test_scram_ends_with_the_servers_proof_as_a_challenge_and_an_empty_answer() -> None:
    [tune] = proved(Client(Gateway()), b"")
    assert isinstance(tune, spec.ConnectionTune)


@pytest.mark.parametrize(("final", "known"), [(b"more", True), (b"", False)])
def test_scram_that_ends_otherwise_is_closed_with_320(final: bytes, known: bool) -> None:
    [close] = proved(Client(Gateway()), final, known=known)
    assert isinstance(close, spec.ConnectionClose)
    assert close.reply_code == 320


def test_plain_without_a_response_is_asked_for_it() -> None:
    client = Client(Gateway())
    client.hears()
    octets = drive.control(spec.ConnectionStartOk(mechanism="PLAIN"))
    client.face.receive_data(octets, 0)
    assert drive.values(client.face.data_to_send()) == [spec.ConnectionSecure(challenge=b"")]
    octets = drive.control(spec.ConnectionSecureOk(response=b"\0ann\0secret"))
    client.face.receive_data(octets, 0)
    client.authenticated("ann")
    [tune] = drive.values(client.face.data_to_send())
    assert tune.heartbeat_min == 0


def test_an_answer_that_comes_too_late_is_nothing() -> None:
    client = Client(Gateway())
    client.hears()
    client.connection.send_start_ok([], "PLAIN", b"\0ann\0secret", "en_US")
    client.hears()
    client.loses_transport()
    assert client.authenticator.forgotten == 1
    client.authenticated("ann")
    assert client.face.data_to_send() == b""


@pytest.mark.parametrize("name", ["", "/", "other", None])
def test_with_one_virtual_host_every_name_reaches_it(name: str | None) -> None:
    client = Client(Gateway())
    client.hears()
    client.connection.send_start_ok([], "ANONYMOUS", b"", "en_US")
    client.hears()
    client.authenticated("anonymous")
    client.hears()
    client.face.receive_data(drive.control(spec.ConnectionOpen(virtual_host=name)), 0)
    assert drive.values(client.face.data_to_send()) == [spec.ConnectionOpenOk(known_hosts=[])]


@pytest.mark.parametrize(("name", "code"), [("test", None), ("/test", None), ("none", 402)])
def test_with_several_virtual_hosts_an_unknown_name_is_an_invalid_path(
    name: str, code: int | None
) -> None:
    client = Client(Gateway(hosts=["/", "test"]))
    client.hears()
    client.connection.send_start_ok([], "ANONYMOUS", b"", "en_US")
    client.hears()
    client.authenticated("anonymous")
    client.hears()
    client.connection.send_open(name)
    [answer] = client.hears()
    if code is None:
        assert isinstance(answer, spec.ConnectionOpenOk)
        assert client.face.client.host.name == "test"
    else:
        assert answer == f"closed {code}"


def test_a_stopping_gateway_opens_no_connection() -> None:
    client = Client(Gateway())
    client.face.drain(0)
    client.hears()
    client.connection.send_start_ok([], "ANONYMOUS", b"", "en_US")
    client.hears()
    client.authenticated("anonymous")
    client.hears()
    client.connection.send_open("")
    assert client.hears() == ["closed 320"]


ELSEWHERE = Elsewhere(
    Place(False, "b.example", 5672), [Place(False, "::1", 5673), Place(True, "c.example", 5671)]
)
KNOWN = ["amqp:tcp:[::1]:5673", "amqp:ssl:c.example:5671"]


def opening(insist: bool, elsewhere: Elsewhere) -> tuple[Client, list[object]]:
    """A client that has just asked to open the virtual host, and what it was told."""
    client = Client(Gateway())
    client.gateway.settings.elsewhere["/"] = elsewhere
    client.hears()
    client.connection.send_start_ok([], "ANONYMOUS", b"", "en_US")
    client.hears()
    client.authenticated("anonymous")
    client.hears()
    client.connection.send_open("", insist)
    client.face.receive_data(client.connection.data_to_send(), 0)
    return client, drive.values(client.face.data_to_send())


@rule("0-10", "connection.open.insist", "behavior")
def test_who_insists_is_not_sent_elsewhere_but_told_of_it() -> None:
    client, answers = opening(True, ELSEWHERE)
    assert answers == [spec.ConnectionOpenOk(known_hosts=KNOWN)]
    assert client.gateway.settings.counts.connections_opened == [1, 0]


def test_who_does_not_insist_is_sent_elsewhere_and_opens_nothing() -> None:
    client, answers = opening(False, ELSEWHERE)
    assert answers == [
        spec.ConnectionRedirect(host="amqp:tcp:b.example:5672", known_hosts=KNOWN),
    ]
    assert client.gateway.settings.counts.connections_opened == [0, 0]
    assert client.gateway.settings.counts.connections_redirected == [1, 0]
    client.face.receive_data(drive.control(spec.ConnectionClose(reply_code=200)), 0)
    assert drive.values(client.face.data_to_send()) == [spec.ConnectionCloseOk()]
    assert client.face.closed


def test_who_was_sent_elsewhere_and_stays_is_cut_off_in_time() -> None:
    client, _ = opening(False, ELSEWHERE)
    due = client.face.next_deadline()
    assert due is not None
    client.face.handle_deadline(due)
    assert client.face.closed


def test_who_was_sent_elsewhere_can_do_nothing_here() -> None:
    client, _ = opening(False, ELSEWHERE)
    client.face.receive_data(drive.control(spec.SessionAttach(name=b"s"), channel=1), 0)
    assert drive.values(client.face.data_to_send()) == []


def test_without_a_redirect_nobody_need_insist() -> None:
    _, answers = opening(False, Elsewhere(None, ELSEWHERE.known))
    assert answers == [spec.ConnectionOpenOk(known_hosts=KNOWN)]
