"""What comes for a session that we have ended is dropped, but for what it says of our end.

And what a session or link takes is on the account until both halves of it are over.
"""

import pytest
from support.frames_1_0 import octets_of
from support.pair_1_0 import Pair

from gateway.amqp_1_0 import _spec, events
from gateway.amqp_1_0.channels import SESSION_OCTETS
from gateway.amqp_1_0.link import LINK_OCTETS

FORCED = _spec.Error(condition="amqp:link:detach-forced")


def ended():
    """A session with a link that the client has ended, and the server's half of it."""
    pair = Pair()
    pair.open()
    session, theirs = pair.begin()
    _, link = pair.attach(session, _spec.RECEIVER)
    session.send_end()
    pair.at_client.clear()
    return pair, session, theirs, link


@pytest.mark.parametrize(("error", "crossed"), [(None, False), (FORCED, True)])
def test_a_detach_that_crosses_our_end_is_remembered_if_it_has_an_error(error, crossed):
    pair, session, _, link = ended()
    link.send_detach(error=error)
    pair.to_client()
    assert session.crossed == crossed
    link.session.write(_spec.Detach(handle=0, closed=True))
    pair.to_client()
    assert session.crossed == crossed
    assert pair.kinds("client") == []


def test_one_that_cannot_be_read_is_dropped_like_all_else():
    pair, session, _, _ = ended()
    frame = b"\x00\x00\x00\x0d\x02\x00\x00\x00\x00\x53\x16\xc0\xff"
    assert pair.client.receive_data(frame, pair.now) == []
    assert not session.crossed
    pair.step()
    assert not pair.client.closed


def test_the_answer_to_our_end_comes_through():
    pair, session, theirs, _ = ended()
    pair.to_server()
    theirs.send_end()
    pair.to_client()
    assert pair.take("client", events.EndReceived).session is session


BEGIN = _spec.Begin(next_outgoing_id=0, incoming_window=9, outgoing_window=9)


def test_what_sessions_take_is_on_the_account_until_the_driver_has_ended_them_too():
    pair = Pair().open()
    account = pair.server.account
    before = account.held
    told = pair.feed(octets_of(BEGIN, _spec.End()) * 100)
    begun = [each.session for each in told if isinstance(each, events.BeginReceived)]
    assert len(begun) == 100
    assert account.held == before + 100 * SESSION_OCTETS
    for session in begun:
        session.send_begin()
        session.send_end()
    assert account.held == before


def test_sessions_that_the_driver_has_not_come_to_cannot_be_more_than_the_account_has_room_for():
    pair = Pair().open()
    account = pair.server.account
    account.limit = account.held + 10 * SESSION_OCTETS
    told = pair.feed(octets_of(BEGIN, _spec.End()) * 11)
    assert isinstance(told[-1], events.Violation)
    assert told[-1].error.condition == "amqp:resource-limit-exceeded"


def test_what_links_take_is_on_the_account_until_the_driver_has_detached_them_too():
    pair = Pair().open()
    _, session = pair.begin()
    account = pair.server.account
    before = account.held
    attach = _spec.Attach(
        name="l",
        handle=0,
        role=_spec.SENDER,
        source=_spec.Source(address="x"),
        target=_spec.Target(address="q"),
        initial_delivery_count=0,
    )
    told = pair.feed(octets_of(attach, _spec.Detach(handle=0, closed=True)) * 100)
    links = [each.link for each in told if isinstance(each, events.DetachReceived)]
    assert len(links) == 100
    assert account.held >= before + 100 * LINK_OCTETS
    for link in links[:50]:
        link.send_attach(source=None, target=None)
        link.send_detach()
    assert account.held < before + 51 * (LINK_OCTETS + 100)
    session.send_end()
    assert account.held == before
