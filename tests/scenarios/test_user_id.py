"""Whose name a message may carry as its user-id, whatever it is wrapped in."""

import pytest
from support import talk_0_10
from support.face_1_0 import Hub, message

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.structs import write_header
from gateway.amqp_1_0 import _spec as spec_1_0
from gateway.amqp_1_0 import sections
from gateway.audit.schema import Kind, Reason
from gateway.net.listening.authenticate import Authentication
from gateway.net.listening.passwords import Passwords
from gateway.net.listening.users import make_user, write_users
from gateway.translate.batch import BATCH_FORMAT
from gateway.wire.buffers import Writer

OTHER_FORMAT = 4711
CLAIMS = [
    # identity, user-id, may it?
    ("alice@A", b"alice@A", True),
    ("alice@A", b"alice", True),
    ("alice@A", b"alice@B", False),
    ("alice@A", b"alice@", False),
    ("alice", b"alice", True),
    ("alice", b"alice@QPID", True),  # as a broker says it that gives everybody a realm
    ("alice", b"alice@B", False),
    ("alice", b"alice@QPID@B", False),
    ("alice@QPID", b"alice", True),
    ("alice", b"", True),
    ("alice", b"bob", False),
    ("anonymous", b"anonymous", True),
    ("anonymous", b"bob", False),
]


def said_by(user_id):
    return message(properties=spec_1_0.Properties(user_id=user_id))


def properties_twice(*user_ids):
    """Octets that a reader who does not mind has two properties sections in."""
    writer = Writer()
    for user_id in user_ids:
        spec_1_0.Properties(user_id=user_id).encode(writer)
    sections.write_data(writer, b"body")
    return writer.getvalue()


@pytest.fixture
def hub():
    hub = Hub()
    hub.world.queue("q")
    yield hub
    hub.end()


def sends_1_0(hub, payload, user="alice", **more):
    """Whether a message of a 1.0 user is taken; "" as the user: without a login."""
    client = hub.client(user=(user, "own") if user else None)
    before = hub.world.depth()
    state = client.send(client.sender("q"), payload, **more)
    if isinstance(state, spec_1_0.Rejected):
        assert state.error.condition == "amqp:not-allowed"
        assert hub.world.depth() == before
    return isinstance(state, spec_1_0.Accepted)


def sends_0_10(*user_ids, user="alice", logins=None):
    """The same of a 0-10 user, with one struct of message-properties for each user-id."""
    gateway = talk_0_10.Gateway()
    gateway.settings.logins = logins
    gateway.world.queue("q")
    client = gateway.session(user)
    header = write_header(spec.DeliveryProperties(routing_key="q"), None)
    for user_id in user_ids:
        header += write_header(None, spec.MessageProperties(user_id=user_id))
    client.says(spec.MessageTransfer(destination=""), header=header, body=b"body")
    heard = client.hears()
    taken = gateway.world.depth() == 1
    assert taken or (403, 0) in heard
    return taken


@pytest.mark.parametrize(("user", "user_id", "own"), CLAIMS)
def test_a_user_id_is_the_users_with_its_own_realm_or_without_any(hub, user, user_id, own):
    assert sends_0_10(user_id, user=user) is own
    assert sends_1_0(hub, said_by(user_id), user) is own


def claims(world):
    """Actor, object and reason of what the audit log has of claims."""
    return [
        (each["actor"], each["node"], Reason(each["reason"]))
        for each in world.blocks.raw()
        if each["kind"] == Kind.ACCESS_REFUSED
    ]


class Teller:
    """The operators' log."""

    def __init__(self):
        self.lines = []

    def tell_decision(self, user, connection, address, what, decision):
        self.lines.append((user, what, decision))


def test_a_claim_is_in_the_log_and_the_audit_log_with_who_made_it(hub):
    teller = Teller()
    hub.settings.access.in_force.teller = teller
    gateway = talk_0_10.Gateway()
    gateway.settings.access.in_force.teller = teller
    header = write_header(None, spec.MessageProperties(user_id=b"bob"))
    client = gateway.session("alice")
    client.says(spec.MessageTransfer(destination=""), header=header, body=b"body")
    assert (403, 0) in client.hears()
    assert not sends_1_0(hub, said_by(b"bob"))
    found = [("alice", "user-id 'bob'", Reason.WRONG_USER)]
    assert (claims(gateway.world), claims(hub.world)) == (found, found)
    line = ("alice", "publish as user-id 'bob'", "denied: it is not the connection's user")
    assert teller.lines == [line, line]


@pytest.mark.parametrize("user_ids", [(b"bob", b"alice"), (b"alice", b"bob"), (b"", b"bob", b"")])
def test_each_struct_of_message_properties_counts(user_ids):
    assert not sends_0_10(*user_ids)
    assert sends_0_10(*[b"alice" for _ in user_ids])


@pytest.mark.parametrize("user_ids", [(b"bob", b"alice"), (b"alice", b"bob"), (b"bob",)])
def test_each_properties_section_of_a_foreign_format_counts(hub, user_ids):
    payload = properties_twice(*user_ids)
    assert not sends_1_0(hub, payload, message_format=OTHER_FORMAT)
    own = properties_twice(*[b"alice" for _ in user_ids])
    assert sends_1_0(hub, own, message_format=OTHER_FORMAT)


