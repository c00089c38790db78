"""Which queues a message enters, and when it is refused as a whole."""

from support.bridge_world import World, bind, numbered
from support.rules import rule

from gateway.bridge.queues.queue import Queue
from gateway.bridge.seams import PublishStatus, QueueSettings
from gateway.message import Condition, Flag, Kind
from gateway.selectors.selector import Selector, read_selector
from gateway.wire.tagged import Tagged


@rule("0-10", "exchange.bind", "multiple-bindings")
def test_one_copy_a_queue_however_many_bindings_match() -> None:
    world = World()
    world.queue()
    for key in ("animals.*", "animals.dogs", "#"):
        bind(world, "q", "amq.topic", key)
    for key in ("1", "2"):
        bind(world, "q", "amq.fanout", key)
    world.host.publishing.publish(world.message(exchange="amq.topic", key="animals.dogs"), None, 0)
    world.host.publishing.publish(world.message(exchange="amq.fanout"), None, 0)
    assert world.depth() == 2
    world.host.bindings.unbind("q", "amq.fanout", "1")
    world.host.publishing.publish(world.message(exchange="amq.fanout"), None, 0)
    assert world.depth() == 3
    world.check()


@rule("0-10", "exchange.declare.alternate-exchange", "double-failure")
def test_an_unroutable_message_goes_to_the_alternate_exchange_once() -> None:
    world = World()
    host = world.host
    host.declaring.declare_exchange("second", "fanout")
    host.declaring.declare_exchange("first", "direct", alternate_exchange="second")
    world.queue()
    message = world.message(exchange="first", key="k")
    assert host.publishing.publish(message, None, 0).status == PublishStatus.UNROUTABLE
    bind(world, "q", "second")
    message = world.message(exchange="first", key="k")
    assert host.publishing.publish(message, None, 0).status == PublishStatus.DONE
    for flag in (Flag.TELL_UNROUTABLE, Flag.DISCARD_UNROUTABLE):
        message = world.message(exchange="first", key="k", flags=flag)
        assert host.publishing.publish(message, None, 0).status == PublishStatus.UNROUTABLE
    assert world.depth() == 1
    counts = world.bridge.counts
    assert (counts.unroutable, counts.rerouted) == (3, 2)
    world.check()


def test_a_publish_is_refused_as_a_whole_when_one_queue_is_full() -> None:
    world = World()
    world.queue("small", max_count=1)
    world.queue("thin", max_size=10)
    world.queue("wide")
    for queue in ("wide", "small", "thin"):
        bind(world, queue, "amq.fanout")
    host = world.host
    large = host.publishing.publish(world.message(b"x" * 11, exchange="amq.fanout"), None, 0)
    assert large.status == PublishStatus.REFUSED
    first = host.publishing.publish(world.message(exchange="amq.fanout"), None, 0)
    assert first.status == PublishStatus.DONE
    second = host.publishing.publish(world.message(exchange="amq.fanout"), None, 0)
    assert second.refusal is not None
    assert second.refusal.condition == Condition.RESOURCE_LIMIT_EXCEEDED
    assert second.refusal.description == "queue 'small' is full: max_count is 1"
    assert large.refusal is not None
    assert large.refusal.description == "queue 'thin' is full: max_size is 10"
    assert [world.depth(queue) for queue in ("small", "thin", "wide")] == [1, 1, 1]
    unknown = host.publishing.publish(world.message(exchange="none"), None, 0)
    assert unknown.refusal is not None and unknown.refusal.condition == Condition.NOT_FOUND
    world.check()


def test_an_immediate_message_needs_a_consumer_that_is_ready() -> None:
    world = World()
    world.queue()
    _, subscription = world.subscribe(credit=0)
    message = world.message(key="q", flags=Flag.IMMEDIATE)
    answer = world.host.publishing.publish(message, None, 0)
    assert answer.status == PublishStatus.UNROUTABLE
    assert answer.refusal is not None and answer.refusal.condition == Condition.IMMEDIATE
    subscription.grant(1)
    message = world.message(key="q", flags=Flag.IMMEDIATE)
    assert world.host.publishing.publish(message, None, 0).status == PublishStatus.DONE
    world.check()


def test_an_immediate_message_needs_a_consumer_that_wants_it() -> None:
    world = World()
    world.queue()
    selector = read_selector("n = 1")
    assert isinstance(selector, Selector)
    world.subscribe(filter=selector)
    for number, status in ((2, PublishStatus.UNROUTABLE), (1, PublishStatus.DONE)):
        message = numbered(world, number, key="q", flags=Flag.IMMEDIATE)
        assert world.host.publishing.publish(message, None, 0).status == status
    world.check()


