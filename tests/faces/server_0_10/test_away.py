"""0-10 sessions whose state outlives their connections (session.request-timeout)."""

import struct

import pytest
from support.rules import rule
from support.subscribed_0_10 import accepted
from support.talk_0_10 import Client, Gateway, completed

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import STR16
from gateway.audit.schema import Reason
from gateway.faces.face import Ending
from gateway.faces.leaving import DELIVERY_OCTETS
from gateway.faces.server_0_10.negotiation import JAVA_MARK
from gateway.permissions.own_rules import OwnRules
from gateway.wire.limits import Limits
from gateway.wire.tagged import Tagged
from gateway.wire.work import SHARE, WORK

BUSY = f"ended {spec.DetachCode.SESSION_BUSY}"


def keeping(gateway: Gateway, user: str = "ann", *, timeout_s: int | None = 60) -> Client:
    """A client whose session, called name, is kept so long."""
    client = gateway.client(user)
    client.attach(b"name")
    client.session.request_timeout(timeout_s)
    client.session.keep_state()
    assert client.hears() == [f"timeout {min(timeout_s or 60, 60)}"]
    return client


def lost(client: Client) -> None:
    """Its transport is gone; it knows, too."""
    client.loses_transport()
    client.connection.receive_eof()
    client.connection.lose(client.session)


def resumes(client: Client, user: str = "ann", *, force: bool = False) -> tuple[Client, list]:
    """The client on another connection, with the session it had; what it hears."""
    again = client.gateway.client(user)
    again.channel = 3
    again.session = client.session
    again.connection.attach_again(client.session, 3, force)
    return again, again.hears()


def depth(gateway: Gateway) -> int:
    """Copies in queue q."""
    return gateway.world.bridge.default_host.topology.queues["q"].depth


def absent(gateway: Gateway) -> int:
    return len(gateway.settings.kept.absent)


# How much is granted.


@rule("0-10", "session.request-timeout", "maximum-granted-timeout")
@pytest.mark.parametrize(("asked", "granted"), [(0, 0), (59, 59), (61, 60), (None, 60)])
def test_as_much_time_is_granted_as_may_be(asked: int | None, granted: int) -> None:
    client = Gateway().session()
    client.session.request_timeout(asked)
    assert client.hears() == [f"timeout {granted}"]


def test_nothing_is_granted_where_the_configuration_says_so() -> None:
    client = Gateway(limits=Limits(session_timeout_s=0)).session()
    client.session.request_timeout(60)
    assert client.hears() == ["timeout 0"]
    lost(client)
    assert client.gateway.settings.attached == {}


def test_java_clients_that_ask_for_a_second_are_granted_nothing() -> None:
    client = Gateway().client("ann", properties=[(JAVA_MARK, Tagged(STR16, "x"))])
    client.attach()
    client.session.request_timeout(1)
    assert client.hears() == ["timeout 0"]


def test_a_client_may_take_back_what_it_asked_for() -> None:
    client = keeping(Gateway())
    client.session.request_timeout(0)
    assert client.hears() == ["timeout 0"]
    lost(client)
    assert client.gateway.settings.attached == {}
    assert client.gateway.settings.kept.names("ann") == set()


# What is kept.


def test_a_session_without_a_timeout_gives_all_back_with_its_transport() -> None:
    gateway = Gateway()
    gateway.world.queue()
    client = gateway.session()
    client.subscribes()
    client.publishes(b"1")
    assert client.gets() == [b"1"]
    lost(client)
    assert absent(gateway) == 0
    other = gateway.session()
    other.subscribes()
    assert other.gets() == [b"1"]


def test_what_is_unsettled_stays_with_the_session_and_can_be_accepted_later() -> None:
    gateway = Gateway()
    gateway.world.queue()
    client = keeping(gateway)
    client.subscribes()
    client.publishes(b"1")
    assert client.gets() == [b"1"]
    lost(client)
    assert absent(gateway) == 1
    other = gateway.session()
    other.subscribes()
    assert other.gets() == []
    again, _ = resumes(client)
    again.does(accepted((0, 0)))
    assert depth(gateway) == 0
    gateway.world.check()


