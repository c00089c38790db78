"""Sessions and the end of a 0-10 connection, as a conversation."""

import pytest
from support import drive_0_10 as drive
from support.rules import rule
from support.subscribed_0_10 import gateway_with
from support.talk_0_10 import Client, Gateway
from support.work import units_of

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import VBIN32
from gateway.amqp_0_10.connection import CLOSE_TIMEOUT_MS
from gateway.amqp_0_10.events import CommandReceived, ResultReceived, Violation
from gateway.amqp_0_10.frames import PROTOCOL_HEADER, FrameWriter
from gateway.amqp_0_10.types import Control
from gateway.audit.schema import Reason
from gateway.faces.face import Ending
from gateway.message import Condition
from gateway.wire.buffers import FLUSH_OCTETS
from gateway.wire.limits import Limits
from gateway.wire.tagged import Tagged
from gateway.wire.work import (
    COMMAND,
    CONTROL,
    COPY,
    DELIVERY,
    PUBLISH,
    RANGE,
    READ,
    SHARE,
    TRANSFER,
)


def test_a_session_is_attached_and_detached() -> None:
    client = Gateway().client()
    assert client.attach(b"name") == ["attached"]
    client.session.detach()
    assert client.hears() == ["ended 0"]
    assert client.gateway.settings.attached == {}


@rule("0-10", "session.attach", "one-transport-per-session")
@rule("0-10", "session.attach", "scoping")
def test_a_session_name_is_unique_for_its_user() -> None:
    gateway = Gateway()
    first, second, other = gateway.client("ann"), gateway.client("ann"), gateway.client("bob")
    assert first.attach(b"name") == ["attached"]
    assert second.attach(b"name") == [f"ended {spec.DetachCode.SESSION_BUSY}"]
    assert other.attach(b"name") == ["attached"]
    first.session.detach()
    first.hears()
    assert second.attach(b"name") == ["attached"]


def test_a_session_can_be_taken_over_by_force() -> None:
    gateway = Gateway()
    first, second = gateway.client("ann"), gateway.client("ann")
    first.attach(b"name")
    assert second.attach(b"name", force=True) == ["attached"]
    assert first.hears() == [f"ended {spec.DetachCode.SESSION_BUSY}"]
    assert list(gateway.settings.attached) == [("ann", b"name")]


def test_a_session_may_be_taken_over_within_its_own_connection() -> None:
    client = Gateway().client("ann")
    client.attach(b"name")
    detached = f"ended {spec.DetachCode.SESSION_BUSY}"
    assert client.attach(b"name", force=True) in (["attached", detached], [detached, "attached"])


def test_commands_before_a_command_point_end_the_session_with_unknown_ids() -> None:
    client = Gateway().client()
    octets = drive.control(spec.SessionAttach(name=b"s"), 1) + drive.command(spec.ExecutionSync())
    client.face.receive_data(octets, 0)
    sent = drive.values(client.face.data_to_send())
    assert sent == [spec.SessionDetached(name=b"s", code=spec.DetachCode.UNKNOWN_IDS)]
    assert client.gateway.settings.attached == {}


def test_more_sessions_than_allowed_are_refused() -> None:
    gateway = Gateway(limits=Limits(sessions_max=1))
    client = gateway.client()
    assert client.attach() == ["attached"]
    octets = drive.control(spec.SessionAttach(name=b"more"), 0)
    client.face.receive_data(octets, 0)
    busy = spec.DetachCode.SESSION_BUSY
    assert drive.values(client.face.data_to_send()) == [
        spec.SessionDetached(name=b"more", code=busy)
    ]


def test_a_session_that_an_exception_ends_is_counted_by_what_it_was_told() -> None:
    gateway = Gateway()
    for command in (
        spec.MessageTransfer(destination="nowhere"),
        spec.MessageResume(destination="d", resume_id="r"),
        spec.QueueDelete(queue="none"),
    ):
        client = gateway.session()
        client.does(command)
    ended_for = gateway.settings.counts.sessions_ended_for
    assert ended_for[0][Condition.NOT_FOUND] == 2
    assert ended_for[0][Condition.NOT_IMPLEMENTED] == 1
    assert sum(ended_for[0] + ended_for[1]) == 3
    assert gateway.settings.counts.sessions_failed == [0, 0]


