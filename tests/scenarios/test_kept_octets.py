"""What clients can make the gateway keep, in octets; whoever is polite beside them goes on."""

import tracemalloc

import pytest
from support.bridge_world import Session
from support.face_1_0 import Hub, message
from support.frames_1_0 import octets_of, read_frames
from support.talk_0_10 import Client, Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.events import Violation
from gateway.amqp_0_10.frames import (
    BODY,
    COMMAND,
    CONTROL,
    FIRST_FRAME,
    FIRST_SEGMENT,
    HEADER,
    LAST_FRAME,
    LAST_SEGMENT,
    WHOLE_COMMAND,
    FrameWriter,
)
from gateway.amqp_1_0 import _spec, events, types
from gateway.audit.schema import Kind, Reason
from gateway.bridge.seams import QueueSettings
from gateway.faces.face import Face
from gateway.wire.limits import Limits
from gateway.wire.tagged import Tagged
from gateway.wire.work import WORK

MIB = 1024 * 1024


def frame(flags: int, kind: int, channel: int, payload: bytes) -> bytes:
    size = len(payload) + 12
    track = 0 if kind == CONTROL else 1
    head = bytes((flags, kind)) + size.to_bytes(2, "big") + bytes((0, track))
    return head + channel.to_bytes(2, "big") + bytes(4) + payload


def command_octets(command: spec.MessageTransfer | spec.QueueDeclare) -> bytes:
    """A command segment."""
    frames = FrameWriter()
    frames.max_frame_size = 65535
    frames.command(0, command, False, None, b"")
    return frames.take()[12:]


def publishes_and_hears(client: Client) -> None:
    """A polite client's publish, confirmed."""
    client.publishes(b"x")
    assert any(str(heard).startswith("completed") for heard in client.hears())


def unfinished(client: Client, channel: int, octets: int) -> None:
    """A transfer whose body never ends."""
    transfer = command_octets(spec.MessageTransfer(destination=""))
    client.face.receive_data(frame(FIRST_SEGMENT | 3, COMMAND, channel, transfer), 0)
    flags = FIRST_FRAME | LAST_SEGMENT
    while octets > 0 and not client.face.closed:
        client.face.receive_data(frame(flags, BODY, channel, bytes(min(octets, 60_000))), 0)
        flags = LAST_SEGMENT
        octets -= 60_000


def test_unfinished_bodies_of_all_sessions_together_are_bounded() -> None:
    gateway = Gateway(limits=Limits(kept_max=2 * MIB, message_size_max=MIB))
    polite, hostile = gateway.session(), gateway.session()
    polite.does(spec.QueueDeclare(queue="q"))
    for _ in range(15):
        hostile.attach()
    for channel in range(1, 17):
        unfinished(hostile, channel, 900_000)
    account = hostile.face.client.account
    assert account.held <= 2 * MIB
    assert account.refused == 14
    heard = hostile.hears()
    refused = [one for one in heard if isinstance(one, tuple) and one[0] == 506]
    assert len(refused) == 14
    publishes_and_hears(polite)
    assert gateway.settings.accounts.everybody.held >= account.held
    hostile.loses_transport()
    polite.loses_transport()
    assert gateway.settings.accounts.everybody.held == 0
    assert gateway.settings.accounts.user("anonymous").held == 0


def test_a_user_has_a_share_of_its_own() -> None:
    gateway = Gateway()
    gateway.settings.accounts.user("mallory").limit = MIB
    alice, mallory, again = (gateway.session(name) for name in ("alice", "mallory", "mallory"))
    alice.does(spec.QueueDeclare(queue="q"))
    unfinished(mallory, 1, 900_000)
    unfinished(again, 1, 900_000)
    assert gateway.settings.accounts.user("mallory").held <= MIB
    assert gateway.settings.accounts.refusals()["user"] == 1
    assert 506 in [one[0] for one in again.hears() if isinstance(one, tuple)]
    unfinished(alice, 1, 0)
    alice.attach()
    publishes_and_hears(alice)


