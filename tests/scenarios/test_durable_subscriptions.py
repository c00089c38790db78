"""Durable subscriptions of 1.0 clients: nobody takes another's, and those of old stores go on."""

import pathlib
import tarfile

import pytest
from support.face_1_0 import Hub, body_of, message
from support.own_rules import own_rules
from support.talk_0_10 import Gateway
from support.whole_gateway import WholeGateway
from support.work import units_of
from vectors.stores import make_store

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_1_0 import _spec
from gateway.audit.schema import Kind, Reason
from gateway.bridge.seams import Subscriber
from gateway.permissions.actions import Action
from gateway.wire.work import COPY, SHARE

OLD = pathlib.Path(make_store.__file__).with_name("2026-11-22.tar.xz")
FOREVER = {"durable": _spec.DURABLE_UNSETTLED_STATE, "expiry_policy": "never"}
MANY = 3 * SHARE // COPY
ANN, EVE = ("ann", "own"), ("eve", "own")
LEGACY = ("anonymous", "own")  # a user of that name, who has a password


def leave(client, link, *, closed=False):
    link.send_detach(closed=closed)
    client.step()


def publish(hub, address, *bodies):
    client = hub.client("publisher")
    link = client.sender(address)
    for number, body in enumerate(bodies):
        client.send(link, message(body, header=_spec.Header(durable=True)), tag=b"%d" % number)


def bodies(client):
    return [body_of(payload) for payload in client.received()]


@pytest.fixture
def hub():
    hub = Hub(hosts=["main", "other"])
    yield hub
    hub.end()


@pytest.mark.parametrize("thief", [EVE, LEGACY, None])
def test_whoever_takes_anothers_container_and_link_names_gets_a_subscription_of_their_own(
    hub, thief
):
    ann = hub.client("app", user=ANN)
    leave(ann, ann.receiver("amq.topic/news", name="sub", **FOREVER))
    publish(hub, "amq.topic/news", b"for ann")
    other = hub.client("app", user=thief)
    link = other.receiver("amq.fanout", name="sub", **FOREVER)
    assert link.attached
    assert link.attach.unsettled is None  # nothing there was before
    leave(other, link, closed=True)
    ann.receiver("amq.topic/news", name="sub", **FOREVER)
    assert (bodies(other), bodies(ann)) == ([], [b"for ann"])


def test_a_user_named_anonymous_is_not_a_client_without_a_login(hub):
    nobody = hub.client("app")
    leave(nobody, nobody.receiver("amq.topic/news", name="sub", **FOREVER))
    publish(hub, "amq.topic/news", b"for nobody")
    user = hub.client("app", user=LEGACY)
    user.receiver("amq.topic/news", name="sub", **FOREVER)
    assert bodies(user) == []


def test_another_virtual_host_has_subscriptions_of_its_own(hub):
    ann = hub.client("app", user=ANN)
    leave(ann, ann.receiver("amq.topic/news", name="sub", **FOREVER))
    publish(hub, "amq.topic/news", b"here")
    elsewhere = hub.client("app", user=ANN, hostname="vhost:other")
    leave(elsewhere, elsewhere.receiver("amq.topic/news", name="sub", **FOREVER), closed=True)
    ann.receiver("amq.topic/news", name="sub", **FOREVER)
    assert bodies(ann) == [b"here"]


@pytest.mark.parametrize("name", ["app.sub", "subscription.ann.app.sub"])
def test_a_queue_that_was_declared_is_neither_rebound_nor_emptied_nor_deleted(hub, name):
    hub.world.queue(name, durable=True)
    hub.host.bindings.bind(name, "amq.topic", "orders", {}, b"")
    publish(hub, "amq.topic/orders", b"an order")
    ann = hub.client("app", user=ANN)
    link = ann.receiver("amq.topic/news", name="sub", **FOREVER)
    assert link.attached
    leave(ann, link, closed=True)
    queue = hub.host.topology.find_queue(name)
    assert queue.depth == 1
    assert queue.bound_to() == [("amq.topic", "orders")]


def test_a_subscription_is_not_found_at_its_queues_name_by_another(hub):
    ann, eve = hub.client("app", user=ANN), hub.client("app", user=EVE)
    leave(ann, ann.receiver("amq.topic/news", name="sub", **FOREVER))
    publish(hub, "amq.topic/news", b"for ann")
    eve.receiver("subscription.ann.app.sub")
    assert eve.refused() == "amqp:unauthorized-access"
    eve.receiver("subscription.ann.app.sub", distribution_mode="copy")
    assert eve.refused() == "amqp:unauthorized-access"
    again = eve.session().attach("sub", _spec.RECEIVER)
    again.send_attach(source=None, target=_spec.Target())
    eve.step()
    assert eve.refused() == "amqp:not-found"
    denied = [each for each in hub.world.blocks.records() if each.kind == Kind.ACCESS_REFUSED]
    assert len(denied) == 2
    assert bodies(eve) == []


