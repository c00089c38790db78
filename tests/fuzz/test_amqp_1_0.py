"""Well-formed and malformed frames in any order, at connections and faces in any state."""

from hypothesis import given, settings
from hypothesis import strategies as st
from support import values_1_0
from support.examples import examples
from support.face_1_0 import Hub, message
from support.frames_1_0 import octets_of
from support.pair_1_0 import T0, links_of

from gateway.amqp_1_0 import _spec, events, frames
from gateway.amqp_1_0.connection import Connection
from gateway.codegen.amqp_1_0_tables import COMPOSITES
from gateway.wire.buffers import Reader
from gateway.wire.limits import Limits

BY_NAME = {c.name: c for c in COMPOSITES}
LIMITS = Limits(
    max_frame_size=4096, sessions_max=4, links_max=6, unsettled_max=20, session_window=8,
    message_size_max=2000, link_credit=5,
)  # fmt: skip
SMALL = st.integers(0, 6)
ADDRESSES = st.sampled_from(["q", "amq.topic", "amq.direct/k", "amq.match", "nowhere", None])
STATES = st.one_of(
    st.none(),
    st.sampled_from(
        [
            _spec.Accepted(),
            _spec.Released(),
            _spec.Rejected(),
            _spec.Modified(delivery_failed=True, undeliverable_here=True),
            _spec.Received(section_number=0, section_offset=0),
            _spec.TransactionalState(txn_id=b"t"),
        ]
    ),
)

# Performatives whose numbers are likely to meet, so that most of them mean something.
LIKELY = st.one_of(
    st.builds(
        _spec.Open, container_id=st.just("c"), idle_time_out=st.sampled_from([None, 0, 9000])
    ),
    st.builds(
        _spec.Begin,
        remote_channel=st.sampled_from([None, None, None, 0]),
        next_outgoing_id=st.just(0),
        incoming_window=st.sampled_from([0, 3, 2**32 - 1]),
        outgoing_window=SMALL,
        handle_max=st.sampled_from([None, 0, 3]),
    ),
    st.builds(
        _spec.Attach,
        name=st.sampled_from(["a", "b", "c"]),
        handle=SMALL,
        role=st.booleans(),
        source=st.one_of(
            st.none(),
            st.builds(
                _spec.Source,
                address=ADDRESSES,
                distribution_mode=st.sampled_from([None, "copy", "move"]),
                dynamic=st.sampled_from([None, False, True]),
                durable=st.sampled_from([None, 0, 2]),
            ),
        ),
        target=st.one_of(
            st.none(),
            st.builds(_spec.Target, address=ADDRESSES, dynamic=st.sampled_from([None, True])),
            st.just(_spec.Coordinator()),
        ),
        snd_settle_mode=st.sampled_from([None, 0, 1, 2]),
        rcv_settle_mode=st.sampled_from([None, 0, 1]),
        initial_delivery_count=st.sampled_from([0, 2**32 - 1, None]),
        max_message_size=st.sampled_from([None, 0, 50]),
    ),
    st.builds(
        _spec.Flow,
        next_incoming_id=st.one_of(st.none(), SMALL),
        incoming_window=st.sampled_from([0, 2, 100, 2**32 - 1]),
        next_outgoing_id=SMALL,
        outgoing_window=SMALL,
        handle=st.one_of(st.none(), SMALL),
        delivery_count=st.one_of(st.none(), SMALL),
        link_credit=st.sampled_from([None, 0, 1, 10, 2**32 - 1]),
        drain=st.sampled_from([None, True]),
        echo=st.sampled_from([None, True]),
    ),
    st.builds(
        _spec.Disposition,
        role=st.booleans(),
        first=SMALL,
        last=st.one_of(st.none(), SMALL),
        settled=st.sampled_from([None, True]),
        state=STATES,
    ),
    st.builds(_spec.Detach, handle=SMALL, closed=st.sampled_from([None, True])),
    st.just(_spec.End()),
    st.just(_spec.Close()),
)
TRANSFERS = st.tuples(
    st.builds(
        _spec.Transfer,
        handle=SMALL,
        delivery_id=st.one_of(st.none(), st.integers(0, 30)),
        delivery_tag=st.one_of(st.none(), st.binary(max_size=3)),
        message_format=st.sampled_from([None, 0, 0, 7]),
        settled=st.sampled_from([None, True]),
        more=st.sampled_from([None, None, True]),
        state=STATES,
        aborted=st.sampled_from([None, None, None, True]),
        rcv_settle_mode=st.sampled_from([None, 0, 1]),
    ),
    st.sampled_from([b"", b"nonsense", message(), message(b"x" * 1500)]),
)
ANY = st.sampled_from([c for c in COMPOSITES if "performative" in c.archetypes]).flatmap(
    values_1_0.composite
)


