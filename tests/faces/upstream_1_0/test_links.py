from support.bridge_world import Producer
from support.face_1_0 import message
from support.upstream_world import UpstreamWorld

from gateway.amqp_1_0 import _spec
from gateway.message import ACCEPTED, Condition, Flag, OutcomeKind
from gateway.translate.profiles.profile import Profile
from gateway.wire.limits import Limits

NOT_FOUND = _spec.Error(condition="amqp:not-found", description="no such node")
BROKEN = _spec.Error(condition="amqp:internal-error")
FORCED = _spec.Error(condition="amqp:link:detach-forced")


def receivers(broker):
    return [event.link for event in broker.attached if event.attach.role == _spec.RECEIVER]


def senders(broker):
    return [event.link for event in broker.attached if event.attach.role == _spec.SENDER]


def sessions(links):
    return [link.session for link in links]


def test_senders_share_a_session_and_each_receiver_has_its_own():
    w = UpstreamWorld().place("a", "b", "c")
    broker = w.connect()
    for name in "abc":
        w.subscribe(name)
        w.publish(b"x", key=name)
    assert len(set(sessions(senders(broker)))) == 1
    assert len(set(sessions(receivers(broker)))) == 3


def test_where_errors_end_sessions_senders_have_their_own_too():
    w = UpstreamWorld(profile=Profile(errors_end_session=True)).place("a", "b")
    broker = w.connect()
    w.publish(b"x", key="a")
    w.publish(b"x", key="b")
    assert len(set(sessions(senders(broker)))) == 2


def test_beyond_the_peers_channel_max_sessions_are_shared():
    w = UpstreamWorld().place("a", "b", "c", "d")
    broker = w.connect(limits=Limits(channel_max=2))
    consumers = [w.subscribe(name)[0] for name in "abcd"]
    assert [consumer.attached for consumer in consumers] == [1, 1, 1, 1]
    assert len({link.session for link in broker.links("a", sends=True)}) == 1
    assert len(set(sessions(receivers(broker)))) <= 3
    assert len(broker.sessions) == 3


def test_a_session_that_has_no_link_left_is_ended():
    w = UpstreamWorld().place("a")
    broker = w.connect()
    _, subscription = w.subscribe("a")
    before = len(broker.connection.sessions())
    subscription.cancel()
    w.step()
    assert len(broker.connection.sessions()) == before - 1


def test_a_session_that_ends_takes_its_link_only_with_it():
    w = UpstreamWorld().place("a", "b")
    broker = w.connect()
    first, _ = w.subscribe("a")
    w.subscribe("b")
    broker.link("a").session.send_end(error=BROKEN)
    w.step()
    assert w.counts.sessions_ended == 1
    assert broker.links("a", sends=True) == []
    assert broker.link("b").credit == 10
    w.pass_time(1_000)
    assert broker.link("a").credit == 10
    assert first.cancelled == []


def test_a_session_ended_for_an_unknown_node_refuses_the_link_that_asked():
    w = UpstreamWorld(profile=Profile(errors_end_session=True)).place("a", "b")
    broker = w.connect(limits=Limits(channel_max=1))
    good, _ = w.subscribe("a")
    broker.session_errors["b"] = NOT_FOUND
    bad, _ = w.subscribe("b")
    w.pass_time(5_000)
    assert bad.cancelled == [Condition.NOT_FOUND]
    assert good.cancelled == []
    assert broker.link("a").credit == 10


def test_a_session_ended_by_the_broker_s_own_fault_while_attaching_is_tried_again():
    w = UpstreamWorld(profile=Profile(errors_end_session=True)).place("a")
    broker = w.connect()
    broker.session_errors["a"] = BROKEN
    subscriber, _ = w.subscribe("a")
    assert w.counts.sessions_ended > 0
    assert broker.links("a", sends=True) == []
    broker.session_errors.clear()
    w.pass_time(5_000)
    assert broker.link("a").credit == 10
    assert subscriber.cancelled == []


def test_links_over_which_a_session_has_ended_do_not_end_those_of_others():
    w = UpstreamWorld(profile=Profile(errors_end_session=True)).place("a", "b")
    broker = w.connect(limits=Limits(channel_max=1))
    w.subscribe("a")
    broker.session_errors["b"] = NOT_FOUND
    w.publish(b"x", key="b")
    w.pass_time(10_000)
    link = broker.link("a")
    w.pass_time(120_000)
    assert broker.link("a") is link


def test_in_a_shared_session_one_attach_at_a_time_is_unanswered_where_errors_end_it():
    w = UpstreamWorld(profile=Profile(errors_end_session=True)).place("a", "b")
    waiting = []

    def prepare(broker):
        broker.answers["a"] = waiting.append
        broker.answers["b"] = waiting.append

    w.subscribe("a")
    w.subscribe("b")
    broker = w.connect(limits=Limits(channel_max=0), prepare=prepare)
    assert len(waiting) == 1
    while waiting:
        broker.accept(waiting.pop(0))
        w.step()
    assert broker.links("a", sends=True)
    assert broker.links("b", sends=True)


def test_an_attach_without_an_answer_is_given_up_and_tried_again():
    w = UpstreamWorld(attach_timeout_ms=5_000).place("a")
    broker = w.connect()
    _, _ = w.subscribe("a")
    w.lose()
    asked = []
    broker = w.connect(prepare=lambda b: b.answers.update(a=asked.append))
    first = len(asked)
    w.pass_time(5_000)
    w.pass_time(2_000)
    assert len(asked) > first
    broker.answers.clear()
    w.pass_time(20_000)
    assert broker.link("a").credit == 10