def test_a_subscription_has_no_credit_while_its_session_has_no_connection() -> None:
    gateway = Gateway()
    gateway.world.queue()
    client = keeping(gateway)
    client.subscribes()
    client.hears()
    lost(client)
    producer = gateway.session()
    producer.publishes(b"1")
    producer.hears()
    again, heard = resumes(client)
    bodies = [one[2] for one in heard if isinstance(one, tuple) and len(one) == 3]
    assert bodies == [b"1"]
    producer.publishes(b"2")
    producer.hears()
    assert again.gets() == [b"2"]
    gateway.world.check()


def test_window_credit_goes_on_where_it_was() -> None:
    gateway = Gateway()
    gateway.world.queue()
    client = keeping(gateway)
    client.subscribes(credit=2)
    client.publishes(b"1")
    assert client.gets() == [b"1"]
    lost(client)
    producer = gateway.session()
    producer.publishes(b"2")
    producer.publishes(b"3")
    producer.hears()
    again, heard = resumes(client)
    assert [one[2] for one in heard if isinstance(one, tuple) and len(one) == 3] == [b"2"]
    again.completes(0, 0)
    assert again.gets() == [b"3"]


def test_an_exclusive_queue_and_a_scoped_binding_stay() -> None:
    gateway = Gateway()
    client = keeping(gateway)
    client.does(spec.QueueDeclare(queue="own", exclusive=True, auto_delete=True))
    lost(client)
    other = gateway.session()
    [refused, _] = other.does(spec.QueueDeclare(queue="own", exclusive=True))
    assert refused[0] == 405
    again, _ = resumes(client)
    [declared] = again.does(spec.QueueDeclare(queue="own", exclusive=True, auto_delete=True))
    assert declared.startswith("completed")


def test_a_transaction_goes_on() -> None:
    gateway = Gateway()
    gateway.world.queue()
    client = keeping(gateway)
    client.does(spec.TxSelect())
    client.publishes(b"1")
    client.hears()
    lost(client)
    assert depth(gateway) == 0
    again, _ = resumes(client)
    again.publishes(b"2")
    again.does(spec.TxCommit())
    assert depth(gateway) == 2
    gateway.world.check()


def test_a_branch_goes_on_that_the_session_works_in() -> None:
    gateway = Gateway()
    gateway.world.queue()
    client = keeping(gateway)
    xid = spec.Xid(format=1, global_id=b"g", branch_id=b"b")
    client.does(spec.DtxSelect(), spec.DtxStart(xid=xid))
    client.publishes(b"1")
    client.hears()
    lost(client)
    again, _ = resumes(client)
    again.publishes(b"2")
    again.does(spec.DtxEnd(xid=xid), spec.DtxPrepare(xid=xid), spec.DtxCommit(xid=xid))
    assert depth(gateway) == 2
    gateway.world.check()


def test_completions_that_the_client_has_not_heard_of_are_told_again() -> None:
    gateway = Gateway()
    gateway.world.queue()
    client = keeping(gateway)
    client.publishes(b"1")
    up = client.connection.data_to_send()
    client.face.receive_data(up, gateway.world.now_ms)
    gateway.world.turn()
    client.face.data_to_send()  # which is lost
    lost(client)
    _, heard = resumes(client)
    assert completed((0, 0)) in heard
    assert client.session.in_doubt() == 0


def test_a_transfer_that_never_came_is_published_once_when_it_is_sent_again() -> None:
    gateway = Gateway()
    gateway.world.queue()
    client = keeping(gateway)
    client.publishes(b"1")
    client.connection.data_to_send()
    lost(client)
    resumes(client)
    assert depth(gateway) == 1


def test_a_delivery_that_never_came_is_sent_again_and_not_twice() -> None:
    gateway = Gateway()
    gateway.world.queue()
    client = keeping(gateway)
    client.subscribes()
    client.hears()
    producer = gateway.session()
    producer.publishes(b"1")
    producer.hears()
    client.face.data_to_send()  # which is lost
    lost(client)
    again, heard = resumes(client)
    assert [one[2] for one in heard if isinstance(one, tuple) and len(one) == 3] == [b"1"]
    again.does(accepted((0, 0)))
    gateway.world.check()


