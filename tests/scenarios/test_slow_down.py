"""Clients whose publishes are held back: what slows them down, in which order, and until when."""

from support.face_1_0 import Client as Client10
from support.face_1_0 import Hub, message
from support.rules import rule
from support.talk_0_10 import Client, Gateway, completed

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import INT32
from gateway.amqp_1_0 import _spec as spec_1_0
from gateway.amqp_1_0 import events
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.queues.discipline import Discipline, FlowLimits
from gateway.bridge.unwritten import MUCH
from gateway.faces.doubt import RECORDED_OCTETS
from gateway.wire.limits import Limits
from gateway.wire.tagged import Tagged

PRESSED = BridgeLimits(messages_high=2, messages_low=1, messages_max=1000)
SLOW = Limits(octets_in_doubt_max=3_000, link_credit=100)
BODY = b"x" * 1_000
FLOW = [("qpid.session_flow", Tagged(INT32, 1))]

STOPPED = [
    spec.MessageSetFlowMode(destination="", flow_mode=spec.FlowMode.CREDIT),
    spec.MessageStop(destination=""),
]
ACCEPTED = spec_1_0.Accepted()
GO_ON = spec.MessageFlow(destination="", unit=spec.CreditUnit.MESSAGE, value=2**31 - 1)


def pressed(*, limits: Limits = SLOW) -> Gateway:
    """A gateway that holds back everything from the third message on."""
    gateway = Gateway(bridge_limits=PRESSED, limits=limits)
    gateway.world.queue()
    return gateway


def publisher(gateway: Gateway, *, flow: bool) -> Client:
    client = gateway.client("", properties=FLOW if flow else None)
    client.attach()
    return client


def publishes(client: Client, number: int) -> list[object]:
    for _ in range(number):
        client.publishes(BODY)
    return client.hears()


def consumes(gateway: Gateway, number: int) -> None:
    """Somebody else takes so many messages."""
    consumer = gateway.session()
    consumer.subscribes(accept=1, credit=number)
    assert len(consumer.gets()) == number
    consumer.loses_transport()


@rule("0-10", "message", "throttling")
def test_a_client_that_takes_producer_flow_is_stopped_and_let_go_again() -> None:
    gateway = pressed()
    client = publisher(gateway, flow=True)
    assert publishes(client, 4) == [completed((0, 1))]
    assert publishes(client, 1) == STOPPED
    assert not client.face.reading_paused
    consumes(gateway, 4)
    assert client.hears() == [GO_ON, completed((2, 4))]
    # With the next stop, the mode is known.
    assert publishes(client, 5) == [STOPPED[1], completed((5, 5))]


def test_a_client_that_does_not_take_producer_flow_is_sent_none() -> None:
    gateway = pressed()
    client = publisher(gateway, flow=False)
    assert publishes(client, 6) == [completed((0, 1))]
    consumes(gateway, 4)
    assert client.hears() == [completed((2, 5))]


def test_very_many_small_messages_slow_a_client_down_as_well() -> None:
    gateway = pressed(limits=Limits(commands_in_doubt_max=16))
    client = publisher(gateway, flow=True)
    for _ in range(5):
        client.publishes(b"")
    assert client.hears() == [completed((0, 1))]
    client.publishes(b"")
    assert client.hears() == STOPPED
    assert not client.face.reading_paused
    consumes(gateway, 6)
    assert client.hears() == [GO_ON, completed((2, 5))]


def test_further_transfers_are_parked_and_then_reading_pauses() -> None:
    gateway = pressed()
    client = publisher(gateway, flow=False)
    publishes(client, 5)
    publishes(client, 2)
    assert gateway.world.depth() == 5
    assert not client.face.reading_paused
    publishes(client, 1)
    assert client.face.reading_paused
    consumes(gateway, 4)
    client.hears()
    assert not client.face.reading_paused
    client.hears()
    assert gateway.world.depth() == 4
    consumes(gateway, 4)
    client.hears()
    assert client.hears() == []
    assert client.face.drained()
    gateway.world.check()


