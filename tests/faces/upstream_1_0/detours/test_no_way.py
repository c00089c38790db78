"""Redirects that lead nowhere, or on and on: an end as any other, and a back-off."""

import pytest
from support.bridge_world import Producer
from support.redirects import HOME, OTHER, attaches, connect, redirect, redirecting
from support.upstream_world import UpstreamWorld

from gateway.amqp_1_0 import _spec, types
from gateway.message import OutcomeKind
from gateway.translate.profiles.profile import Profile
from gateway.wire.tagged import Tagged


def test_two_containers_that_redirect_to_one_another_end_in_a_back_off():
    w = UpstreamWorld().place("q")
    broker = connect(w, prepare=redirecting("q", host=OTHER))
    w.publish(b"x", publisher=Producer())
    back = redirecting("q", host=HOME)
    other = w.roads.open(prepare=back)
    first = attaches(broker, "q") + attaches(other, "q")
    assert first <= 7
    for _ in range(20):
        w.pass_time(1_000)
        while w.roads.dialled:
            w.roads.open(prepare=back)
    assert attaches(broker, "q") < 40
    assert "amqp:link:redirect" in w.upstream.health.last_error
    broker.refusals.clear()
    w.pass_time(60_000)
    assert len(broker.received()) == 1


def test_a_chain_without_end_ends_in_a_back_off():
    w = UpstreamWorld().place("q")
    connect(w, prepare=redirecting("q", host="h0.example"))
    w.publish(b"x", publisher=Producer())
    dialled = 0
    for number in range(1, 60):
        if w.roads.dialled:
            dialled += 1
            w.roads.open(prepare=redirecting("q", host=f"h{number}.example"))
    assert dialled <= 5
    w.step()
    assert len(w.upstream.detours.standing) <= 1


def test_an_address_that_redirects_to_others_without_end_ends_in_a_back_off():
    w = UpstreamWorld().place("q")

    def prepare(broker):
        for number in range(100):
            after = redirect(address=f"q{number + 1}")
            broker.refusals["q" if number == 0 else f"q{number}"] = after

    broker = connect(w, prepare=prepare)
    w.publish(b"x", publisher=Producer())
    assert len(broker.attached) <= 6
    w.pass_time(20_000)
    assert len(broker.attached) < 60


def odd(**info):
    return _spec.Error(
        condition="amqp:link:redirect",
        info={key.replace("_", "-"): value for key, value in info.items()} or None,
    )


@pytest.mark.parametrize(
    "error",
    [
        odd(),
        odd(port=Tagged(types.USHORT, 5672)),
        odd(network_host=Tagged(types.STRING, "")),
        odd(network_host=Tagged(types.STRING, "two words")),
        odd(network_host=Tagged(types.STRING, "line\nbreak")),
        odd(network_host=Tagged(types.STRING, "h" * 300)),
        odd(network_host=Tagged(types.UINT, 7)),
        odd(network_host=Tagged(types.STRING, OTHER), port=Tagged(types.USHORT, 0)),
        odd(network_host=Tagged(types.STRING, OTHER), port=Tagged(types.UINT, 70_000)),
        odd(network_host=Tagged(types.STRING, OTHER), port=Tagged(types.STRING, "5672")),
        odd(network_host=Tagged(types.STRING, OTHER), address=Tagged(types.UINT, 7)),
        odd(network_host=Tagged(types.STRING, OTHER), hostname=Tagged(types.UINT, 7)),
        odd(address=Tagged(types.STRING, "")),
        odd(address=Tagged(types.STRING, "q")),
    ],
)
def test_what_is_no_good_redirect_is_an_end_as_any_other(error):
    w = UpstreamWorld().place("q")
    broker = connect(w, prepare=lambda broker: broker.refusals.update(q=error))
    w.publish(b"x", publisher=Producer())
    assert len(broker.attached) == 1
    assert w.roads.dialled == []
    broker.refusals.clear()
    w.pass_time(2_000)
    assert len(broker.received()) == 1


def test_a_storm_of_redirects_costs_one_attach_a_back_off():
    w = UpstreamWorld().place("q")
    broker = connect(w)
    w.publish(b"x", publisher=Producer())
    for _ in range(50):
        for link in broker.links("q", sends=False):
            link.send_detach(error=redirect(address="r"))
        for link in broker.links("r", sends=False):
            link.send_detach(error=redirect(address="q"))
        w.step()
    assert len(broker.attached) <= 7


def test_the_links_that_make_up_a_connection_are_not_redirected():
    w = UpstreamWorld(profile=Profile(transactions=True)).place("q")
    connect(w, prepare=redirecting("a coordinator", host=OTHER))
    transaction = w.host.transacting.begin(1)
    w.host.transacting.publish(transaction, w.world.message(b"x", key="q"), None, 0)
    told = Producer()
    w.host.transacting.commit(transaction, [], told, 1)
    w.step()
    assert w.roads.dialled == []
    ((_, outcome),) = told.published
    assert outcome.kind == OutcomeKind.REJECTED


def test_redirects_of_a_link_that_lasts_are_not_in_a_row():
    w = UpstreamWorld(back_off_max_ms=1_000).place("q")
    broker = connect(w)
    w.publish(b"x", publisher=Producer())
    address = "q"
    for number in range(10):
        w.pass_time(2_000)
        link = broker.link(address, sends=False)
        address = f"q{number}"
        link.send_detach(error=redirect(address=address))
        w.step()
    assert broker.links(address, sends=False) != []