def test_what_ends_while_nobody_is_there_is_told_at_the_next_attachment() -> None:
    gateway = Gateway()
    gateway.world.queue()
    client = keeping(gateway)
    client.subscribes()
    client.hears()
    lost(client)
    gateway.session().does(spec.QueueDelete(queue="q"))
    _, heard = resumes(client)
    assert (408, None) in heard
    assert gateway.settings.attached.keys() == {("anonymous", b"s2.1")}


def test_a_flush_has_sent_what_it_could() -> None:
    gateway = Gateway()
    gateway.world.queue()
    client = keeping(gateway)
    client.subscribes()
    client.hears()
    client.says(spec.MessageFlush(destination="d"))
    client.face.receive_data(client.connection.data_to_send(), gateway.world.now_ms)
    lost(client)
    resumes(client)
    assert client.session.in_doubt() == 0


# Whose it is.


def test_a_session_that_has_no_connection_is_attached_without_force() -> None:
    gateway = Gateway()
    client = keeping(gateway)
    lost(client)
    assert gateway.settings.kept.names("ann") == {b"name"}
    again, heard = resumes(client)
    assert "attached" in heard
    assert absent(gateway) == 0
    assert gateway.settings.kept.resumed == 1
    assert again.face.client.sessions == 1


def test_one_that_has_a_connection_is_busy_and_is_taken_over_by_force_with_its_state() -> None:
    gateway = Gateway()
    gateway.world.queue()
    client = keeping(gateway)
    client.subscribes()
    client.publishes(b"1")
    assert client.gets() == [b"1"]
    other = gateway.client("ann")
    assert other.attach(b"name") == [BUSY]
    session = client.session
    client.connection.lose(session)
    again, heard = resumes(client, force=True)
    assert "attached" in heard
    client.session = None
    assert client.face.client.sessions == 0
    again.does(accepted((0, 0)))
    gateway.world.check()


def test_what_has_come_by_the_other_connection_is_carried_out_first() -> None:
    gateway = Gateway()
    gateway.world.queue()
    client = keeping(gateway)
    for _ in range(2000):
        client.publishes(b"x")
    client.face.receive_data(client.connection.data_to_send(), gateway.world.now_ms)
    assert client.face.behind
    client.connection.lose(client.session)
    resumes(client, force=True)
    assert depth(gateway) == 2000
    gateway.world.check()


def test_a_session_is_taken_over_from_a_connection_that_is_still_ending() -> None:
    gateway = Gateway()
    gateway.world.queue()
    gateway.world.send(*[b"x"] * 3000)
    client = gateway.session("ann")
    client.subscribes()
    assert len(client.gets()) == 3000
    client.attach(b"name")
    client.session.request_timeout(60)
    client.session.keep_state()
    client.hears()
    client.face.receive_eof(gateway.world.now_ms)
    assert client.face.behind
    client.connection.receive_eof()
    client.connection.lose(client.session)
    again, heard = resumes(client, force=True)
    assert "attached" in heard
    while client.face.behind:
        client.face.data_to_send()
    assert gateway.settings.attached == {("ann", b"name"): again.face._sessions.living[3]}
    assert client.face.status() is None
    assert client.face.client._face is None, "it has left"
    assert gateway.settings.accounts.everybody.held == again.face.client.account.held


def test_a_session_is_attached_to_another_channel_of_its_connection() -> None:
    gateway = Gateway()
    gateway.world.queue()
    client = keeping(gateway)
    client.publishes(b"1")
    client.hears()
    client.session.detach()
    assert client.hears() == ["ended 0"]
    client.connection.attach_again(client.session, 7)
    assert "attached" in client.hears()
    client.publishes(b"2")
    assert client.hears() == [completed((1, 1))]


def test_other_users_and_other_hosts_have_sessions_of_their_own() -> None:
    gateway = Gateway()
    client = keeping(gateway)
    lost(client)
    other = gateway.client("bob")
    assert other.attach(b"name") == ["attached"]
    assert absent(gateway) == 1


