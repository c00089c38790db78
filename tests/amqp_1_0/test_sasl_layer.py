import pytest
from support.frames_1_0 import octets_of, read_frames
from support.pair_1_0 import T0
from support.rules import rule
from support.scram_server import ScramServer

from gateway.amqp_1_0 import _spec, errors, events, frames
from gateway.amqp_1_0._spec import SaslChallenge, SaslMechanisms, SaslOutcome
from gateway.amqp_1_0.connection import Connection
from gateway.amqp_1_0.sasl_layer import SaslServer
from gateway.wire import bearer, sasl, scram
from gateway.wire.buffers import Writer
from gateway.wire.limits import Limits

OK = SaslOutcome(code=_spec.SASL_OK)


def scram_client(mechanism="SCRAM-SHA-256", password="pencil"):
    return scram.ScramClient(mechanism, "user", password, nonce="abc")


class Dialogue:
    """A client of ours, and the frames that we say to it as its server."""

    def __init__(self, *able):
        self.client = Connection(
            server=False,
            container_id="c",
            limits=Limits(),
            now_ms=T0,
            able=list(able),
            hostname="host",
        )
        assert self.client.data_to_send() == frames.PROTOCOL_SASL
        self.client.send_open()

    def octets(self, octets):
        return self.client.receive_data(octets, T0)

    def say(self, *said):
        return self.octets(octets_of(*said, kind=frames.SASL_FRAME))

    def heard(self):
        [(_, frame)] = read_frames(self.client.data_to_send())
        return frame

    def offer(self, *mechanisms):
        self.octets(frames.PROTOCOL_SASL)
        return self.say(SaslMechanisms(sasl_server_mechanisms=list(mechanisms)))


def violation(found):
    assert isinstance(found[-1], events.Violation), found
    return found[-1].error


def scram_dialogue(server, mechanism="SCRAM-SHA-256", password="pencil"):
    """Up to the client's final message; what the server would answer to that."""
    talk = Dialogue(scram_client(mechanism, password))
    talk.offer("PLAIN", mechanism)
    init = talk.heard()
    assert (init.mechanism, init.hostname) == (mechanism, "host")
    [asked] = talk.say(SaslChallenge(challenge=server.first(init.initial_response)))
    assert isinstance(asked, events.DerivationRequested)
    assert talk.client.data_to_send() == b""
    asked.derivation.run()
    talk.client.send_derived()
    return talk, server.final(talk.heard().response)


def test_what_the_server_offers_and_what_was_chosen_is_known():
    talk = Dialogue(scram_client("SCRAM-SHA-256", "pencil"))
    assert (talk.client.sasl_offered, talk.client.sasl_mechanism) == ([], "")
    talk.offer("PLAIN", "SCRAM-SHA-256")
    assert talk.client.sasl_offered == ["PLAIN", "SCRAM-SHA-256"]
    assert talk.client.sasl_mechanism == "SCRAM-SHA-256"


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("in_outcome", [False, True])
def test_scram_ends_well_wherever_the_last_word_comes(mechanism, in_outcome):
    talk, final = scram_dialogue(ScramServer(mechanism, "pencil"), mechanism)
    if in_outcome:
        found = talk.say(SaslOutcome(code=_spec.SASL_OK, additional_data=final))
    else:
        talk.say(SaslChallenge(challenge=final))
        assert talk.heard().response == b""
        found = talk.say(OK)
    assert isinstance(found[-1], events.Authenticated)
    octets = talk.client.data_to_send()
    assert octets.startswith(frames.PROTOCOL_AMQP)
    assert [type(frame) for _, frame in read_frames(octets)] == [_spec.Open]


@pytest.mark.parametrize("data", [None, b"v=AAAA"])
def test_a_server_that_does_not_know_the_password_is_refused(data):
    talk, _ = scram_dialogue(ScramServer("SCRAM-SHA-256", "guess"))
    found = talk.say(SaslOutcome(code=_spec.SASL_OK, additional_data=data))
    assert isinstance(violation(found), errors.ServerProofError)
    assert talk.client.closed
    assert talk.client.data_to_send() == b""


def test_a_wrong_signature_in_a_challenge_ends_it():
    talk, _ = scram_dialogue(ScramServer("SCRAM-SHA-256", "guess"))
    error = violation(talk.say(SaslChallenge(challenge=b"v=AAAA")))
    assert isinstance(error, errors.SaslError)
    assert "signature" in str(error)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (_spec.SASL_AUTH, "auth"),
        (_spec.SASL_SYS, "sys"),
        (_spec.SASL_SYS_PERM, "sys-perm"),
        (_spec.SASL_SYS_TEMP, "sys-temp"),
    ],
)
def test_a_refusal_says_by_its_code_whose_fault_it_is(code, name):
    talk = Dialogue(sasl.plain("u", "p"))
    talk.offer("PLAIN")
    talk.heard()
    error = violation(talk.say(SaslOutcome(code=code)))
    assert isinstance(error, errors.SaslRefusedError)
    assert error.code == code and f"({name})" in str(error)
    assert error.condition == "amqp:unauthorized-access"
    assert talk.client.closed


