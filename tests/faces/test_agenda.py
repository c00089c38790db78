"""A connection that asks for much is served in shares, and holds up nobody but itself."""

from support.face_1_0 import Hub, message
from support.frames_1_0 import octets_of
from support.talk_0_10 import Client, Gateway
from support.work import grows_linearly, units_of

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_1_0 import _spec, events
from gateway.faces.agenda import Agenda
from gateway.net.reading import COSTLY, USUAL
from gateway.wire.work import COMMAND, FRAME, READ, SHARE, VERB, WORK

QUERY = spec.ExchangeQuery(name="amq.topic")


def asked(client: Client, number: int) -> bytes:
    for _ in range(number):
        client.says(QUERY)
    return client.connection.data_to_send()


def read(client: Client, octets: bytes) -> int:
    """The units that one read costs at once."""
    return units_of(lambda: client.face.receive_data(octets, client.gateway.world.now_ms))


def test_events_wait_in_their_order() -> None:
    agenda: Agenda[str] = Agenda()
    assert agenda.come(["a", "b"])
    end = agenda.begin()
    assert end == WORK.units + SHARE
    cut = WORK.cut
    agenda.wait(["c", "d", "e"], 1)
    assert WORK.cut == cut + 1
    assert not agenda.come(["f"])
    assert agenda.take() == ["d", "e", "f"]
    assert agenda.waiting == []


def test_commands_cost_as_many_as_they_are_until_the_share_is_over() -> None:
    client = Gateway().session()
    few = read(client, asked(client, 20))
    client.hears()
    assert grows_linearly(few, read(client, asked(client, 200)), 10)
    client.hears()
    begun = read(client, asked(client, 1000)) - 1000 * READ
    assert SHARE < begun <= SHARE + 2 * COMMAND
    assert client.face.behind


def test_what_is_over_the_share_is_done_in_later_turns() -> None:
    client = Gateway().session()
    read(client, asked(client, 1000))
    assert client.face.reading_paused
    assert not client.face.drained()
    turns = 0
    while client.face.behind:
        assert units_of(client.face.data_to_send) <= SHARE + 2 * COMMAND
        turns += 1
    assert turns == 1000 * COMMAND // SHARE - 1  # reading has had the first share
    assert not client.face.reading_paused


def test_the_answers_are_those_that_would_have_come_at_once() -> None:
    client = Gateway().session()
    for number in range(600):
        client.says(spec.QueueDeclare(queue=f"q{number}"))
        client.says(spec.QueueQuery(queue=f"q{number}"))
    heard = client.hears()
    found = [one.queue for one in heard if isinstance(one, spec.QueueQueryResult)]
    assert found == [f"q{number}" for number in range(600)]


def test_who_is_gone_is_gone_behind_what_it_sent() -> None:
    gateway = Gateway()
    client = gateway.session()
    for number in range(600):
        client.says(
            spec.QueueDeclare(queue=f"q{number}", exclusive=number == 0, auto_delete=number == 0)
        )
    octets = client.connection.data_to_send()
    read(client, octets)
    client.face.receive_eof(gateway.world.now_ms)
    assert client.face.behind
    assert not client.face.closed
    assert "q0" in gateway.world.host.topology.queues
    while client.face.behind:
        client.face.data_to_send()
    assert client.face.closed
    assert "q0" not in gateway.world.host.topology.queues
    assert "q599" in gateway.world.host.topology.queues
    assert gateway.settings.counts.connections_closed == [1, 0]


def test_what_was_read_before_the_gateway_closes_is_done() -> None:
    gateway = Gateway()
    gateway.world.queue("q")
    client = gateway.session()
    for _ in range(1000):
        client.says(QUERY)
    client.publishes(b"last")
    read(client, client.connection.data_to_send())
    assert gateway.world.depth() == 0
    client.face.force_close(gateway.world.now_ms)
    assert gateway.world.depth() == 1
    assert not client.face.behind
    client.face.data_to_send()
    assert client.face.drained()


def test_parked_commands_are_carried_out_in_shares_too() -> None:
    gateway = Gateway()
    client = gateway.session()
    session = next(iter(client.face._sessions.living.values()))
    events = []
    client.hears()
    park = session.parking.park
    for _ in range(600):
        client.says(QUERY)
    octets = client.connection.data_to_send()
    for event in client.face.connection.receive_data(octets, 0):
        events.append(event)
        park(event)
    assert units_of(client.face.data_to_send) <= SHARE + 2 * COMMAND
    assert len(session.parking) > 0


def test_the_face_tells_what_it_has_been_at() -> None:
    client = Gateway().session("alice")
    client.does(spec.QueueDeclare(queue="q"), spec.QueuePurge(queue="q"))
    assert client.face.doing() == "user 'alice': QueueDeclare"


