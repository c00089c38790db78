import pytest
from support.face_1_0 import message
from support.long_work import Waiter
from support.management import Manager
from support.upstream_world import RemoteConsumer, UpstreamWorld

from gateway.amqp_1_0 import _spec, events, types
from gateway.bridge.seams import KeptThere, SubscribeOptions
from gateway.message import Condition, Kind
from gateway.translate.profiles.profile import Profile
from gateway.translate.profiles.templates import Template
from gateway.wire.tagged import Tagged

COLLECTS = "/queues/gateway.here"


def world(*, kind="topic", durable=True):
    """An upstream with the exchange x, and a queue of ours that is not bound yet."""
    w = UpstreamWorld(
        profile=Profile(
            queue=Template("/queues/{queue|percent}"),
            management="rabbitmq",
            subscriptions="managed",
            keys_in="annotations",
        )
    )
    w.place(exchange="x")
    w.host.declaring.declare_exchange("x", kind)
    w.world.queue("here", durable=durable)
    return w


def bind(w, key="a.#", arguments=None, queue="here"):
    answer = w.host.bindings.bind(queue, "x", key, arguments or {}, b"")
    w.step()
    return answer


def bound(key="a.#", *, durable=True, arguments=None):
    """A world with a binding that the upstream has made."""
    w = world(durable=durable)
    manager = Manager(w.connect())
    assert bind(w, key, arguments) is None
    carry_out(w, manager, 2)
    return w, manager


def carry_out(w, manager, number):
    """The upstream does what it is asked for, so many times."""
    done = []
    for _ in range(number):
        done += manager.take()
        manager.answer(204)
        w.step()
    assert len(done) == number
    return done


def annotated(key, exchange="x"):
    pairs = [("x-exchange", exchange), ("x-routing-key", key)]
    return message(
        b"one",
        annotations=[
            (Tagged(types.SYMBOL, name), Tagged(types.STRING, value)) for name, value in pairs
        ],
    )


@pytest.mark.parametrize("durable", [True, False])
def test_a_binding_is_a_queue_and_a_binding_there(durable):
    w = world(durable=durable)
    manager = Manager(w.connect())
    assert bind(w) is None
    name = "gateway.here" if durable else "gateway.here.transient"
    wanted = {
        "durable": durable,
        "exclusive": not durable,
        "auto_delete": False,
        "arguments": {},
    }
    assert manager.take() == [("PUT", f"/queues/{name}", wanted)]
    manager.answer(201)
    w.step()
    wanted = {
        "source": "x",
        "destination_queue": name,
        "binding_key": "a.#",
        "arguments": {},
    }
    assert manager.take() == [("POST", "/bindings", wanted)]
    assert manager.broker.links(f"/queues/{name}", sends=True) == []
    manager.answer(204)
    w.step()
    assert manager.broker.link(f"/queues/{name}").credit > 0


def test_a_binding_takes_effect_once_it_is_made_there():
    w = world()
    manager = Manager(w.connect())
    bind(w)
    waiter = Waiter()
    assert w.host.reaching.reach_binding("here", "x", "a.#", waiter, 7)
    carry_out(w, manager, 1)
    assert waiter.told == []
    carry_out(w, manager, 1)
    assert waiter.told == [(7, None)]


def test_what_comes_has_the_exchange_and_the_key_that_it_was_published_with():
    w, manager = bound()
    manager.broker.deliver(COLLECTS, annotated("a.b", "other"))
    w.step()
    consumer, _ = w.world.subscribe("here")
    w.step()
    (delivery,) = consumer.take()
    assert (delivery.message.exchange, delivery.message.routing_key) == ("other", "a.b")
    assert manager.broker.states() == [_spec.Accepted()]


def test_after_a_reconnect_it_is_made_sure_of_again():
    w, _ = bound()
    w.lose()
    manager = Manager(w.connect())
    assert [path for _, path, _ in carry_out(w, manager, 2)] == [COLLECTS, "/bindings"]
    assert manager.broker.link(COLLECTS).credit > 0


def test_bindings_of_one_queue_share_what_collects_for_it():
    w, manager = bound()
    bind(w, "b")
    carry_out(w, manager, 2)
    assert len(manager.broker.links(COLLECTS, sends=True)) == 2
    assert w.host.bindings.unbind("here", "x", "b") is None
    w.step()
    path = "/bindings/src=x;dstq=gateway.here;key=b;args="
    assert carry_out(w, manager, 1) == [("DELETE", path, None)]
    assert len(manager.broker.links(COLLECTS, sends=True)) == 1
    w.host.bindings.unbind("here", "x", "a.#")
    w.step()
    assert carry_out(w, manager, 1) == [("DELETE", COLLECTS, None)]
    assert manager.broker.links(COLLECTS, sends=True) == []