def test_accepts_on_the_same_session_go_on_and_free_the_queue() -> None:
    gateway = pressed()
    client = publisher(gateway, flow=False)
    client.subscribes(accept=0, credit=100)
    for _ in range(7):
        client.publishes(BODY)
    assert len(client.gets()) == 5
    assert client.face.client.doubt.high
    client.says(spec.MessageAccept(transfers=[(0, 4)]))
    assert len(client.gets()) == 2
    assert not client.face.client.doubt.high


def test_whom_a_full_queue_of_its_own_holds_back_is_slowed_in_the_same_way() -> None:
    gateway = Gateway(limits=SLOW)
    stop_at_two = [("qpid.flow_stop_count", Tagged(INT32, 2))]
    client = publisher(gateway, flow=True)
    client.does(spec.QueueDeclare(queue="q", arguments=stop_at_two))
    assert publishes(client, 4) == [completed((1, 2))]
    assert publishes(client, 1) == STOPPED
    client.subscribes(accept=0, credit=100)
    assert len(client.gets()) == 5
    client.says(spec.MessageAccept(transfers=[(2, 5)]))  # the stop and the mode are commands, too
    heard = client.hears()
    assert GO_ON in heard
    assert client.face.drained() is False  # the fifth is unsettled
    assert gateway.world.depth() == 1
    gateway.world.check()


def test_a_1_0_sender_whose_queue_is_full_hears_nothing_and_its_consumer_goes_on() -> None:
    hub = Hub(limits=SLOW)
    flow = FlowLimits(stop_count=1, resume_count=1)
    hub.world.queue(discipline=Discipline(flow=flow))
    client = hub.client()
    link = client.sender("q")
    for number in range(5):
        link.send_delivery(b"%d" % number, b"", message(BODY), settled=False)
    client.step()
    assert told(client) == 1
    assert link.credit == 0
    receiver = client.receiver("q", session=link.session)
    hub.step()
    deliveries = [each.delivery_id for each in client.take_all(events.DeliveryReceived)]
    assert len(deliveries) == 5
    for delivery_id in deliveries[:4]:
        receiver.session.settle_incoming(delivery_id, ACCEPTED)
    hub.step()
    assert told(client) == 3  # the copies of these have left
    receiver.session.settle_incoming(deliveries[4], ACCEPTED)
    hub.step()
    assert told(client) == 1
    assert link.credit > 50
    hub.end()


def told(client: Client10) -> int:
    """How many deliveries have had their outcome, since it was asked last."""
    heard = client.take_all(events.DispositionReceived)
    return sum(len(event.deliveries) for event in heard)


def test_what_was_parked_is_carried_out_and_brought_to_the_end_of_another_turn() -> None:
    gateway = pressed()
    client = publisher(gateway, flow=False)
    publishes(client, 7)
    consumes(gateway, 5)
    gateway.world.turn()
    gateway.touched.clear()
    client.face.data_to_send()
    assert gateway.world.depth() == 2
    assert gateway.touched == [client.face]


def test_other_sessions_of_the_connection_that_hold_nothing_go_on() -> None:
    gateway = pressed()
    client = publisher(gateway, flow=True)
    publishes(client, 5)
    client.attach()
    assert publishes(client, 1) == STOPPED  # it holds something now, too
    assert gateway.world.depth() == 6
    publishes(client, 1)
    assert gateway.world.depth() == 6


def test_the_end_of_a_slow_session_lets_the_others_go_on() -> None:
    gateway = pressed()
    client = publisher(gateway, flow=False)
    publishes(client, 7)
    assert client.session is not None
    client.session.detach()
    client.hears()
    assert (client.face.client.doubt.held, client.face.client.doubt.parked) == (0, 0)
    assert not client.face.client.doubt.high
    assert gateway.world.depth() == 5


