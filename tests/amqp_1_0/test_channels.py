"""What comes for a session that we have ended is dropped, but for what it says of our end."""

import pytest
from support.pair_1_0 import Pair

from gateway.amqp_1_0 import _spec, events

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