def test_a_client_that_begins_anew_by_force_ends_what_is_of_another_host() -> None:
    gateway = Gateway(hosts=["", "far"])
    client = keeping(gateway)
    lost(client)
    other = gateway.client("ann")
    other.face.client.host = gateway.world.bridge.hosts["far"]
    assert other.attach(b"name") == [BUSY]
    assert other.attach(b"name", force=True) == ["attached"]
    assert absent(gateway) == 0


def test_a_client_without_state_is_given_what_it_may_not_have_heard() -> None:
    """It attaches the name anew, and says so by expecting nothing."""
    gateway = Gateway()
    gateway.world.queue()
    client = keeping(gateway)
    client.subscribes()
    client.publishes(b"1")
    assert client.gets() == [b"1"]
    lost(client)
    anew = gateway.client("ann")
    attached, transfer = anew.attach(b"name")
    assert (attached, transfer[2]) == ("attached", b"1")


# Its time.


def test_when_its_time_is_over_all_goes_back_in_order() -> None:
    gateway = Gateway()
    gateway.world.queue()
    client = keeping(gateway)
    client.does(spec.QueueDeclare(queue="own", exclusive=True, auto_delete=True))
    client.subscribes()
    for body in (b"1", b"2"):
        client.publishes(body)
    assert client.gets() == [b"1", b"2"]
    lost(client)
    kept = gateway.settings.kept
    assert not kept.look(gateway.world.now_ms + 59_999)
    assert kept.look(gateway.world.now_ms + 60_000)
    gateway.world.turn()
    assert (kept.expired, absent(gateway)) == (1, 0)
    assert kept.names("ann") == set()
    other = gateway.session()
    other.subscribes()
    assert other.gets() == [b"1", b"2"]
    other.does(accepted((0, 1)))
    assert depth(gateway) == 0
    assert "own" not in gateway.world.bridge.default_host.topology.queues
    gateway.world.check()
    assert gateway.settings.accounts.user("ann").held == 0


def test_after_that_the_session_is_a_new_one_that_expects_nothing() -> None:
    gateway = Gateway()
    gateway.world.queue()
    client = keeping(gateway)
    client.publishes(b"1")
    client.hears()
    client.publishes(b"2")
    client.connection.data_to_send()
    lost(client)
    gateway.settings.kept.look(gateway.world.now_ms + 60_000)
    again, heard = resumes(client)
    assert "attached" in heard
    assert depth(gateway) == 2
    again.publishes(b"3")
    again.hears()
    assert depth(gateway) == 3


def test_a_gateway_that_stops_keeps_none() -> None:
    gateway = Gateway()
    lost(keeping(gateway))
    gateway.settings.kept.end_all()
    assert absent(gateway) == 0
    client = keeping(gateway)
    client.face.force_close(gateway.world.now_ms)
    assert absent(gateway) == 0
    assert gateway.settings.attached == {}


def test_who_is_shown_the_door_by_an_operator_leaves_nothing() -> None:
    gateway = Gateway()
    client = keeping(gateway)
    client.face.force_close(gateway.world.now_ms, Ending("go", Reason.OPERATOR))
    client.hears()
    assert gateway.settings.attached == {}


# What it costs, and whom.


def test_what_is_kept_is_on_the_account_of_its_user() -> None:
    gateway = Gateway()
    gateway.world.queue()
    client = keeping(gateway)
    client.subscribes()
    client.publishes(b"x" * 5000)
    client.gets()
    user = gateway.settings.accounts.user("ann")
    before = user.held
    lost(client)
    assert user.held == before + DELIVERY_OCTETS
    assert gateway.settings.kept.octets() == user.held
    assert user.held > 5000
    again, _ = resumes(client)
    assert user.held == before
    again.completes(0, 0)
    again.does(accepted((0, 0)))
    assert user.held < before - 5000


def test_more_than_may_be_kept_for_its_user_is_not() -> None:
    gateway = Gateway()
    gateway.world.queue()
    client = keeping(gateway)
    client.subscribes()
    client.publishes(b"1")
    client.gets()
    user = gateway.settings.accounts.user("ann")
    user.limit = user.held + DELIVERY_OCTETS - 1
    lost(client)
    assert absent(gateway) == 0
    assert gateway.settings.attached == {}
    gateway.world.check()