CHANNELS = st.sampled_from([0, 0, 0, 1, 2, 9])
FEW_OCTETS = st.binary(max_size=30)
ONE_IN_TWENTY = st.integers(0, 19)


@st.composite
def frame(draw):
    channel = draw(CHANNELS)
    kind = draw(ONE_IN_TWENTY)
    if kind < 7:
        performative, payload = draw(TRANSFERS)
        return octets_of(performative, channel=channel, payload=payload)
    if kind < 17:
        return octets_of(draw(LIKELY), channel=channel)
    if kind == 17:
        return octets_of(draw(ANY), channel=channel)
    if kind == 18:
        return b"\0\0\0\x08\2\0\0\0"
    return draw(FEW_OCTETS)


BEGINNING = frames.PROTOCOL_AMQP + octets_of(
    _spec.Open(container_id="c"),
    _spec.Begin(next_outgoing_id=0, incoming_window=2**31, outgoing_window=9),
    _spec.Attach(
        name="a", handle=0, role=False, initial_delivery_count=0, target=_spec.Target(address="q")
    ),
    _spec.Attach(name="b", handle=1, role=True, source=_spec.Source(address="q")),
)


class Client:
    """Renders actions as a client that mostly keeps the rules: right ids, handles that exist."""

    def __init__(self):
        self.next_id = 0
        self.open_id = None
        self.next_handle = 2
        self.next_settled = 0

    def render(self, action):
        kind, draw = action
        return draw if kind == "wild" else getattr(self, kind)(*draw)

    def transfer(self, settled, more, state, payload, handle):
        number = self.next_id if self.open_id is None else self.open_id
        self.open_id = number if more else None
        self.next_id = number + 1
        return octets_of(
            _spec.Transfer(
                handle=handle,
                delivery_id=number,
                delivery_tag=bytes([number % 256]),
                settled=settled,
                more=more,
                state=state,
            ),
            payload=payload,
        )

    def flow(self, handle, credit, drain, echo, window):
        return octets_of(
            _spec.Flow(
                next_incoming_id=0,
                incoming_window=window,
                next_outgoing_id=0,
                outgoing_window=9,
                handle=handle,
                link_credit=credit,
                drain=drain,
                echo=echo,
            )
        )

    def disposition(self, first, count, settled, state, role):
        last = None if count == 0 else first + count
        return octets_of(
            _spec.Disposition(role=role, first=first, last=last, settled=settled, state=state)
        )

    def consume(self, credit, settled, state):
        """Credit, and a word on the deliveries that it may have brought so far."""
        first = self.next_settled
        self.next_settled += credit
        return self.flow(1, credit, None, None, 2**31) + self.disposition(
            max(0, first - 2), 3, settled, state, True
        )

    def attach(self, role, address, mode, dynamic):
        self.next_handle += 1
        name = f"n{self.next_handle}"
        address = None if dynamic else address
        return octets_of(
            _spec.Attach(
                name=name,
                handle=min(self.next_handle, 5),
                role=role,
                initial_delivery_count=0,
                source=_spec.Source(address=address, dynamic=dynamic, distribution_mode=mode),
                target=_spec.Target(address=address, dynamic=dynamic),
            )
        )

    def detach(self, handle, closed):
        return octets_of(_spec.Detach(handle=handle, closed=closed))


PAYLOADS = st.sampled_from([b"", b"nonsense", message(), message(), message(b"x" * 1500)])
YES = st.sampled_from([None, None, True])
SETTLED = st.sampled_from([True, True, None])
ACTIONS = st.one_of(
    st.tuples(
        st.just("transfer"),
        st.tuples(YES, st.sampled_from([None, None, None, True]), STATES, PAYLOADS, st.just(0)),
    ),
    st.tuples(
        st.just("transfer"),
        st.tuples(YES, st.none(), st.none(), st.just(message()), st.just(0)),
    ),
    st.tuples(st.just("consume"), st.tuples(st.sampled_from([1, 2, 5]), SETTLED, STATES)),
    st.tuples(
        st.just("flow"),
        st.tuples(
            st.sampled_from([1, 1, 1, 1, 1, 0, 3, None]),
            st.sampled_from([0, 1, 3, 10]),
            YES,
            YES,
            st.sampled_from([2**31, 2**31, 4, 0]),
        ),
    ),
    st.tuples(
        st.just("disposition"),
        st.tuples(SMALL, SMALL, SETTLED, STATES, st.sampled_from([True, True, False])),
    ),
    st.tuples(
        st.just("attach"),
        st.tuples(st.booleans(), ADDRESSES, st.sampled_from([None, "copy"]), YES),
    ),
    st.tuples(st.just("detach"), st.tuples(st.sampled_from([0, 1, 3]), YES)),
)
WILD = st.tuples(st.just("wild"), frame())
MOSTLY_RIGHT = st.lists(
    ONE_IN_TWENTY.flatmap(lambda n: WILD if n == 0 else ACTIONS), min_size=5, max_size=40
)