def test_the_end_of_the_transport_ends_everything_once() -> None:
    gateway = Gateway()
    client = gateway.session()
    client.loses_transport()
    client.face.receive_eof(0)
    counts = gateway.settings.counts
    assert counts.sessions_opened == counts.sessions_closed == [1, 0]
    assert counts.connections_opened == counts.connections_closed == [1, 0]
    assert gateway.settings.attached == {}
    assert client.face.closed
    gateway.world.check()


def test_a_violation_ends_everything_and_harms_no_other_connection() -> None:
    gateway = Gateway()
    bad, good = gateway.session(), gateway.session()
    bad.face.receive_data(b"\xff" * 30, gateway.world.now_ms)
    [close] = drive.values(bad.face.data_to_send())
    assert close.reply_code == spec.CloseCode.FRAMING_ERROR
    assert gateway.settings.counts.protocol_errors == [1, 0]
    assert gateway.settings.counts.sessions_closed == [1, 0]
    assert good.does(spec.ExecutionSync()) == ["completed 0-0"]
    bad.face.handle_deadline(gateway.world.now_ms + CLOSE_TIMEOUT_MS)
    assert bad.face.closed


def test_the_client_closes() -> None:
    client = Gateway().session()
    client.connection.send_close(200, "bye", 0)
    assert client.hears() == ["closed 200"]
    assert client.face.closed
    assert client.gateway.settings.counts.connections_closed == [1, 0]


def test_a_graceful_stop_takes_no_new_sessions_and_then_hangs_up() -> None:
    gateway = Gateway()
    client = gateway.session()
    gateway.world.queue()
    client.face.drain(gateway.world.now_ms)
    assert client.face.drained()
    client.publishes(b"still taken")
    assert client.hears() == ["completed 0-0"]
    assert client.attach() == [f"ended {spec.DetachCode.SESSION_BUSY}"]
    client.face.force_close(gateway.world.now_ms)
    assert client.hears() == []
    assert client.face.closed


def test_who_is_closed_by_an_operator_is_told_320_and_why() -> None:
    gateway = Gateway()
    client = gateway.session()
    client.face.force_close(gateway.world.now_ms, Ending("moved", Reason.OPERATOR))
    assert client.hears() == ["closed 320"]


def test_another_protocol_header_is_a_violation() -> None:
    client = Client(Gateway())
    client.face.receive_data(b"AMQP\x01\x01\x00\x09", 0)
    assert client.face.data_to_send() == PROTOCOL_HEADER
    assert client.face.closed


def test_heartbeats_are_kept() -> None:
    client = Gateway().client()
    deadline = client.face.next_deadline()
    assert deadline is not None
    client.face.handle_deadline(deadline + 1_000_000)
    assert client.face.closed


def test_the_conversation_survives_octets_one_by_one() -> None:
    gateway = Gateway()
    gateway.world.queue()
    client = gateway.session()
    octets = drive.command(
        spec.MessageTransfer(destination=""),
        header=drive_header("q"),
        body=b"hello",
    )
    for at in range(len(octets)):
        client.face.receive_data(octets[at : at + 1], gateway.world.now_ms)
    gateway.world.turn()
    assert gateway.world.depth() == 1


def drive_header(key: str) -> bytes:
    from gateway.amqp_0_10.structs import write_header

    return write_header(spec.DeliveryProperties(routing_key=key), None)


def test_nothing_unexpected_is_heard() -> None:
    heard = Client(Gateway()).open()
    assert not any(isinstance(one, Violation) for one in heard)