@pytest.mark.parametrize(
    ("user", "condition"), [(ANN, "amqp:not-allowed"), (EVE, "amqp:unauthorized-access")]
)
def test_nobody_publishes_to_a_subscription_by_its_name(hub, user, condition):
    ann, somebody = hub.client("app", user=ANN), hub.client("app", user=user)
    leave(ann, ann.receiver("amq.topic/news", name="sub", **FOREVER))
    assert not somebody.sender("subscription.ann.app.sub").attached
    assert somebody.refused() == condition
    publish(hub, "amq.topic/news", b"for ann")
    relay = somebody.sender(None)
    told = message(b"by name", properties=_spec.Properties(to="subscription.ann.app.sub"))
    assert somebody.send(relay, told).error.condition == condition
    denied = [each for each in hub.world.blocks.records() if each.kind == Kind.ACCESS_REFUSED]
    assert len(denied) == 2 * (user == EVE)
    assert hub.host.topology.find_queue("subscription.ann.app.sub").depth == 1


@pytest.mark.parametrize("rules", [(), ("allow: all",), ("allow: publish", "allow: connect")])
@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize("user", ["ann", "eve"])
def test_nor_does_a_client_of_0_10(rules, explicit, user):
    gateway = Gateway()
    subscriber = Subscriber("ann", "app", "sub")
    owner = gateway.world.owner()
    subscriptions = gateway.world.host.durable_subscriptions
    subscriptions.make("subscription.ann.app.sub", subscriber, owner)
    if rules:
        gateway.settings.access.in_force.rules = own_rules(*rules)
    client = gateway.session(user)
    client.publishes(b"x", to="", key="subscription.ann.app.sub", explicit=explicit)
    heard = [each[0] for each in client.hears() if isinstance(each, tuple)]
    assert (530 if user == "ann" else 403) in heard
    books = gateway.world.blocks.records()
    refused = [each for each in books if each.kind == Kind.REFUSED]
    assert [Reason(each.reason) for each in refused] == [Reason.NOT_ALLOWED]
    denied = [each for each in books if each.kind == Kind.ACCESS_REFUSED]
    assert [each.message for each in denied] == [refused[0].message] * (user == "eve")
    assert gateway.settings.counts.access_refused[Action.PUBLISH] == len(denied)
    gateway.world.check()


NAME = "subscription.ann.app.sub"
ASKING = [
    spec.QueueQuery(queue=NAME),
    spec.QueueDeclare(queue=NAME, passive=True),
    spec.QueueDeclare(queue=NAME, durable=True),
    spec.ExchangeBound(exchange="amq.topic", queue=NAME),
    spec.ExchangeBound(queue=NAME, exchange="amq.topic", binding_key="news"),
]


@pytest.mark.parametrize("rules", [(), ("allow: all",), ("allow: all, queue: subscription.*",)])
@pytest.mark.parametrize("command", ASKING)
def test_nor_does_another_user_hear_of_it(rules, command):
    gateway = Gateway()
    subscriber = Subscriber("ann", "app", "sub")
    host = gateway.world.host
    queue = host.durable_subscriptions.make(NAME, subscriber, gateway.world.owner())
    host.bindings.bind(NAME, "amq.topic", "news", {}, b"", None)
    if rules:
        gateway.settings.access.in_force.rules = own_rules(*rules)
    heard = gateway.session("eve").does(command)
    said = [each for each in heard if isinstance(each, tuple)]
    denied = [each for each in gateway.world.blocks.records() if each.kind == Kind.ACCESS_REFUSED]
    if rules == ("allow: all",) and isinstance(command, spec.ExchangeBound):
        # Of the exchange it may hear.
        (result,) = [each for each in heard if isinstance(each, spec.ExchangeBoundResult)]
        assert result.queue_not_found and not result.exchange_not_found
        assert denied == []
    else:
        assert [each[0] for each in said] == [403]
        assert len(denied) == 1
        assert sum(gateway.settings.counts.access_refused) == 1
    assert queue.settings.subscriber == subscriber
    assert not any(isinstance(each, tuple) for each in gateway.session("ann").does(command))


def test_one_that_waits_for_much_and_comes_back_for_another_topic_is_no_long_turn(hub):
    ann = hub.client("app", user=ANN)
    leave(ann, ann.receiver("amq.topic/news", name="sub", **FOREVER))
    for _ in range(MANY):
        old = hub.world.message(b"old", exchange="amq.topic", key="news", durable=True)
        hub.host.publishing.publish(old, None, 0)
    hub.world.turn()
    session = ann.session()
    link = session.attach("sub", _spec.RECEIVER)
    source = _spec.Source(address="amq.topic/other", **FOREVER)
    link.send_attach(source=source, target=_spec.Target(address="here"))
    asked = ann.connection.data_to_send()
    assert units_of(lambda: ann.face.receive_data(asked, hub.world.now_ms)) <= 2 * SHARE
    publish(hub, "amq.topic/other", b"new")
    link.send_flow(credit=10)
    ann.step()
    assert bodies(ann) == [b"new"]
    assert hub.world.bridge.counts.purged == MANY


