"""A message that came by 0-10 is in the books, whatever is wrong with it."""

import pytest
from support import drive_0_10, talk_0_10
from support.books import books, identities

from gateway.amqp_0_10 import _spec as spec
from gateway.audit.schema import Kind, Reason
from gateway.bridge.limits import BridgeLimits
from gateway.faces.face import Ending
from gateway.translate.original_ids import digest_of_uuid
from gateway.wire.limits import Limits


@pytest.mark.parametrize("octets", [5_000, 100_000], ids=["one frame", "many frames"])
def test_a_transfer_that_is_too_large_is_in_the_books(octets):
    gateway = talk_0_10.Gateway(limits=Limits(message_size_max=4096))
    gateway.world.queue()
    client = gateway.session()
    client.publishes(b"x" * octets)
    assert (506, 0) in client.hears()
    assert books(gateway.world) == (1, [Reason.OVER_LIMIT])
    (record,) = [each for each in gateway.world.blocks.records() if each.kind == Kind.RECEIVED]
    assert 4096 < record.size <= octets + 100


def test_a_transfer_with_too_large_a_header_is_in_the_books():
    gateway = talk_0_10.Gateway(limits=Limits(table_size_max=4096))
    client = gateway.session()
    client.says(spec.MessageTransfer(), header=b"h" * 5_000, body=b"x")
    client.hears()
    assert books(gateway.world) == (1, [Reason.OVER_LIMIT])


def test_a_transfer_that_ends_its_session_is_in_the_books_and_so_is_what_came_behind_it():
    gateway = talk_0_10.Gateway()
    gateway.world.queue()
    client = gateway.session("ann")
    client.publishes(b"x", message=spec.MessageProperties(user_id=b"bob"))
    client.publishes(b"y")
    client.says(spec.MessageTransfer(), header=b"\x00\x00\x00\x05\x04\x03", body=b"z")
    client.hears()
    assert books(gateway.world) == (
        3,
        [Reason.WRONG_USER, Reason.SESSION_ENDED, Reason.SESSION_ENDED],
    )


@pytest.mark.parametrize(
    ("transfer", "header", "reason"),
    [
        (spec.MessageTransfer(), b"\x00\x00\x00\x05\x04\x03", Reason.UNDECODABLE),
        (spec.MessageTransfer(accept_mode=2), b"", Reason.BROKE_PROTOCOL),
    ],
)
def test_a_transfer_that_is_none_is_in_the_books(transfer, header, reason):
    gateway = talk_0_10.Gateway()
    client = gateway.session()
    client.says(transfer, header=header, body=b"x")
    client.hears()
    assert books(gateway.world) == (1, [reason])


MESSAGE_ID = bytes(range(16))


def ends_by_exception(gateway, client):
    client.publishes(b"x", to="no exchange")
    return Reason.NOT_FOUND


def ends_by_detached(gateway, client):
    """Another transport takes its name."""
    gateway.session().attach(client.session.name, force=True)


def ends_with_the_connection(gateway, client):
    client.face.force_close(gateway.world.now_ms, Ending("moved", Reason.OPERATOR))


@pytest.mark.parametrize("octets", [1, 100_000], ids=["one frame", "many frames"])
@pytest.mark.parametrize("end", [ends_by_exception, ends_by_detached, ends_with_the_connection])
def test_transfers_behind_the_end_of_their_session_are_in_the_books(end, octets):
    gateway = talk_0_10.Gateway()
    gateway.world.queue()
    client = gateway.session()
    first = end(gateway, client)
    if first is not None:
        client.face.receive_data(client.connection.data_to_send(), gateway.world.now_ms)
    # The client has not heard of it.
    for _ in range(3):
        identity = spec.MessageProperties(message_id=MESSAGE_ID)
        client.publishes(b"x" * octets, message=identity)
    client.hears()
    reasons = [Reason.SESSION_ENDED] * 3
    if first is not None:
        reasons.insert(0, first)
    assert books(gateway.world) == (len(reasons), reasons)
    assert identities(gateway.world)[-3:] == [digest_of_uuid(MESSAGE_ID)] * 3
    assert gateway.world.bridge.counts.refusals[Reason.SESSION_ENDED] == 3
    assert gateway.world.depth() == 0


def test_a_transfer_that_was_under_way_when_its_session_ended_is_in_the_books_once():
    gateway = talk_0_10.Gateway(limits=Limits(message_size_max=4096))
    gateway.world.queue()
    client = gateway.session()
    client.publishes(b"x" * 200_000)
    client.publishes(b"y")
    octets = client.connection.data_to_send()
    for at in range(0, len(octets), 10_000):
        client.face.receive_data(octets[at : at + 10_000], gateway.world.now_ms)
    client.hears()
    assert books(gateway.world) == (2, [Reason.OVER_LIMIT, Reason.SESSION_ENDED])


def test_a_transfer_before_the_command_point_of_its_session_is_in_the_books():
    gateway = talk_0_10.Gateway()
    gateway.world.queue()
    client = gateway.client()
    attach = drive_0_10.control(spec.SessionAttach(name=b"s"), 1)
    transfer = drive_0_10.command(spec.MessageTransfer(), header=b"", body=b"x")
    client.face.receive_data(attach + transfer * 2, gateway.world.now_ms)
    client.hears()
    assert books(gateway.world) == (2, [Reason.SESSION_ENDED] * 2)


def test_a_command_that_cannot_be_read_is_in_the_books_if_it_is_a_transfer():
    gateway = talk_0_10.Gateway()
    client = gateway.session()
    client.publishes(b"x", to="a name")
    octets = client.connection.data_to_send().replace(b"\x06a name", b"\xffa name")
    client.face.receive_data(octets, gateway.world.now_ms)
    client.hears()
    assert books(gateway.world) == (1, [Reason.UNDECODABLE])


def test_who_has_not_opened_a_virtual_host_publishes_nothing():
    gateway = talk_0_10.Gateway()
    client = talk_0_10.Client(gateway)
    client.hears()
    transfer = drive_0_10.command(spec.MessageTransfer(), header=b"", body=b"x")
    client.face.receive_data(transfer * 2, gateway.world.now_ms)
    client.hears()
    assert books(gateway.world) == (0, [])


@pytest.mark.parametrize("how", ["detach", "lose"])
def test_transfers_that_were_parked_when_their_session_ended_are_in_the_books(how):
    gateway = talk_0_10.Gateway(
        limits=Limits(octets_in_doubt_max=1000), bridge_limits=BridgeLimits(messages_high=1)
    )
    gateway.world.queue()
    client = gateway.session()
    for _ in range(9):
        client.publishes(b"x" * 400)
    client.hears()
    depth = gateway.world.depth()
    assert depth < 9
    if how == "detach":
        client.session.detach()
        client.hears()
    else:
        client.loses_transport()
    assert books(gateway.world) == (9, [Reason.SESSION_ENDED] * (9 - depth))