@pytest.mark.parametrize(
    "control",
    [
        spec.ConnectionHeartbeat(),
        spec.SessionFlush(completed=True),
        spec.SessionKnownCompleted(),
        spec.SessionConfirmed(),
    ],
    ids=lambda control: type(control).__name__,
)
@pytest.mark.parametrize("channel", [0, 77])
def test_a_frame_is_work_though_it_asks_for_nothing(control: Control, channel: int) -> None:
    gateway = Gateway()
    client = gateway.session()
    frames = FrameWriter()
    frames.control(channel, control)
    many = frames.take() * 1000
    face, now_ms = client.face, gateway.world.now_ms
    assert units_of(lambda: face.receive_data(many, now_ms)) == 1000 * (READ + CONTROL)


def test_commands_that_are_done_at_once_are_work_too() -> None:
    gateway = Gateway()
    client = gateway.session()
    face, now_ms = client.face, gateway.world.now_ms
    for _ in range(1000):
        client.says(spec.ExecutionSync())
    syncs = client.connection.data_to_send()
    assert units_of(lambda: face.receive_data(syncs, now_ms)) == 1000 * (READ + CONTROL)
    for _ in range(100):
        client.says(spec.MessageTransfer(destination="amq.fanout"), header=b"")
    unroutable = client.connection.data_to_send()
    units = units_of(lambda: face.receive_data(unroutable, now_ms))
    assert units == 100 * (2 * READ + TRANSFER + PUBLISH + COPY)


SPREAD = [(4 * number, 4 * number + 1) for number in range(8000)]


@pytest.mark.parametrize(
    ("control", "ranges"),
    [
        (spec.SessionFlush(completed=True, confirmed=True, expected=True), 0),
        (spec.SessionGap(commands=[]), 0),
        (spec.SessionKnownCompleted(commands=SPREAD), 8000),
        (spec.SessionCompleted(commands=SPREAD), 2 * 8000),
        (spec.SessionCompleted(commands=[(0, 2**31 - 1)], timely_reply=True), 2),
    ],
    ids=["flush", "gap", "known-completed", "completed", "completed: all"],
)
def test_a_control_of_a_session_is_work_and_so_are_its_ranges(
    control: Control, ranges: int
) -> None:
    gateway = Gateway()
    client = gateway.session()
    frames = FrameWriter()
    frames.max_frame_size = 65535
    frames.control(client.channel, control)
    many = frames.take() * 10
    units = units_of(lambda: client.face.receive_data(many, gateway.world.now_ms))
    assert units == 10 * (READ + 2 * CONTROL + RANGE * ranges)
    assert not client.face.closed


def test_what_is_told_of_completions_is_work() -> None:
    gateway = Gateway()
    client = gateway.session()
    client.does(*[spec.ExecutionSync()] * 4000)
    client.session.send_control(spec.SessionKnownCompleted(commands=SPREAD[:1000]))
    client.session.send_control(spec.SessionFlush(completed=True, confirmed=True))
    client.face.receive_data(client.connection.data_to_send(), gateway.world.now_ms)
    assert units_of(client.face.data_to_send) == 2 * RANGE * 1000


def test_a_face_is_touched_once_until_its_octets_are_taken() -> None:
    gateway = Gateway()
    face = gateway.session().face
    face.data_to_send()
    gateway.touched.clear()
    face.client.touch()
    face.client.touch()
    assert gateway.touched == [face]
    face.data_to_send()
    face.client.touch()
    assert gateway.touched == [face, face]


def test_a_connection_with_very_many_sessions_ends_over_several_turns() -> None:
    gateway = Gateway()
    world = gateway.world
    client, other = gateway.session(), gateway.session()
    other.does(spec.QueueDeclare(queue="q"))
    for number in range(30):
        client.attach()
        client.does(spec.QueueDeclare(queue=f"own{number}", exclusive=True, auto_delete=True))
        client.subscribes()
        for _ in range(150):
            other.publishes(b"x")
        other.hears()
        assert len(client.gets()) == 150
    held = 30 * 150
    turns = 0
    assert units_of(lambda: client.loses_transport()) <= 3 * SHARE
    while client.face.behind:
        assert units_of(client.face.data_to_send) <= SHARE + DELIVERY * 200
        world.turn()
        turns += 1
    assert turns == 2  # beside the first
    assert world.depth() == held
    queue = world.host.topology.find_queue("q")
    assert queue is not None
    assert (queue.unsettled, queue.users.subscriptions) == (0, 0)
    assert list(world.host.topology.queues) == ["q"]
    assert gateway.settings.attached.keys() == {("anonymous", b"s2.1")}
    assert not client.face.client.sessions
    world.check()