def test_a_client_is_not_taken_for_dead_while_it_is_not_read() -> None:
    gateway = pressed()
    client = publisher(gateway, flow=False)
    publishes(client, 8)
    assert client.face.reading_paused
    for _ in range(20):
        gateway.world.now_ms += 60_000
        client.face.heard(gateway.world.now_ms)  # by the kernel
        client.face.handle_deadline(gateway.world.now_ms)
    assert not client.face.closed


def test_a_1_0_sender_has_its_credit_taken_back_and_given_again() -> None:
    hub = Hub(bridge_limits=PRESSED, limits=SLOW)
    hub.world.queue()
    client = hub.client()
    link = client.sender("q")
    for number in range(4):
        link.send_delivery(b"%d" % number, b"", message(BODY), settled=number == 3)
    client.step()
    assert link.credit > 50
    link.send_delivery(b"5", b"", message(BODY), settled=False)
    client.step()
    assert link.credit == 0
    assert not client.face.reading_paused
    taker = hub.client("taker")
    taker.receiver("q", credit=4, snd_settle_mode=1)
    hub.step()
    assert len(taker.take_all(events.DeliveryReceived)) == 4
    hub.step()
    assert link.credit > 50
    assert client.face.drained()
    hub.end()


def test_a_1_0_connection_is_not_read_while_twice_as_much_is_held() -> None:
    hub = Hub(bridge_limits=PRESSED, limits=SLOW)
    hub.world.queue()
    client = hub.client()
    link = client.sender("q")
    for number in range(8):
        link.send_delivery(b"%d" % number, b"", message(BODY), settled=False)
    client.step()
    assert client.face.reading_paused
    for _ in range(20):
        hub.world.now_ms += 60_000
        client.face.heard(hub.world.now_ms)  # by the kernel
        client.face.handle_deadline(hub.world.now_ms)
    assert not client.face.closed
    link.send_detach()
    client.step()
    hub.end()


def test_a_1_0_publisher_is_not_read_on_a_full_disk_when_all_have_sent_what_fits_its_reserve() -> (
    None
):
    hub = Hub(limits=SLOW)
    hub.world.queue()
    clients = [hub.client(name) for name in ("first", "second")]
    links = [client.sender("q") for client in clients]
    taker = hub.client("taker")
    pressure = hub.world.bridge.pressure
    pressure.late_max = 2 * (len(message(BODY)) + RECORDED_OCTETS)
    pressure.block()
    for client, link, paused in zip(clients, links, ([False, False], [True, True]), strict=True):
        for number in range(2):  # both are under way when the credit is taken back
            link.send_delivery(b"%d" % number, b"", message(BODY), settled=False)
        client.step()
        assert [client.face.reading_paused for client in clients] == paused
    assert not taker.face.reading_paused
    pressure.unblock()
    assert [client.face.reading_paused for client in clients] == [False, False]


def test_who_makes_more_records_than_are_written_is_not_read() -> None:
    gateway = Gateway()
    gateway.world.auto_commit = False
    flood, polite = gateway.session(), gateway.session()
    commands = 0
    while not flood.face.reading_paused:
        for _ in range(1_000):
            flood.publishes(b"x", to="amq.fanout", key="")
        flood.hears()
        commands += 1_000
        assert commands < 20_000
    assert gateway.world.bridge.unwritten.octets < 2 * MUCH
    polite.publishes(b"x", to="amq.fanout", key="")
    assert polite.hears() == [completed((0, 0))]
    assert not polite.face.reading_paused
    gateway.world.commit()
    assert flood.face in gateway.touched
    flood.hears()  # what it had asked for beyond a share of the turn
    assert not flood.face.reading_paused


def test_nor_is_such_a_client_of_1_0() -> None:
    hub = Hub()
    hub.world.auto_commit = False
    client = hub.client()
    link = client.sender("amq.fanout")
    sent = 0
    while not client.face.reading_paused:
        for _ in range(100):  # no more than a share of a turn
            link.send_delivery(b"t", b"", message(b"x"), settled=True)
        hub.step()
        sent += 100
        assert sent < 20_000
    hub.turns.touched.clear()
    hub.world.commit()
    assert client.face in hub.turns.touched
    assert not client.face.reading_paused