def test_an_exclusive_queue_may_keep_out_what_its_owner_publishes() -> None:
    world = World()
    owner = world.owner()
    settings = QueueSettings(durable=True, exclusive=True, no_local=True)
    queue = world.host.declaring.declare_queue("q", settings, owner)
    assert isinstance(queue, Queue)
    bind_as = world.host.bindings.bind("q", "amq.fanout", "", {}, b"", owner)
    assert bind_as is None
    own = world.message(exchange="amq.fanout")
    own.publisher = owner.connection_id()
    other = world.message(exchange="amq.fanout")
    other.publisher = own.publisher + 1
    for each in (own, other):
        assert world.host.publishing.publish(each, None, 0).status == PublishStatus.DONE
    assert queue.depth == 1
    world.turn()
    world.crash()
    again = world.host.topology.find_queue("q")
    assert again is not None and again.settings.no_local
    assert world.host.topology.keeping_out == 1
    world.host.declaring.delete_queue("q")
    assert world.host.topology.keeping_out == 0


def test_a_full_queue_behind_the_alternate_exchange_refuses_too() -> None:
    world = World()
    world.host.declaring.declare_exchange("x", "direct", alternate_exchange="amq.fanout")
    world.queue("q", max_count=1)
    bind(world, "q", "amq.fanout", "")
    answers = [
        world.host.publishing.publish(world.message(exchange="x", key="nobody"), None, 0)
        for _ in range(2)
    ]
    assert answers[0].status == PublishStatus.DONE
    refusal = answers[1].refusal
    assert refusal is not None and refusal.condition == Condition.RESOURCE_LIMIT_EXCEEDED
    assert (world.depth(), world.bridge.counts.refused) == (1, 1)
    world.check()


def test_a_key_of_too_many_words_is_refused_counted_and_in_the_audit_log() -> None:
    world = World()
    host = world.host
    world.queue()
    bind(world, "q", "amq.topic", "#")
    long = ".".join(["w"] * 1025)
    published = host.publishing.publish(world.message(exchange="amq.topic", key=long), None, 0)
    assert published.status == PublishStatus.REFUSED
    assert published.refusal is not None
    assert published.refusal.condition == Condition.INVALID_ARGUMENT
    refusal = host.bindings.bind("q", "amq.topic", long, {}, b"")
    assert refusal is not None
    assert refusal.condition == Condition.INVALID_ARGUMENT
    # Where it cannot be refused any more, since it was accepted before, the log says what became.
    host.declaring.declare_exchange("first", "fanout", alternate_exchange="amq.topic")
    published = host.publishing.publish(world.message(exchange="first", key=long), None, 0)
    assert published.status == PublishStatus.REFUSED
    assert (world.bridge.counts.refused, world.depth()) == (2, 0)
    world.check()


def test_a_copy_with_a_key_of_too_many_words_does_not_pass_a_topic_exchange() -> None:
    world = World()
    world.queue("full", alternate_exchange="amq.topic")
    bind(world, "full", "amq.fanout")
    world.queue()
    bind(world, "q", "amq.topic", "#")
    long = ".".join(["w"] * 1025)
    world.host.publishing.publish(world.message(exchange="amq.fanout", key=long), None, 0)
    world.turn()
    world.host.declaring.delete_queue("full", None)
    world.turn()
    assert (world.bridge.counts.refused, world.depth()) == (1, 0)
    world.check()


def test_a_message_on_which_a_binding_s_selector_is_given_up_is_refused() -> None:
    world = World()
    world.queue()
    world.queue("all")
    bind(world, "all", "amq.fanout")
    costly = " OR ".join(["a LIKE '%x%'"] * 500)
    selector = {"x-apache-selector": Tagged(Kind.STRING, costly)}
    assert world.host.bindings.bind("q", "amq.fanout", "", selector, b"") is None
    for content, status in (
        ("a" * 1_000_000, PublishStatus.REFUSED),
        ("a" * 100, PublishStatus.DONE),
    ):
        headers = {"a": Tagged(Kind.STRING, content)}
        message = world.message(exchange="amq.fanout", headers=headers)
        assert world.host.publishing.publish(message, None, 0).status == status
    assert (world.depth("all"), world.depth(), world.bridge.counts.refused) == (1, 0, 1)
    world.check()
