"""What came in one read is taken apart in shares, as it is carried out; nothing of it is lost."""

import pytest
from support.face_1_0 import Client, Hub, message
from support.frames_1_0 import octets_of, read_frames

from gateway.amqp_1_0 import _spec
from gateway.amqp_1_0.channels import SESSION_OCTETS
from gateway.wire.work import SHARE, WORK

PAIRS = 1500
BEGIN = octets_of(_spec.Begin(next_outgoing_id=0, incoming_window=1, outgoing_window=1), channel=5)
FLOOD = (BEGIN + octets_of(_spec.End(), channel=5)) * PAIRS


def published(client: Client, *, last: bytes = b"") -> bytes:
    """A message behind the flood."""
    sender = client.sender("q")
    sender.send_delivery(b"t", b"", message(), settled=True)
    return FLOOD + client.connection.data_to_send() + last


def test_sessions_that_come_at_once_are_begun_in_shares_and_kept_no_longer_than_they_live() -> None:
    hub = Hub()
    client = hub.client()
    face = client.face
    before = face.client.account.held
    most = 0
    units = WORK.units
    face.receive_data(FLOOD, 0)
    longest = WORK.units - units
    answers = b""
    while face.behind:
        assert face.reading_paused
        most = max(most, face.client.account.held - before)
        units = WORK.units
        answers += face.data_to_send()
        longest = max(longest, WORK.units - units)
        hub.world.turn()
    answers += face.data_to_send()
    assert longest < 3 * SHARE
    assert most <= 64 * 1024 + PAIRS // 4 * SESSION_OCTETS
    assert face.client.account.held == before
    told = [type(each).__name__ for _, each in read_frames(answers)]
    assert told == ["Begin", "End"] * PAIRS
    hub.end()


@pytest.mark.parametrize("close", [b"", octets_of(_spec.Close())], ids=["lost", "closed"])
def test_what_a_client_published_behind_much_else_is_taken_though_it_is_gone(close: bytes) -> None:
    hub = Hub()
    hub.world.queue("q")
    client = hub.client()
    face = client.face
    face.receive_data(published(client, last=close), 0)
    face.receive_eof(0)
    turns = 0
    while face.behind:
        face.data_to_send()
        hub.world.turn()
        turns += 1
    assert turns > 5
    assert face.client.account.held == 0
    assert hub.world.depth() == 1
    assert hub.settings.accounts.everybody.held == 0
    assert hub.settings.accounts.full == 0


def test_an_operator_who_ends_the_connection_loses_none_of_it() -> None:
    hub = Hub()
    hub.world.queue("q")
    client = hub.client()
    client.face.receive_data(published(client), 0)
    client.face.force_close(0)
    assert not client.face.behind
    assert hub.world.depth() == 1