@st.composite
def rendered(draw):
    client = Client()
    return BEGINNING, [client.render(action) for action in draw(MOSTLY_RIGHT)]


CONVERSATIONS = st.one_of(
    rendered(),
    rendered(),
    st.tuples(
        st.sampled_from([BEGINNING, frames.PROTOCOL_AMQP, b""]), st.lists(frame(), max_size=30)
    ),
)


def answer(connection, found):
    """What a driver does that says yes to everything."""
    for event in found:
        if isinstance(event, events.OpenReceived):
            connection.send_open()
        elif isinstance(event, events.BeginReceived):
            event.session.send_begin()
        elif isinstance(event, events.AttachReceived):
            link = event.link
            link.send_attach(source=_spec.Source(), target=_spec.Target())
            if link.role:
                link.send_flow(credit=3)
        elif isinstance(event, events.FlowReceived):
            link = event.link
            while not link.role and link.attached and 0 < link.credit <= 10:
                link.send_delivery(b"t", b"", b"x" * 3000, settled=False)
            if link.drain and not link.role:
                link.send_drained()
        elif isinstance(event, events.DeliveryReceived):
            event.link.session.settle_incoming(event.delivery_id, _spec.Accepted())
        elif isinstance(event, events.DispositionReceived):
            for delivery in event.deliveries:
                event.session.settle_outgoing(delivery, event.state)
        elif isinstance(event, events.DetachReceived):
            event.link.send_detach()
        elif isinstance(event, events.EndReceived):
            event.session.send_end()
        elif isinstance(event, events.CloseReceived):
            connection.send_close()


def well_formed(octets, limit):
    """Everything that we write decodes, in frames that the peer takes."""
    pos = 8 if octets[:4] == b"AMQP" else 0
    while pos < len(octets):
        size = int.from_bytes(octets[pos : pos + 4])
        assert 8 <= size <= limit
        reader = Reader(octets, pos + 8, pos + size)
        if reader.remaining():
            _spec.decode_performative(reader)
        pos += size


@settings(max_examples=examples(400))
@given(CONVERSATIONS)
def test_a_connection_survives_any_conversation(conversation):
    beginning, pieces = conversation
    connection = Connection(
        server=True, container_id="s", limits=LIMITS, now_ms=T0, mechanisms=["ANONYMOUS"]
    )
    violated = False
    for piece in [beginning, *pieces]:
        found = connection.receive_data(piece, T0)
        told = [e for e in found if not isinstance(e, events.DeliveryDropped)]
        assert not (violated and told)
        violations = [e for e in told if isinstance(e, events.Violation)]
        assert violations == [] or violations == told[-1:]
        violated = violated or bool(violations)
        answer(connection, found)
        well_formed(connection.data_to_send(), connection.carrier.peer_max_frame_size)
        for session in connection.sessions():
            assert len(session.unsettled_in) <= LIMITS.unsettled_max
            assert len(session.handles.links) <= LIMITS.links_max
            for link in session.handles.links.values():
                assert link.credit >= 0
    if connection.closed:
        assert links_of(connection) == 0
    connection.receive_eof()
    assert connection.closed
    assert links_of(connection) == 0


@settings(max_examples=examples(250))
@given(st.lists(CONVERSATIONS, min_size=1, max_size=2))
def test_faces_survive_any_conversation_and_the_ledger_balances(conversations):
    hub = Hub(limits=LIMITS)
    hub.world.queue("q", max_count=20)
    clients = [hub.client() for _ in conversations]
    for client in clients:
        client.connection.receive_eof()
        client.face = type(client.face)(
            hub.world.bridge,
            hub.turns,
            client.authenticator,
            client.face.client.peer,
            hub.settings,
            hub.world.now_ms,
        )
    hub.world.turn()
    longest = max(len(pieces) for _, pieces in conversations)
    for number in range(-1, longest):
        for client, (beginning, pieces) in zip(clients, conversations, strict=True):
            if number < 0:
                client.face.receive_data(beginning, hub.world.now_ms)
            elif number < len(pieces):
                client.face.receive_data(pieces[number], hub.world.now_ms)
        hub.world.turn()
        for client in clients:
            client.face.data_to_send()
    hub.end()
    opened, closed = hub.settings.counts.links_opened[1], hub.settings.counts.links_closed[1]
    assert opened == closed
    counts = hub.settings.counts
    assert counts.sessions_opened[1] == counts.sessions_closed[1]
    queue = hub.host.topology.find_queue("q")
    assert queue.unsettled == 0
    assert queue.users.subscriptions == 0