def test_a_binding_that_is_made_again_meanwhile_stays():
    w, manager = bound()
    w.world.auto_commit = False
    header = _spec.Header(durable=True)
    manager.broker.deliver(COLLECTS, message(b"one", header=header))
    w.step()
    w.host.bindings.unbind("here", "x", "a.#")
    bind(w)
    carry_out(w, manager, 2)
    w.world.auto_commit = True
    w.world.commit()
    w.step()
    assert manager.broker.states() == [_spec.Accepted()]
    assert manager.take() == []
    assert len(manager.broker.links(COLLECTS, sends=True)) == 1


def test_when_our_queue_is_deleted_what_collects_for_it_is_too():
    w, manager = bound()
    w.host.declaring.delete_queue("here")
    w.step()
    assert carry_out(w, manager, 1) == [("DELETE", COLLECTS, None)]


def test_an_unbind_without_a_connection_is_told_later():
    w, _ = bound()
    w.lose()
    w.host.bindings.unbind("here", "x", "a.#")
    manager = Manager(w.connect())
    requests = manager.take()
    assert requests[-1] == ("DELETE", COLLECTS, None)


def gone_while_away(*keys):
    """A world whose bindings there are to be removed, but the upstream is away."""
    w = world()
    manager = Manager(w.connect())
    for key in keys:
        bind(w, key)
        carry_out(w, manager, 2)
    w.lose()
    return w


@pytest.mark.parametrize("end", ["restart", "crash"])
def test_what_was_unbound_while_the_upstream_was_away_is_removed_after_a_restart(end):
    w = gone_while_away("a.#")
    w.host.bindings.unbind("here", "x", "a.#")
    w.step()
    getattr(w.world, end)()
    manager = Manager(w.connect())
    assert carry_out(w, manager, 1) == [("DELETE", COLLECTS, None)]
    assert w.bridge.debts.of("broker") == []
    w.world.restart()
    assert Manager(w.connect()).take() == []


def test_of_a_queue_that_is_still_bound_only_the_binding_is_removed_after_a_restart():
    w = gone_while_away("a.#", "b")
    w.host.bindings.unbind("here", "x", "a.#")
    w.step()
    w.world.restart()
    manager = Manager(w.connect())
    asked = carry_out(w, manager, 3)
    assert ("DELETE", "/bindings/src=x;dstq=gateway.here;key=a.%23;args=", None) in asked
    assert w.bridge.debts.of("broker") == []


def test_what_was_bound_again_before_the_upstream_is_back_stays():
    w = gone_while_away("a.#")
    w.host.bindings.unbind("here", "x", "a.#")
    w.step()
    w.world.restart()
    bind(w, "a.#")
    manager = Manager(w.connect())
    assert [method for method, _, _ in carry_out(w, manager, 2)] == ["PUT", "POST"]
    assert manager.take() == []
    assert w.bridge.debts.of("broker") == []


def test_what_the_upstream_will_not_remove_is_asked_for_again_on_the_next_connection():
    w = gone_while_away("a.#")
    w.host.bindings.unbind("here", "x", "a.#")
    w.step()
    w.world.restart()
    manager = Manager(w.connect())
    manager.take()
    manager.answer(403, "no permission")
    w.step()
    assert "cannot tidy up queue 'gateway.here': no permission" in w.upstream.health.last_error
    w.lose()
    manager = Manager(w.connect())
    assert manager.take() == [("DELETE", COLLECTS, None)]
    manager.answer(404, "no such queue")
    w.step()
    assert w.bridge.debts.of("broker") == []


def test_nothing_is_owed_for_what_ends_with_the_connection():
    w, _ = bound(durable=False)
    w.lose()
    w.host.bindings.unbind("here", "x", "a.#")
    assert w.bridge.debts.of("broker") == []