def test_a_header_whose_body_never_comes_is_on_the_account() -> None:
    gateway = Gateway()
    client = gateway.session()
    before = client.face.client.account.held
    transfer = command_octets(spec.MessageTransfer(destination=""))
    client.face.receive_data(frame(FIRST_SEGMENT | 3, COMMAND, 1, transfer), 0)
    client.face.receive_data(frame(3, HEADER, 1, bytes(50_000)), 0)
    client.face.data_to_send()
    assert client.face.client.account.held == before + 50_000
    client.face.receive_data(frame(LAST_SEGMENT | 3, BODY, 1, b"x"), 0)
    client.face.data_to_send()
    assert client.face.client.account.held <= before


def attaches(channels: range, *, detach: bool) -> bytes:
    """Sessions of one name, attached and perhaps detached again."""
    frames = FrameWriter()
    for channel in channels:
        frames.control(channel, spec.SessionAttach(name=b"s%d" % channel, force=False))
        if detach:
            frames.control(channel, spec.SessionDetach(name=b"s%d" % channel))
    return frames.take()


def test_a_session_that_is_detached_gives_back_what_it_kept() -> None:
    client = Gateway().session()
    account = client.face.client.account
    before = account.held
    client.face.receive_data(attaches(range(2, 202), detach=True), 0)
    client.face.data_to_send()
    assert account.held == before
    assert list(client.face.connection.channels.sessions) == [1]


def test_a_session_that_would_pass_its_users_limit_is_refused_and_others_go_on() -> None:
    gateway = Gateway()
    alice, mallory = gateway.session("alice"), gateway.session("mallory")
    user = gateway.settings.accounts.user("mallory")
    user.limit = user.held + 4 * 8300
    mallory.face.receive_data(attaches(range(2, 12), detach=False), 0)
    events = mallory.connection.receive_data(mallory.face.data_to_send(), 0)
    assert [event for event in events if isinstance(event, Violation)] == []
    assert user.held <= user.limit
    assert gateway.settings.accounts.refusals()["user"] == 6
    assert len(mallory.face.connection.channels.sessions) == 5
    assert gateway.settings.counts.sessions_failed[0] == 6
    alice.attach()
    publishes_and_hears(alice)
    publishes_and_hears(mallory)


def test_who_is_refused_a_session_hears_506_and_may_try_again() -> None:
    client = Gateway().session()
    account = client.face.client.account
    limit, account.limit = account.limit, account.held + 100
    heard = client.attach()
    assert 506 in [one[0] for one in heard if isinstance(one, tuple)]
    assert list(client.connection.channels.sessions) == [1]
    assert list(client.face.connection.channels.sessions) == [1]
    account.limit = limit
    client.attach()
    publishes_and_hears(client)


def test_what_has_come_of_messages_in_whole_segments_is_refused_above_the_users_limit() -> None:
    gateway = Gateway()
    mallory = gateway.session("mallory")
    for _ in range(9):
        mallory.attach()
    user = gateway.settings.accounts.user("mallory")
    user.limit = user.held + 200_000
    transfer = command_octets(spec.MessageTransfer(destination=""))
    for channel in range(1, 11):
        begun = frame(FIRST_SEGMENT | 3, COMMAND, channel, transfer)
        mallory.face.receive_data(begun + frame(3, HEADER, channel, bytes(50_000)), 0)
    assert user.held <= user.limit
    heard = mallory.hears()
    assert [one for one in heard if isinstance(one, tuple) and one[0] == 506] == [(506, 0)] * 6
    records = gateway.world.blocks.records()
    assert [each.reason for each in records if each.kind == Kind.REFUSED] == [Reason.OVER_LIMIT] * 6
    gateway.world.check()


def test_a_command_that_can_have_no_content_is_not_kept_until_there_is_some() -> None:
    client = Gateway().session()
    declare = command_octets(spec.QueueDeclare(queue="q"))
    client.face.receive_data(frame(FIRST_SEGMENT | 3, COMMAND, 1, declare), 0)
    assert (503, 0) in client.hears()