def test_a_foreign_format_counts_as_far_as_it_can_be_read(hub):
    beyond = b"\x00\x53\x75\xa0\xff"  # a data section that does not end
    assert not sends_1_0(hub, said_by(b"bob") + beyond, message_format=OTHER_FORMAT)
    assert sends_1_0(hub, b"\xff anything", message_format=OTHER_FORMAT)
    assert sends_1_0(hub, b"", message_format=OTHER_FORMAT)


def test_a_string_where_octets_should_be_is_a_claim_in_a_foreign_format(hub):
    writer = Writer()
    spec_1_0.Properties(user_id=b"bob").encode(writer)
    as_string = writer.getvalue().replace(b"\xa0\x03bob", b"\xa1\x03bob")
    assert b"\xa1\x03bob" in as_string
    assert not sends_1_0(hub, as_string, message_format=OTHER_FORMAT)


def test_each_message_of_a_batch_counts(hub):
    writer = Writer()
    for user_id in (b"alice", b"bob"):
        sections.write_data(writer, said_by(user_id))
    assert not sends_1_0(hub, writer.getvalue(), message_format=BATCH_FORMAT)


# Clients without a login.


@pytest.fixture
def logins(tmp_path):
    """A users file with alice, beside clients without a login."""
    write_users(tmp_path / "users", {"alice": make_user("secret", 1)})
    passwords = Passwords(tmp_path / "users")
    passwords.load()
    return Authentication(None, lambda: 0, anonymous_allowed=True, passwords=passwords)


@pytest.mark.parametrize(
    ("user_id", "may"), [(b"alice", False), (b"alice@A", False), (b"guest", True), (b"", True)]
)
def test_a_client_without_a_login_is_no_user(hub, logins, user_id, may):
    hub.settings.logins = logins
    assert sends_1_0(hub, said_by(user_id), "") is may
    assert sends_0_10(user_id, user="", logins=logins) is may


def test_a_realm_that_a_user_says_does_not_make_another_user(hub, tmp_path):
    write_users(tmp_path / "users", {name: make_user("x", 1) for name in ("alice", "bob@QPID")})
    passwords = Passwords(tmp_path / "users")
    passwords.load()
    logins = Authentication(None, lambda: 0, anonymous_allowed=False, passwords=passwords)
    hub.settings.logins = logins
    for user, user_id, may in (
        ("alice", b"alice@QPID", True),
        ("alice", b"alice@B", False),
        ("bob", b"bob", True),
        ("bob", b"bob@QPID", False),
        ("alice@QPID", b"alice@QPID", True),
        ("alice@QPID", b"alice", False),
    ):
        assert sends_0_10(user_id, user=user, logins=logins) is may
        assert sends_1_0(hub, said_by(user_id), user) is may


def test_the_realm_is_the_one_that_is_configured(hub):
    hub.settings.access.in_force.realm = "BANK"
    assert sends_1_0(hub, said_by(b"alice@BANK"))
    assert not sends_1_0(hub, said_by(b"alice@QPID"))


def test_it_may_say_what_it_likes_where_nobody_logs_in(hub):
    assert sends_1_0(hub, said_by(b"alice"), "")
    assert sends_0_10(b"alice", user="")


@pytest.mark.parametrize(
    ("user", "user_id", "counted"),
    [("", b"alice", 1), ("", b"anonymous", 0), ("", b"", 0), ("", None, 0), ("alice", b"alice", 0)],
)
def test_what_nobody_could_check_is_counted_and_goes_on(hub, user, user_id, counted):
    assert sends_1_0(hub, said_by(user_id), user)
    assert hub.settings.counts.user_ids_unchecked == counted
    client = hub.client()
    client.receiver("q")
    [payload] = client.received()
    assert sections.properties(payload, sections.scan(payload)).user_id == user_id


def test_each_struct_that_nobody_could_check_is_counted_with_its_message():
    gateway = talk_0_10.Gateway()
    client = gateway.session()
    for user_ids in ((b"", b"alice"), (b"alice", b"bob"), (b"",)):
        header = write_header(spec.DeliveryProperties(discard_unroutable=True), None)
        for user_id in user_ids:
            header += write_header(None, spec.MessageProperties(user_id=user_id))
        client.says(spec.MessageTransfer(destination=""), header=header, body=b"body")
    client.hears()
    assert gateway.settings.counts.user_ids_unchecked == 2


def test_it_is_nobody_where_certificates_log_in(hub, logins):
    logins.certificates = True
    hub.settings.logins = logins
    assert not sends_1_0(hub, said_by(b"guest"), "")


@pytest.mark.parametrize(
    ("user_id", "may"), [(b"anonymous", True), (b"anonymous@QPID", True), (b"anonymous@A", False)]
)
def test_it_is_anonymous_also_where_certificates_log_in(hub, logins, user_id, may):
    logins.certificates = True
    logins.nobodys_names = frozenset(("anonymous", "anonymous@QPID"))
    hub.settings.logins = logins
    assert sends_1_0(hub, said_by(user_id), "") is may
    assert sends_0_10(user_id, user="", logins=logins) is may