def test_a_binding_with_arguments_is_unbound_by_its_location():
    arguments = {"x-match": Tagged(Kind.STRING, "all"), "n": Tagged(Kind.INTEGER, 5)}
    w = world(kind="headers")
    manager = Manager(w.connect())
    bind(w, "h", arguments)
    bind(w, "other", arguments)
    done = carry_out(w, manager, 4)
    assert done[2][2]["arguments"] == {"x-match": "all", "n": 5}
    w.host.bindings.unbind("here", "x", "h")
    w.step()
    path = "/bindings?src=x&dstq=gateway.here&key=h"
    assert manager.take() == [("GET", path, None)]

    def entry(match, location):
        held = [("x-match", Tagged(types.STRING, match)), ("n", Tagged(types.LONG, 5))]
        return tagged_map(
            arguments=tagged_map(**dict(held)), location=Tagged(types.STRING, location)
        )

    found = [entry("any", "/bindings/1"), entry("all", "/bindings/2")]
    manager.answer(200, Tagged(types.LIST, found))
    w.step()
    assert manager.take() == [("DELETE", "/bindings/2", None)]


def tagged_map(**values):
    return Tagged(types.MAP, [(Tagged(types.STRING, name), each) for name, each in values.items()])


def test_an_argument_that_cannot_be_said_there_refuses_the_binding():
    w = world(kind="headers")
    refusal = w.refusal(bind(w, "h", {"a": Tagged(Kind.UUID, b"x" * 16)}))
    assert refusal.condition == Condition.NOT_IMPLEMENTED


def test_an_exchange_that_is_not_there_is_said_counted_and_tried_again():
    w = world()
    manager = Manager(w.connect())
    bind(w)
    carry_out(w, manager, 1)
    manager.take()
    manager.answer(400, "no exchange 'x' in vhost '/'")
    w.step()
    assert "for queue 'here': no exchange 'x'" in w.upstream.health.last_error
    assert w.counts.feeds_refused == 1
    w.pass_time(1_500)
    carry_out(w, manager, 2)
    assert manager.broker.link(COLLECTS).credit > 0


def test_a_queue_that_is_deleted_there_is_made_again():
    w, manager = bound()
    gone = _spec.Error(condition="amqp:resource-deleted")
    manager.broker.link(COLLECTS).send_detach(error=gone)
    w.step()
    w.pass_time(1_500)
    carry_out(w, manager, 2)
    assert manager.broker.link(COLLECTS).credit > 0


def test_the_gateways_stop_leaves_all_as_it_is():
    w, manager = bound()
    w.face.drain(w.now_ms)
    w.face.force_close(w.now_ms)
    w.step()
    assert manager.take() == []
    assert manager.broker.take_all(events.DetachReceived) == []


def test_when_the_exchange_moves_a_durable_queue_there_keeps_what_it_has():
    w, manager = bound()
    for feeder in list(w.upstream.context.takers.standing):
        feeder.on_moved()
    w.step()
    assert manager.take() == []
    assert manager.broker.links(COLLECTS, sends=True) == []


# Of a group of gateways.


def test_gateways_of_a_group_share_the_queue_of_a_durable_binding_and_no_other():
    for durable, queue in ((True, "orders.here"), (False, "orders-1.here.transient")):
        w = world(durable=durable)
        settings = w.upstream.context.settings
        settings.group, settings.container_id = "orders", "orders-1"
        manager = Manager(w.connect())
        bind(w)
        [(method, path, _body)] = manager.take()
        assert (method, path) == ("PUT", f"/queues/{queue}")


@pytest.mark.parametrize("over", [True, False])
def test_a_durable_subscription_of_a_group_is_a_queue_that_goes_when_its_client_has_ended_it(over):
    w = world()
    w.upstream.context.settings.group = "orders"
    broker = w.connect()
    manager = Manager(broker)
    consumer = RemoteConsumer()
    kept = KeptThere("x", "a.#", {}, "app")
    subscription = w.host.subscribing.subscribe_there(
        w.host.topology.find_exchange("x"),
        consumer,
        w.world.owner(),
        SubscribeOptions(kept_there=kept),
    )
    subscription.grant(10)
    w.step()
    declared, bound_there = carry_out(w, manager, 2)
    assert declared[:2] == ("PUT", "/queues/orders.app")
    assert bound_there[2]["destination_queue"] == "orders.app"
    assert consumer.attached == 1
    assert broker.link("/queues/orders.app").credit > 0
    kept.over = over
    subscription.cancel()
    w.step()
    w.pass_time(1_000)
    gone = [("DELETE", "/queues/orders.app", None)] if over else []
    assert manager.take() == gone