def test_1_0_links_are_attached_in_shares() -> None:
    hub = Hub()
    hub.world.queue("q")
    client = hub.client()
    session = client.session()
    for number in range(500):
        link = session.attach(f"link-{number}", _spec.SENDER)
        link.send_attach(source=_spec.Source(address="x"), target=_spec.Target(address="q"))
    octets = client.connection.data_to_send()
    units = units_of(lambda: client.face.receive_data(octets, hub.world.now_ms))
    assert SHARE < units <= SHARE + VERB
    assert client.face.behind
    assert client.face.reading_paused
    client.step()
    assert not client.face.behind
    assert session.handles.links[499].attached
    assert client.face.doing() == "user 'anonymous': AttachReceived"
    hub.end()


def test_1_0_clients_that_are_gone_have_sent_what_they_sent() -> None:
    hub = Hub()
    hub.world.queue("q")
    client = hub.client()
    session = client.session()
    for number in range(500):
        link = session.attach(f"link-{number}", _spec.RECEIVER)
        link.send_attach(source=_spec.Source(address="q"), target=_spec.Target(address="x"))
    sender = session.attach("last", _spec.SENDER)
    sender.send_attach(source=_spec.Source(address="x"), target=_spec.Target(address="q"))
    client.step()
    for number in range(500):
        session.handles.links[number].send_detach(closed=True)
    sender.send_delivery(b"t", b"", message(), settled=True)
    client.face.receive_data(client.connection.data_to_send(), hub.world.now_ms)
    client.face.receive_eof(hub.world.now_ms)
    assert client.face.behind
    assert hub.world.depth() == 0
    while client.face.behind:
        client.face.data_to_send()
    assert client.face.closed
    assert hub.world.depth() == 1
    hub.end()


def test_1_0_dispositions_of_all_deliveries_again_and_again_end_the_session() -> None:
    hub = Hub()
    hub.world.queue("q")
    for _ in range(1000):
        hub.host.publishing.publish(hub.world.message(message(), key="q"), None, 0)
    client = hub.client()
    link = client.receiver("q", credit=1000)
    assert len(client.received()) == 1000
    channel = link.session.channel_out
    everything = _spec.Disposition(role=_spec.RECEIVER, first=0, last=2**31 - 2, settled=False)

    def says(number: int) -> int:
        octets = octets_of(*[everything] * number, channel=channel)
        return units_of(lambda: client.face.receive_data(octets, hub.world.now_ms))

    assert grows_linearly(says(1), says(2), 2)
    client.step()
    assert not client.take_all(events.EndReceived)
    says(VERB // 1000)
    client.step()
    ended = client.take(events.EndReceived)
    assert ended.error.condition == "amqp:resource-limit-exceeded"
    hub.end()


def test_frames_that_begin_and_end_sessions_and_links_are_work_before_they_are_commands() -> None:
    hub = Hub()
    hub.world.queue()
    client = hub.client()
    session = client.session()

    def storm(count: int) -> bytes:
        for number in range(count):
            begun = client.connection.session()
            begun.send_begin()
            begun.send_end()
            link = session.attach(f"l{number}", _spec.SENDER)
            link.send_attach(source=_spec.Source(address="x"), target=_spec.Target(address="q"))
            link.send_detach()
        return client.connection.data_to_send()

    octets = storm(200)
    units = units_of(lambda: client.face.receive_data(octets, hub.world.now_ms))
    assert COSTLY < units < 3 * SHARE  # so less is read of it at a time, and the rest comes later

    def rest() -> None:
        while client.face.behind:
            client.face.data_to_send()

    assert units + units_of(rest) >= 200 * 4 * FRAME + 600 * COMMAND
    assert len(octets) < USUAL // 2


def test_what_such_frames_cost_does_not_count_against_dispositions_behind_them() -> None:
    hub = Hub()
    hub.world.queue()
    client = hub.client()
    receiver = client.receiver("q")
    client.send(client.sender("q"), message(b"x"), settled=True)
    (delivery,) = client.take_all(events.DeliveryReceived)
    for number in range(VERB // FRAME // 2 + 1):
        link = receiver.session.attach(f"l{number}", _spec.SENDER)
        link.send_attach(source=_spec.Source(address="x"), target=_spec.Target(address="q"))
        link.send_detach()
    receiver.session.settle_incoming(delivery.delivery_id, _spec.Accepted())
    octets = client.connection.data_to_send()
    client.face.receive_data(octets, hub.world.now_ms)
    hub.step()
    assert not client.take_all(events.EndReceived)
    assert hub.world.depth() == 0