def test_a_session_name_is_free_as_soon_as_its_connection_is_over() -> None:
    gateway = Gateway(limits=Limits(sessions_max=500))
    client = gateway.session()
    for number in range(SHARE // COMMAND + 10):
        client.connection.attach(str(number).encode(), number + 2, False)
    client.hears()
    client.loses_transport()
    assert client.face.behind
    assert gateway.settings.attached == {}
    again = gateway.client()
    assert again.attach(b"0") == ["attached"]
    while client.face.behind:
        client.face.data_to_send()
    assert len(gateway.settings.attached) == 1


def test_whoever_stops_ends_all_of_a_connection_at_once() -> None:
    gateway = Gateway(limits=Limits(sessions_max=500))
    client = gateway.session()
    for number in range(SHARE // COMMAND + 10):
        client.connection.attach(str(number).encode(), number + 2, False)
    client.hears()
    client.face.force_close(gateway.world.now_ms)
    assert not client.face.behind
    assert client.face.client.sessions == 0


LARGE = bytes(3 * 1024 * 1024)
QUERIES, QUERIED = 40, 500_000


def reads(gateway: Gateway, accept: int = 0) -> Client:
    """A client that has subscribed, and has been told nothing of it yet."""
    client = gateway.session()
    client.subscribes(accept=accept)
    client.face.receive_data(client.connection.data_to_send(), gateway.world.now_ms)
    return client


def asks_for_much(limits: Limits) -> tuple[Gateway, Client]:
    """A client that has sent many queries at once, each of large arguments."""
    gateway = Gateway(limits=limits)
    client = gateway.session()
    arguments = [("a", Tagged(VBIN32, bytes(QUERIED)))]
    client.does(spec.ExchangeDeclare(exchange="x", type="fanout", arguments=arguments))
    client.says(*[spec.ExchangeQuery(name="x")] * QUERIES)
    client.face.receive_data(client.connection.data_to_send(), gateway.world.now_ms)
    return gateway, client


def takes(client: Client, octets: bytes) -> list[int]:
    """The sizes of the bodies that have come whole by these octets."""
    events = client.connection.receive_data(octets, client.gateway.world.now_ms)
    found = [event for event in events if isinstance(event, CommandReceived)]
    return [len(event.payload) - event.body_at for event in found]


def test_a_large_message_is_written_in_many_turns_and_what_is_behind_it_follows() -> None:
    gateway = gateway_with(b"before", LARGE, b"behind", LARGE, b"last")
    client = reads(gateway)
    flushes = []
    bodies: list[int] = []
    while True:
        gateway.touched.clear()
        gateway.world.turn()
        octets = client.face.data_to_send()
        if not octets and client.face not in gateway.touched:
            break
        flushes.append(len(octets))
        bodies += takes(client, octets)
    assert max(flushes) <= FLUSH_OCTETS + 65535
    assert bodies == [6, len(LARGE), 6, len(LARGE), 4]


def test_a_large_message_waits_for_a_full_transport_and_what_is_behind_it_for_both() -> None:
    gateway = gateway_with(LARGE, b"behind")
    client = reads(gateway)
    account = client.face.client.account
    before = account.held
    gateway.world.turn()
    octets = client.face.data_to_send()
    bodies: list[int] = []
    while octets:
        client.face.write_blocked(True)
        assert before < account.held <= before + len(LARGE) + 4 * FLUSH_OCTETS
        gateway.world.turn()
        assert client.face.data_to_send() == b""
        bodies += takes(client, octets)
        client.face.write_blocked(False)
        for _ in range(3):  # a turn for what is large, and those that see that there is room
            gateway.world.turn()
            octets = client.face.data_to_send()
            if octets:
                break
    assert bodies == [len(LARGE), 6]
    assert account.held == before


def test_answers_behind_a_large_message_that_is_not_read_pause_reading() -> None:
    limits = Limits(answers_max=10_000)
    gateway = gateway_with(LARGE, limits=limits)
    client = reads(gateway)
    gateway.world.turn()
    client.face.data_to_send()
    client.face.write_blocked(True)
    asked = 0
    while not client.face.reading_paused:
        client.says(spec.QueueQuery(queue="q"))
        client.face.receive_data(client.connection.data_to_send(), gateway.world.now_ms)
        gateway.world.turn()
        client.face.data_to_send()
        asked += 1
        assert asked < 1000
    client.face.write_blocked(False)
    for _ in range(100):
        gateway.world.turn()
        client.face.data_to_send()
    assert not client.face.reading_paused


def test_who_asks_for_very_much_is_answered_as_it_reads() -> None:
    gateway, client = asks_for_much(Limits(answers_max=300_000))
    account = client.face.client.account
    most = results = 0
    for _ in range(100 * QUERIES):
        gateway.world.turn()
        octets = client.face.data_to_send()
        assert client.face.reading_paused or not client.face.behind
        most = max(most, account.held)
        events = client.connection.receive_data(octets, gateway.world.now_ms)
        results += sum(isinstance(event, ResultReceived) for event in events)
        if results == QUERIES:
            break
        assert client.face in gateway.touched  # nobody else would have it go on
        gateway.touched.clear()
    assert results == QUERIES
    assert QUERIED < most < 3 * QUERIED


def test_so_it_is_closed_by_force_when_all_that_it_asked_for_has_been_done() -> None:
    gateway, client = asks_for_much(Limits(answers_max=300_000))
    client.face.force_close(gateway.world.now_ms)
    assert not client.face.behind


def test_a_user_for_whom_much_is_kept_is_not_told_of_large_arguments() -> None:
    gateway = Gateway(limits=Limits(kept_max=10 * QUERIED))
    client = gateway.session()
    arguments = [("a", Tagged(VBIN32, bytes(QUERIED)))]
    client.does(spec.ExchangeDeclare(exchange="x", type="fanout", arguments=arguments))
    client.does(spec.QueueDeclare(queue="q", arguments=arguments))
    account = client.face.client.account
    account.note(3 * QUERIED)
    queries = (spec.ExchangeQuery(name="x"), spec.QueueQuery(queue="q"))
    results = [each for each in client.does(*queries) if not isinstance(each, str)]
    assert [type(each).__name__ for each in results] == ["ExchangeQueryResult", "QueueQueryResult"]
    for query in queries:
        other = gateway.session()
        other.face.client.account.note(5 * QUERIED)
        exception, *_ = other.does(query)
        assert isinstance(exception, tuple)
        assert exception[0] == spec.ErrorCode.RESOURCE_LIMIT_EXCEEDED
        assert other.face.client.account.refused == 1
        assert other.face.settings.accounts.everybody.refused_below > 0


def test_a_large_message_comes_back_whose_reader_goes_in_the_middle() -> None:
    gateway = gateway_with(LARGE)
    client = reads(gateway)
    gateway.world.turn()
    assert 0 < len(client.face.data_to_send()) <= FLUSH_OCTETS + 65535
    client.loses_transport()
    other = gateway.session()
    other.subscribes()
    assert [len(body) for body in other.gets()] == [len(LARGE)]


def test_a_stop_waits_for_a_message_that_is_half_written() -> None:
    gateway = gateway_with(LARGE)
    client = reads(gateway, accept=spec.AcceptMode.NONE)
    gateway.world.turn()
    octets = client.face.data_to_send()
    client.face.drain(gateway.world.now_ms)
    assert not client.face.drained()
    client.connection.receive_data(octets, gateway.world.now_ms)
    assert [len(body) for body in client.gets()] == [len(LARGE)]
    assert client.face.drained()