def test_what_came_in_part_goes_with_the_transport() -> None:
    gateway = Gateway()
    client = gateway.session()
    everybody = gateway.settings.accounts.everybody
    transfer = command_octets(spec.MessageTransfer(destination=""))
    client.face.receive_data(frame(FIRST_SEGMENT | 3, COMMAND, 1, transfer), 0)
    for flags in (FIRST_FRAME, 0):
        client.face.receive_data(frame(LAST_SEGMENT | flags, BODY, 1, bytes(60_000)), 0)
    part = frame(FIRST_SEGMENT | LAST_SEGMENT | FIRST_FRAME, CONTROL, 0, bytes(60_000))
    client.face.receive_data(part + part[:50_000], 0)
    assert everybody.held > 230_000
    client.loses_transport()
    assert everybody.held == 0
    # Not just on no account: who looks at what is held in cycles may be long in coming.
    [session] = client.face.connection.channels.sessions.values()
    assert session.incoming.assembler.idle()


def test_the_start_of_a_frame_is_on_the_account() -> None:
    client = Gateway().session()
    account = client.face.client.account
    before = account.held
    whole = frame(WHOLE_COMMAND, CONTROL, 0, bytes(40_000))
    client.face.receive_data(whole[:30_000], 0)
    assert account.held == before + 30_000


def test_a_login_of_a_mebibyte_ends_at_the_limit_of_who_is_not_known() -> None:
    gateway = Gateway()
    client = Client(gateway)
    client.hears()
    account = client.face.client.account
    flags = FIRST_SEGMENT | LAST_SEGMENT | FIRST_FRAME
    for _ in range(20):
        client.face.receive_data(frame(flags, CONTROL, 0, bytes(50_000)), 0)
        flags &= ~FIRST_FRAME
    assert account.held <= 64 * 1024
    assert account.refused > 0
    assert b"unfinished controls" in client.face.data_to_send()
    client.loses_transport()
    assert gateway.settings.accounts.everybody.held == 0


def test_completions_of_thousands_of_ranges_are_answered_in_several_controls() -> None:
    client = Gateway().session()
    face_session = client.face.connection.channels.sessions[1]
    for first in range(0, 40_000, 2):
        face_session.echo.add(first)
    octets = client.face.data_to_send()
    assert len(octets) > 20_000 * 8
    assert not client.face.closed
    session = client.session
    assert session is not None
    assert client.connection.receive_data(octets, 0) == []


def test_completions_of_thousands_of_ranges_do_not_break_the_connection() -> None:
    client = Gateway().session()
    ranges = [(at, at) for at in range(0, 16_000, 2)]
    control = spec.SessionCompleted(commands=ranges, timely_reply=True)
    frames = FrameWriter()
    frames.max_frame_size = 65535
    for _ in range(2):
        frames.control(1, control)
        control.commands = [(at + 20_000, at + 20_000) for at, _last in ranges]
    client.face.receive_data(frames.take(), 0)
    client.face.data_to_send()
    assert not client.face.closed


@pytest.mark.parametrize("protocol", ["0-10", "1.0"])
def test_answers_that_are_not_read_pause_reading_until_they_are(protocol: str) -> None:
    limits = Limits(answers_max=20_000)
    if protocol == "0-10":
        gateway = Gateway(limits=limits)
        client = gateway.session()
        face, asked = client.face, 0
        face.write_blocked(True)
        while not face.reading_paused and asked < 10_000:
            query = FrameWriter()
            query.command(1, spec.QueueQuery(queue="q" * 200), False, None, b"")
            face.receive_data(query.take(), 0)
            face.data_to_send()
            asked += 1
    else:
        hub = Hub(limits=limits)
        session = hub.client().session()
        face, asked = hub.clients[0].face, 0  # type: ignore[assignment]  # the other protocol's
        face.write_blocked(True)
        while not face.reading_paused and asked < 10_000:
            attach = _spec.Attach(
                name=f"l{asked}",
                handle=asked,
                role=True,
                source=_spec.Source(address="nowhere" * 1000),
                target=_spec.Target(),
            )
            face.receive_data(octets_of(attach, channel=session.channel_out), 0)
            face.data_to_send()
            asked += 1
    assert 0 < asked < 10_000
    assert 20_000 <= face.client.room.unread < 22_000
    assert face.client.account.held >= face.client.room.unread
    face.write_blocked(False)
    assert not face.reading_paused
    assert face.client.room.unread == 0