def test_a_link_that_is_detached_at_once_is_attached_less_and_less_often():
    w = UpstreamWorld().place("a")
    broker = w.connect()
    w.subscribe("a")
    count = 0
    for _ in range(60):
        for link in broker.links("a", sends=True):
            link.send_detach(error=FORCED)
            count += 1
        w.step()
        w.pass_time(1_000)
    assert 3 < count < 8


def test_a_link_that_has_lasted_begins_with_the_shortest_back_off_again():
    w = UpstreamWorld(back_off_max_ms=8_000).place("a")
    broker = w.connect()
    w.subscribe("a")
    for _ in range(3):
        broker.link("a").send_detach(error=FORCED)
        w.step()
        w.pass_time(8_000)
    w.pass_time(8_000)
    broker.link("a").send_detach(error=FORCED)
    w.step()
    w.pass_time(1_000)
    assert broker.links("a", sends=True)


def test_no_more_links_than_the_limit_are_attached():
    w = UpstreamWorld(limits=Limits(links_max=3)).place("a")
    broker = w.connect()
    for _ in range(4):
        w.subscribe("a")
    assert len(broker.links("a", sends=True)) <= 3
    assert w.upstream.health.connected


def test_receivers_of_one_session_grant_no_more_than_it_can_hold():
    w = UpstreamWorld(limits=Limits(unsettled_max=12)).place("a", "b")
    broker = w.connect(limits=Limits(channel_max=0))
    w.publish(b"one", key="a")
    broker.sessions[0].send_end(error=BROKEN)
    w.step()
    w.subscribe("b")
    w.pass_time(5_000)
    assert len(w.face.connection.sessions()) == 1
    assert len(broker.links("a", sends=False)) == 1
    assert len(broker.links("b", sends=True)) == 1


def test_an_attach_that_the_peers_frames_are_too_small_for_fails_alone():
    w = UpstreamWorld(profile=Profile(selector=True)).place("q", "r")
    broker = w.connect(limits=Limits(max_frame_size=512))
    w.subscribe("r")
    consumer, _ = w.subscribe("q", selector=f"a = '{'x' * 600}'")
    w.step()
    assert w.upstream.health.connected
    w.pass_time(31_000)
    assert consumer.why == ["upstream broker: its frames are too small for our attach"]
    w.step()
    assert len(w.face.connection.sessions()) == 2  # of senders, and of r
    assert len(broker.links("r", sends=True)) == 1


def sharing(unsettled, *names):
    """Subscriptions that all share one session of the upstream's."""
    limits = Limits(unsettled_max=unsettled, link_credit=100)
    w = UpstreamWorld(limits=limits).place(*names)
    broker = w.connect(limits=Limits(channel_max=0))
    consumers = [w.subscribe(name, credit=100)[0] for name in names]
    return w, broker, consumers


def test_receivers_that_share_a_session_share_what_it_may_hold():
    _, broker, _ = sharing(40, "a", "b", "c", "d")
    assert [broker.link(name).credit for name in "abcd"] == [5, 5, 5, 5]


def test_what_a_client_does_not_settle_takes_no_room_from_others():
    w, broker, consumers = sharing(40, "a", "b")
    for _ in range(10):
        broker.deliver("a", message())
        w.step()
    assert broker.link("a").credit == 0
    for _ in range(30):
        broker.deliver("b", message())
        w.step()
        w.settle(consumers[1].take()[0], ACCEPTED)
    assert broker.link("b").credit > 0
    w.settle(consumers[0].take()[0], ACCEPTED)
    assert broker.link("a").credit == 1


def test_a_receiver_that_joins_a_full_session_gets_its_part_when_there_is_room():
    w, broker, consumers = sharing(10, "a")
    for _ in range(10):
        broker.deliver("a", message())
    w.step()
    w.placements.queues_placed["b"] = w.placements.queues_placed["a"]
    w.subscribe("b", credit=100)
    assert broker.link("b").credit == 0
    for delivery in consumers[0].take():
        w.settle(delivery, ACCEPTED)
    assert broker.link("b").credit == 2
    assert broker.link("a").credit == 2


def test_the_part_of_a_link_that_goes_is_shared_out():
    w, broker, _ = sharing(40, "a")
    w.placements.queues_placed["b"] = w.placements.queues_placed["a"]
    _, second = w.subscribe("b", credit=100)
    assert broker.link("a").credit == 10
    second.cancel()
    w.step()
    w.pass_time(1_000)
    assert broker.link("a").credit == 40


def test_with_more_receivers_than_a_session_may_hold_each_still_gets_one():
    _, broker, _ = sharing(10, *"abcdefgh")
    assert [broker.link(name).credit for name in "abcdefgh"] == [1] * 8


def test_messages_for_an_address_that_the_peers_frames_are_too_small_for_are_refused():
    long = "q" * 250
    w = UpstreamWorld().place(long, "r")
    w.connect(limits=Limits(max_frame_size=512))
    producer = Producer()
    w.publish(b"x", key=long, publisher=producer, flags=Flag.OUTCOMES)
    w.publish(b"y", key="r", publisher=producer, flags=Flag.OUTCOMES)
    w.step()
    ((_, outcome),) = producer.published
    assert outcome.kind == OutcomeKind.REJECTED
    assert "frames are too small" in outcome.description
    w.lose()
    broker = w.connect()
    w.pass_time(60_000)
    w.publish(b"x", key=long, publisher=producer, flags=Flag.OUTCOMES)
    came = [event.link.attach.target.address for event in broker.received()]
    assert came == ["r", long]
