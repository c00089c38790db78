"""Two ends of a session whose state is kept, cut at any octet of either direction, as often as any.

Each hears every command of the other once, whole and in order, and both come to know that all are
done.
"""

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st
from support import drive_0_10 as drive
from support.examples import examples

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.events import AttachReceived, CommandReceived, Event
from gateway.amqp_0_10.session import Session

HEADER = b"\0\0\0\x04\x04\x03\0\0"
BODIES = st.sampled_from([0, 1, 40, 4000, 4084, 4085, 9000, 70_000])
# Of a client or a server: it sends a command, completes what it has, or the transport goes on by so
# many octets each way and breaks, or whole.
STEPS = st.one_of(
    st.tuples(st.just("send"), st.booleans(), BODIES),
    st.tuples(st.just("complete"), st.booleans(), st.integers(1, 3)),
    st.tuples(st.just("cut"), st.integers(0, 300), st.integers(0, 300)),
    st.tuples(st.just("cut"), st.integers(0, 20_000), st.integers(0, 20_000)),
    st.tuples(st.just("flow"), st.just(0), st.just(0)),
)


@dataclass
class End:
    """One end: its session, what it has sent and heard, and what of that it has not completed."""

    session: Session
    sent: list[bytes] = field(default_factory=list)
    heard: list[bytes] = field(default_factory=list)
    open: list[int] = field(default_factory=list)

    def send(self, size: int) -> None:
        body = len(self.sent).to_bytes(4, "big") + bytes(size)
        self.sent.append(body)
        destination = "" if size % 2 else "x" * 100
        transfer = spec.MessageTransfer(destination=destination)
        self.session.send_command(transfer, header=HEADER, body=body)

    def hear(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, CommandReceived):
                assert event.command_id == len(self.heard)
                self.heard.append(event.payload[event.body_at :])
                self.open.append(event.command_id)

    def complete(self, count: int) -> None:
        for command_id in self.open[:count]:
            self.session.complete(command_id, command_id)
        del self.open[:count]


class Cut:
    """The two of them, and the transport between them."""

    def __init__(self) -> None:
        self.pair = drive.Pair()
        self.pair.open()
        ours, theirs = self.pair.session()
        ours.keep_state()
        theirs.keep_state()
        self.client, self.server = End(ours), End(theirs)
        self._small_frames()

    def _small_frames(self) -> None:
        self.pair.client._frames.max_frame_size = 4096
        self.pair.server._frames.max_frame_size = 4096

    def flow(self, up_max: int, down_max: int) -> None:
        """So many octets arrive each way, and all that is answered to them, unless that is less."""
        pair = self.pair
        while True:
            up = pair.client.data_to_send()[:up_max]
            down = pair.server.data_to_send()[:down_max]
            up_max -= len(up)
            down_max -= len(down)
            if not up and not down:
                return
            self._serve(pair.server.receive_data(up, 0))
            self.client.hear(pair.client.receive_data(down, 0))

    def _serve(self, events: list[Event]) -> None:
        self.server.hear(events)
        for event in events:
            if isinstance(event, AttachReceived):
                self.pair.server.resume(event.session, self.server.session)
                self.server.hear(self.pair.server.receive_data(b"", 0))

    def cut(self, up: int, down: int) -> None:
        """The transport breaks after so many octets, and there is another one."""
        self.flow(up, down)
        pair = self.pair
        pair.client.receive_eof()
        pair.server.receive_eof()
        pair.client.lose(self.client.session)
        pair.server.lose(self.server.session)
        self.pair = drive.Pair()
        self.pair.open()
        self._small_frames()
        self.pair.server.channels.resumable.add(b"s")
        self.pair.client.attach_again(self.client.session, 1)


@settings(max_examples=examples(100))
@given(st.lists(STEPS, max_size=25))
def test_each_command_is_heard_once_and_in_order_wherever_the_transport_breaks(steps) -> None:
    cut = Cut()
    for what, first, second in steps:
        end = cut.client if first else cut.server
        if what == "send":
            end.send(second)
        elif what == "complete":
            end.complete(second)
        elif what == "cut":
            cut.cut(first, second)
        else:
            cut.flow(1 << 40, 1 << 40)
    cut.flow(1 << 40, 1 << 40)
    assert cut.server.heard == cut.client.sent
    assert cut.client.heard == cut.server.sent
    for end in (cut.client, cut.server):
        end.complete(1 << 30)
    cut.flow(1 << 40, 1 << 40)
    for end in (cut.client, cut.server):
        assert end.session.in_doubt() == 0
        assert end.session.replay is not None and end.session.replay.octets == 0
    for connection in (cut.pair.client, cut.pair.server):
        connection.channels.sessions[1].lose_state()
    assert cut.pair.server.account.held == cut.pair.client.account.held