def test_deliveries_that_are_not_read_do_not_pause_reading() -> None:
    gateway = Gateway(limits=Limits(answers_max=1000))
    client = gateway.session()
    client.does(spec.QueueDeclare(queue="q"))
    client.subscribes()
    client.hears()
    for _ in range(50):
        client.publishes(bytes(1000))
    client.face.receive_data(client.connection.data_to_send(), 0)
    gateway.world.turn()
    assert len(client.face.data_to_send()) > 50_000
    client.face.write_blocked(True)
    assert not client.face.reading_paused


def test_nor_do_large_ones_and_a_silent_reader_of_them_is_found_dead() -> None:
    gateway = Gateway(limits=Limits(heartbeat_s=4))
    client = gateway.session()
    client.does(spec.QueueDeclare(queue="q"))
    for _ in range(5):
        client.publishes(bytes(500_000))
        client.hears()
    client.subscribes()
    face = client.face
    last_ms = gateway.world.now_ms
    face.receive_data(client.connection.data_to_send(), last_ms)
    gateway.world.turn()
    written = len(face.data_to_send())
    face.write_blocked(True)
    gateway.world.turn()
    written += len(face.data_to_send())
    assert written < 500_000  # of a message
    assert len(face._sessions.living[1].unsettled) > 2
    assert not face.reading_paused
    for now_ms in range(last_ms, last_ms + 7_900, 100):
        face.handle_deadline(now_ms)
        face.data_to_send()
    assert not face.closed
    face.handle_deadline(last_ms + 8_000)
    assert face.closed


@pytest.mark.parametrize("protocol", ["0-10", "1.0"])
def test_a_large_message_is_not_copied_when_it_is_whole(protocol: str) -> None:
    pieces = 160
    piece = bytes(60_000)
    if protocol == "0-10":
        client = Gateway().session()
        client.does(spec.QueueDeclare(queue="q"))
        face: Face = client.face
        transfer = command_octets(spec.MessageTransfer(destination=""))
        face.receive_data(frame(FIRST_SEGMENT | 3, COMMAND, 1, transfer), 0)
        octets = frame(LAST_SEGMENT, BODY, 1, piece)
        begin = frame(LAST_SEGMENT | FIRST_FRAME, BODY, 1, piece)
        end = frame(LAST_SEGMENT | LAST_FRAME, BODY, 1, piece)
    else:
        hub = Hub()
        session = hub.client().session()
        hub.world.queue()
        hub.clients[0].sender("q", session=session)
        hub.step()
        face = hub.clients[0].face

        def part(more: bool, **fields: object) -> bytes:
            transfer = _spec.Transfer(handle=0, more=more, settled=True, **fields)  # type: ignore[arg-type]  # as given
            return octets_of(transfer, channel=session.channel_out, payload=piece)

        head = b"\x00\x53\x75\xb0" + (pieces * len(piece) - 8).to_bytes(4, "big")
        octets, end = part(True), part(False)
        begin = part(True, delivery_id=0, delivery_tag=b"t").replace(piece, head + piece[8:])
    tracemalloc.start()
    try:
        for each in (begin, *([octets] * (pieces - 2)), end):
            face.receive_data(each, 0)
        kept, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept > pieces * len(piece)
    assert most < 1.4 * pieces * len(piece)