def test_the_reason_why_a_token_is_refused_is_told():
    talk = Dialogue(bearer.oauthbearer("token"))
    talk.offer("OAUTHBEARER")
    talk.heard()
    talk.say(SaslChallenge(challenge=b'{"status":"invalid_token"}'))
    assert talk.heard().response == b"\x01"
    error = violation(talk.say(SaslOutcome(code=_spec.SASL_AUTH)))
    assert str(error) == 'the server refused our credentials (auth): {"status":"invalid_token"}'


@rule("1.0", "5.3.1", "sasl-frames-of-512")
def test_a_token_longer_than_a_small_frame_is_sent_all_the_same():
    talk = Dialogue(bearer.xoauth2("u", "t" * 3000))
    talk.offer("XOAUTH2")
    assert len(talk.heard().initial_response) > 3000


def test_a_server_without_a_mechanism_of_ours_is_left():
    talk = Dialogue(sasl.plain("u", "p"))
    error = violation(talk.offer("GSSAPI", "ANONYMOUS"))
    assert isinstance(error, errors.NoMechanismError)
    assert error.offered == ["GSSAPI", "ANONYMOUS"]


def test_challenges_without_end_are_not_answered_for_ever():
    talk = Dialogue(sasl.plain("u", "p"))
    talk.offer("PLAIN")
    found = []
    for _ in range(9):
        found = talk.say(SaslChallenge(challenge=b""))
    assert str(violation(found)) == "too many rounds"


@pytest.mark.parametrize(
    "said",
    [
        [OK],
        [SaslChallenge(challenge=b"")],
        [SaslMechanisms(sasl_server_mechanisms=["PLAIN"])] * 2,
        [SaslMechanisms(sasl_server_mechanisms=["PLAIN"]), _spec.SaslResponse(response=b"")],
    ],
)
def test_frames_out_of_turn_end_the_exchange(said):
    talk = Dialogue(sasl.plain("u", "p"))
    talk.octets(frames.PROTOCOL_SASL)
    assert type(violation(talk.say(*said))) is errors.SaslError


@rule("1.0", "2.2", "mismatch-closes")
@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (frames.PROTOCOL_AMQP, "the server wants no SASL layer"),
        (b"AMQP\x02\x01\x00\x00", "the server wants TLS"),
        (b"AMQP\x00\x00\x09\x01", "the server wants protocol header 414d515000000901"),
    ],
)
def test_a_server_that_wants_another_layer_is_understood(header, reason):
    error = violation(Dialogue(sasl.plain("u", "p")).octets(header))
    assert isinstance(error, errors.ProtocolHeaderError)
    assert (error.header, str(error)) == (header, reason)


def test_a_server_that_wants_sasl_says_so_to_a_client_without():
    client = Connection(server=False, container_id="c", limits=Limits(), now_ms=T0)
    error = violation(client.receive_data(frames.PROTOCOL_SASL, T0))
    assert (error.header, str(error)) == (frames.PROTOCOL_SASL, "the server wants a SASL layer")


def test_a_server_that_hangs_up_before_the_outcome_is_lost():
    talk = Dialogue(sasl.plain("u", "p"))
    talk.offer("PLAIN")
    assert [type(e) for e in talk.client.receive_eof()] == [events.ConnectionLost]
    assert talk.client.closed


class Maker:
    """Makes the server's side of PLAIN, and notes what it is asked for."""

    def __init__(self):
        self.asked = []

    def begin(self, mechanism):
        self.asked.append(mechanism)
        return sasl.server_mechanism(mechanism) if mechanism == "PLAIN" else None


@pytest.mark.parametrize(("mechanism", "offered"), [("PLAIN", True), ("GSSAPI", False)])
def test_who_makes_mechanisms_hears_of_those_that_are_not_offered(mechanism, offered):
    maker = Maker()
    server = SaslServer(Writer(), ["PLAIN"], maker)
    server.start()
    init = _spec.SaslInit(mechanism=mechanism, initial_response=b"\0user\0pencil")
    if offered:
        assert server.receive(init).username == "user"
    else:
        with pytest.raises(errors.SaslError):
            server.receive(init)
    assert maker.asked == [mechanism]


@rule("1.0", "5.3.1", "sasl-frames-of-512")
@pytest.mark.parametrize(("mechanism", "taken"), [("PLAIN", False), ("GSSAPI", True)])
def test_a_server_takes_longer_frames_only_where_it_offers_what_needs_them(mechanism, taken):
    limits = Limits(max_frame_size=2000)
    server = Connection(
        server=True, container_id="s", limits=limits, now_ms=T0, mechanisms=[mechanism]
    )
    server.receive_data(frames.PROTOCOL_SASL, T0)
    server.data_to_send()
    init = _spec.SaslInit(mechanism="NONE", initial_response=b"x" * 1000)
    found = server.receive_data(octets_of(init, kind=frames.SASL_FRAME), T0)
    assert isinstance(violation(found), errors.SaslError) == taken


def test_there_is_an_end_to_what_a_server_takes_before_the_outcome():
    server = Connection(
        server=True,
        container_id="s",
        limits=Limits(max_frame_size=2000),
        now_ms=T0,
        mechanisms=["GSSAPI"],
    )
    server.receive_data(frames.PROTOCOL_SASL, T0)
    init = _spec.SaslInit(mechanism="GSSAPI", initial_response=b"x" * 3000)
    error = violation(server.receive_data(octets_of(init, kind=frames.SASL_FRAME), T0))
    assert isinstance(error, errors.FramingError)