def test_a_client_that_completes_nothing_is_sent_no_more_than_can_be_kept() -> None:
    gateway = Gateway(limits=Limits(octets_in_doubt_max=64 * 1024))
    gateway.world.queue()
    client = keeping(gateway)
    client.subscribes()
    producer = gateway.session()
    for _ in range(20):
        producer.publishes(b"x" * 8000)
    producer.hears()
    assert len(client.gets()) == 7
    client.completes(0, 6)
    assert len(client.gets()) == 7
    gateway.world.check()


def test_answers_that_are_never_completed_end_the_session() -> None:
    gateway = Gateway(limits=Limits(octets_in_doubt_max=64 * 1024))
    client = keeping(gateway)
    for _ in range(1000):
        client.says(spec.QueueQuery(queue="q" * 200))
        client.face.receive_data(client.connection.data_to_send(), gateway.world.now_ms)
        gateway.world.turn()
        client.face.data_to_send()  # which the client does not read
    assert gateway.settings.attached == {}


# Access rules.


def test_other_rules_by_which_its_user_may_not_be_here_end_it() -> None:
    gateway = Gateway()
    lost(keeping(gateway))
    gateway.settings.access.adopt(OwnRules([]), "", gateway.world.bridge.turns.spread)
    gateway.world.turn()
    assert absent(gateway) == 0
    assert gateway.settings.attached == {}


def test_a_client_that_has_lost_its_state_is_sent_messages_again_that_say_so() -> None:
    gateway = Gateway()
    gateway.world.queue()
    client = keeping(gateway)
    client.subscribes()
    client.publishes(b"1")
    assert client.gets() == [b"1"]
    lost(client)
    again = gateway.client("ann")
    heard = again.attach(b"name")
    messages = [one for one in heard if isinstance(one, tuple) and len(one) == 3]
    assert [(header[0].redelivered, body) for _, header, body in messages] == [(True, b"1")]


# Very many of them.


def control(code: int, fields: bytes) -> bytes:
    payload = struct.pack(">H", code) + fields
    return struct.pack(">BBHBBHI", 0x0F, 0, len(payload) + 12, 0, 0, 1, 0) + payload


def come_and_go(count: int) -> bytes:
    """So many sessions on one channel, each of which asks to be kept."""
    octets = b""
    for number in range(count):
        name = struct.pack(">HH", 0x0100, 4) + b"%04d" % number
        asked = control(0x0205, struct.pack(">HI", 0x0100, 60))
        octets += control(0x0201, name) + asked + control(0x0203, name)
    return octets


def sessions_begun(gateway: Gateway) -> int:
    return sum(gateway.settings.counts.sessions_opened)


def test_sessions_that_come_and_go_in_one_read_have_a_share_of_each_turn() -> None:
    gateway = Gateway()
    face = gateway.client("ann").face
    units = WORK.units
    face.receive_data(come_and_go(1000), gateway.world.now_ms)
    turns = 0
    while sessions_begun(gateway) < 1000:
        assert face.reading_paused
        assert WORK.units - units < 2.1 * SHARE
        units = WORK.units
        face.data_to_send()
        turns += 1
    assert turns > 5


def test_what_was_read_in_front_of_the_end_of_the_octets_is_carried_out() -> None:
    gateway = Gateway()
    face = gateway.client("ann").face
    face.receive_data(come_and_go(1000), gateway.world.now_ms)
    face.receive_eof(gateway.world.now_ms)
    assert sessions_begun(gateway) < 1000
    assert face.behind
    while face.behind:
        face.data_to_send()
    assert sessions_begun(gateway) == 1000
    assert face.closed


def test_who_is_closed_by_an_operator_has_been_heard_before() -> None:
    gateway = Gateway()
    face = gateway.client("ann").face
    face.receive_data(come_and_go(1000), gateway.world.now_ms)
    face.force_close(gateway.world.now_ms, Ending("go", Reason.OPERATOR))
    assert sessions_begun(gateway) == 1000