def test_what_waited_for_another_topic_does_not_come_back_after_a_crash(hub):
    ann = hub.client("app", user=ANN)
    leave(ann, ann.receiver("amq.topic/news", name="sub", **FOREVER))
    for _ in range(MANY):
        old = hub.world.message(b"old", exchange="amq.topic", key="news", durable=True)
        hub.host.publishing.publish(old, None, 0)
    hub.world.turn()
    session = ann.session()
    source = _spec.Source(address="amq.topic/other", **FOREVER)
    session.attach("sub", _spec.RECEIVER).send_attach(source=source, target=_spec.Target())
    ann.face.receive_data(ann.connection.data_to_send(), hub.world.now_ms)
    assert hub.world.bridge.end_turn(hub.world.now_ms)
    hub.world.commit()
    assert 0 < hub.world.bridge.counts.purged < MANY
    hub.clients.clear()
    hub.world.crash()
    ann = hub.client("app", user=ANN)
    ann.receiver("amq.topic/other", name="sub", **FOREVER)
    publish(hub, "amq.topic/other", b"new")
    assert bodies(ann) == [b"new"]


def test_what_cannot_be_bound_leaves_no_queue_behind(hub):
    ann = hub.client("app", user=ANN)
    before = set(hub.host.topology.queues)
    ann.receiver("amq.topic/" + "x" * 5000, name="sub", **FOREVER)
    assert ann.refused() == "amqp:invalid-field"
    assert set(hub.host.topology.queues) == before


def test_a_subscription_that_is_not_durable_never_uses_a_queue_that_there_is(hub):
    guessed = "app.sub.01234567-1"
    hub.world.queue(guessed)
    hub.host.bindings.bind(guessed, "amq.topic", "orders", {}, b"")
    ann = hub.client("app", user=ANN)
    assert ann.receiver("amq.fanout", name="sub").attached
    queue = hub.host.topology.find_queue(guessed)
    assert queue.bound_to() == [("amq.topic", "orders")]


# A store that an older version wrote.


class OldStore:
    """A whole gateway on it, whose clients log in by name."""

    def __init__(self, directory):
        with tarfile.open(OLD) as archive:
            archive.extractall(directory, filter="data")
        self.directory = directory / "2026-11-22"
        self.start()

    def start(self):
        self.gateway = WholeGateway(self.directory, *make_store.CONFIGURATION).start()
        self.hub = make_store.Hub(self.gateway)

    def restart(self):
        self.gateway.stop()
        self.start()

    def queue(self, name):
        return self.gateway.service.bridge.hosts["main"].topology.find_queue(name)


@pytest.fixture
def old(tmp_path):
    old = OldStore(tmp_path)
    yield old
    old.gateway.stop()


def test_a_subscription_of_an_older_version_goes_to_the_first_user_who_comes_for_it(old):
    ann = old.hub.client("app", user=ANN)
    link = ann.receiver("amq.topic/news.#", name="plain", credit=0, **FOREVER)
    assert link.attach.unsettled == {}  # it is the one that there was
    leave(ann, link)
    old.restart()
    eve = old.hub.client("app", user=EVE)
    eve.receiver("amq.topic/news.#", name="plain", **FOREVER)
    assert bodies(eve) == []
    ann = old.hub.client("app", user=ANN)
    ann.receiver("amq.topic/news.#", name="plain", **FOREVER)
    assert bodies(ann) == [b"news"]


def test_one_with_a_selector_goes_with_that_and_is_ended_by_its_user(old):
    ann = old.hub.client("app", user=ANN)
    link = ann.receiver("amq.fanout", name="with/selector", filter=make_store.selector(), **FOREVER)
    assert bodies(ann) == [b"blue"]
    leave(ann, link, closed=True)
    assert old.queue("app.with_selector") is None


def test_who_asks_for_something_else_leaves_it_alone(old):
    eve = old.hub.client("app", user=EVE)
    link = eve.receiver("amq.fanout", name="plain", **FOREVER)
    leave(eve, link, closed=True)
    queue = old.queue("app.plain")
    assert queue.depth == 1
    assert queue.bound_to() == [("amq.topic", "news.#")]


def test_what_is_given_to_a_user_comes_with_whatever_it_was_bound_to(old):
    host = old.gateway.service.bridge.hosts["main"]
    subscriber = Subscriber("ann", "app", "plain")
    assert host.durable_subscriptions.assign("users-app.plain", subscriber) is None
    ann = old.hub.client("app", user=ANN)
    link = ann.receiver("amq.topic/other", name="plain", **FOREVER)
    assert bodies(ann) == []  # with another topic it is another subscription
    assert link.attach.unsettled == {}
    assert old.queue("users-app.plain").bound_to() == [("amq.topic", "other")]


def test_who_may_not_read_it_does_not_get_it(old):
    old.hub.settings.access.in_force.rules = own_rules(
        "deny: consume, users: eve, queue: app.plain", "allow: all"
    )
    eve = old.hub.client("app", user=EVE)
    eve.receiver("amq.topic/news.#", name="plain", **FOREVER)
    assert eve.refused() == "amqp:unauthorized-access"
    assert old.queue("app.plain").settings.subscriber is None
    ann = old.hub.client("app", user=ANN)
    ann.receiver("amq.topic/news.#", name="plain", **FOREVER)
    assert bodies(ann) == [b"news"]