@pytest.mark.parametrize("protocol", ["0-10", "1.0"])
def test_who_is_not_read_is_dead_when_the_kernel_has_heard_nothing_for_too_long(
    protocol: str,
) -> None:
    limits = Limits(heartbeat_s=4, idle_timeout_ms=8000)
    face: Face
    if protocol == "0-10":
        gateway = Gateway(limits=limits)
        client = gateway.session()
        face, room, now_ms = client.face, client.face.client.room, gateway.world.now_ms
    else:
        hub = Hub(limits=limits)
        hub.client().session()
        face, room, now_ms = hub.clients[0].face, hub.clients[0].face.client.room, hub.world.now_ms
    face.write_blocked(True)
    room.unread = MIB
    assert face.reading_paused
    for _ in range(10):
        now_ms += 7_000
        face.heard(now_ms)
        face.handle_deadline(now_ms)
    face.heard(now_ms - 5_000)
    face.handle_deadline(now_ms + 7_999)
    assert face.status() is not None
    face.handle_deadline(now_ms + 8_000)
    assert face.status() is None


def nulls(count: int) -> Tagged:
    return Tagged(types.LIST, [Tagged(types.NULL, None)] * count)


def test_nothing_is_kept_of_the_properties_of_open_begin_and_attach(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(WORK, "elements_max", 100_000)
    hub = Hub()
    hub.host.declaring.declare_queue("q", QueueSettings(), Session(900))
    client = hub.client()
    server = client.face.connection
    assert server.open is not None
    assert server.open.properties is None
    session = client.connection.session()
    session.send_begin(properties={"p": nulls(20_000)})
    client.step()
    (held,) = server.sessions()
    assert held.begin is not None
    assert held.begin.properties is None
    for name in ("a", "b"):
        link = client.attach(
            _spec.SENDER if name == "a" else _spec.RECEIVER,
            session=session,
            name=name,
            source=_spec.Source(address="q"),
            target=_spec.Target(address="q"),
            properties={"p": nulls(20_000)},
            unsettled={bytes([at]): None for at in range(200)} if name == "b" else None,
        )
        assert link.attached
    for link in held.handles.links.values():
        attach = link.attach
        assert attach is not None
        assert (attach.properties, attach.unsettled) == (None, None)
        assert (attach.source, attach.target) == (None, None)


def test_links_and_sessions_are_on_the_account_until_they_are_gone() -> None:
    hub = Hub()
    client = hub.client()
    account = client.face.client.account
    before = account.held
    session = client.session()
    for _ in range(10):
        client.attach(_spec.SENDER, session=session, target=_spec.Target(address="nowhere"))
    assert account.held >= before + 8192 + 10 * 4096
    session.send_end()
    client.step()
    assert account.held == before


def test_a_link_beyond_the_account_is_detached_and_others_go_on() -> None:
    hub = Hub(limits=Limits())
    hub.host.declaring.declare_queue("q", QueueSettings(), Session(900))
    client, polite = hub.client(), hub.client("polite")
    session = client.session()
    sender = polite.sender("q")
    client.face.client.account.limit = client.face.client.account.held + 5000
    first = client.attach(_spec.SENDER, session=session, target=_spec.Target(address="q"))
    second = client.attach(_spec.SENDER, session=session, target=_spec.Target(address="q"))
    assert (first.attached, second.attached) == (True, False)
    assert client.refused() == "amqp:resource-limit-exceeded"
    assert type(polite.send(sender, message())).__name__ == "Accepted"


def test_filters_are_on_the_account_as_they_are_when_decoded() -> None:
    hub = Hub()
    hub.host.declaring.declare_queue("q", QueueSettings(), Session(900))
    client = hub.client()
    account = client.face.client.account
    session = client.session()
    before = account.held
    described = types.Described(
        Tagged(types.SYMBOL, "apache.org:selector-filter:string"),
        Tagged(types.STRING, " OR ".join(["a = 1"] * 50)),
    )
    link = client.attach(
        _spec.RECEIVER,
        session=session,
        source=_spec.Source(address="q", filter={"s": Tagged(types.DESCRIBED, described)}),
    )
    assert link.attached
    assert account.held - before > 64 * 450
    link.send_detach()
    client.step()
    assert account.held == before


def test_a_container_id_is_on_the_account_and_refused_above_the_users_limit() -> None:
    hub = Hub()
    hub.settings.accounts.user("anonymous").limit = 200
    client = hub.client("c" * 300)
    assert client.take(events.CloseReceived).error.condition == "amqp:resource-limit-exceeded"


def test_a_session_that_would_pass_the_account_ends_the_connection() -> None:
    hub = Hub()
    client = hub.client()
    client.face.client.account.limit = client.face.client.account.held + 100
    client.connection.session().send_begin()
    client.step()
    close = client.take(events.CloseReceived)
    assert close.error.condition == "amqp:resource-limit-exceeded"


def test_an_unfinished_delivery_with_a_large_state_counts_as_what_it_is_decoded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(WORK, "elements_max", 100_000)
    hub = Hub(limits=Limits(kept_max=8 * MIB, message_size_max=MIB))
    hub.host.declaring.declare_queue("q", QueueSettings(), Session(900))
    client = hub.client()
    session = client.session()
    for at in range(4):
        client.sender("q", session=session, name=f"l{at}")
    account = client.face.client.account
    for at in range(4):
        transfer = _spec.Transfer(
            handle=at,
            delivery_id=at,
            delivery_tag=b"t",
            more=True,
            state=_spec.Modified(message_annotations={"x": nulls(50_000)}),
        )
        client.face.receive_data(octets_of(transfer, channel=session.channel_out, payload=b"x"), 0)
    assert account.refused == 2
    assert account.held <= 8 * MIB
    sent = [performative for _, performative in read_frames(client.face.data_to_send())]
    assert [type(each).__name__ for each in sent].count("Detach") == 2


@pytest.mark.parametrize("protocol", ["0-10", "1.0"])
def test_who_does_not_read_is_given_no_more_than_its_room_and_that_is_accounted(
    protocol: str,
) -> None:
    limits = Limits(unread_max=64 * 1024)
    if protocol == "0-10":
        gateway = Gateway(limits=limits)
        reader = gateway.session()
        reader.does(spec.QueueDeclare(queue="q"))
        reader.subscribes(acquire=spec.AcquireMode.NOT_ACQUIRED)
        reader.hears()
        world, face = gateway.world, reader.face
    else:
        hub = Hub(limits=limits)
        hub.world.queue("q")
        hub.client().receiver("q", credit=1000, distribution_mode=_spec.DISTRIBUTION_COPY)
        world, face = hub.world, hub.clients[0].face  # type: ignore[assignment]
    for _ in range(100):
        world.send(bytes(10_000))
    held = face.client.account.held
    world.turn()
    octets = face.data_to_send()
    assert 64 * 1024 <= len(octets) < 64 * 1024 + 11_000
    face.write_blocked(True)
    assert face.client.account.held == held + len(octets)
    for _ in range(5):
        world.turn()
        assert face.data_to_send() == b""
    face.write_blocked(False)
    assert face.client.account.held == held
    world.turn()
    assert 64 * 1024 <= len(face.data_to_send()) < 64 * 1024 + 11_000


@pytest.mark.parametrize("protocol", ["0-10", "1.0"])
def test_a_transport_that_takes_all_at_once_is_given_all(protocol: str) -> None:
    limits = Limits(unread_max=64 * 1024)
    if protocol == "0-10":
        gateway = Gateway(limits=limits)
        reader = gateway.session()
        reader.does(spec.QueueDeclare(queue="q"))
        reader.subscribes()
        reader.hears()
        world, face = gateway.world, reader.face
    else:
        hub = Hub(limits=limits)
        hub.world.queue("q")
        hub.client().receiver("q", credit=1000)
        world, face = hub.world, hub.clients[0].face  # type: ignore[assignment]
    for _ in range(100):
        world.send(bytes(10_000))
    taken = 0
    for _ in range(40):
        world.turn()
        taken += len(face.data_to_send())
    assert taken > 1_000_000
