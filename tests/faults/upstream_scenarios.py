"""What goes wrong with an upstream, one function each: it does that under load, and proves.

Each takes a directory of its own, a running broker that it leaves running, and for how long its
fault is to last where that can be chosen; it answers with what there is to read.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from faults.upstream_load import Book, told_of_end
from faults.upstream_stand import Stand, Verdict, stopped
from interop.brokers.broker import Broker
from support.certificates import DAY, Authority

LARGE = 8192
BURST = 3000
GROWTH_MAX_KIB = 20 * 1024
Scenario = Callable[[Path, Broker, float], Verdict]


def down_at_start(directory: Path, broker: Broker, seconds: float) -> Verdict:
    """Clients connect, publishers are held; when it comes up, everything goes through."""
    with Stand(directory, broker, "down") as stand:
        with stopped(broker):
            stand.start()
            for protocol in ("0-10", "1.0"):
                publisher = stand.load.publish(stand.published, stand.inward, protocol)
                publisher.window, publisher.limit = 300, 300
            stand.load.run(over(seconds))
            assert not stand.up
            assert not stand.published.decided, stand.published.told
        stand.load.run(stand.load.quiet)
        assert len(stand.published.confirmed) == 600, stand.published.told
        return stand.check()


def killed(directory: Path, broker: Broker, seconds: float) -> Verdict:
    """SIGKILL in mid-flow, and a restart."""
    with Stand(directory, broker, "killed") as stand:
        stand.start_loaded()
        broker.kill()
        stand.notice()
        broker.start()
        return stand.go_on()


def cut(directory: Path, broker: Broker, seconds: float) -> Verdict:
    """The network is gone for a while."""
    with Stand(directory, broker, "cut") as stand:
        stand.start_loaded()
        stand.proxy.order("refuse")
        stand.proxy.order("cut")
        stand.notice()
        stand.load.run(over(seconds), seconds + 60)
        stand.proxy.order("pass")
        return stand.go_on()


def half_open(directory: Path, broker: Broker, seconds: float) -> Verdict:
    """Nothing comes any more and nobody says so: the idle timeout finds it."""
    with Stand(directory, broker, "half-open", upstream=idle_timeout(broker)) as stand:
        stand.start_loaded()
        stand.proxy.order("stall")
        stand.notice()
        stand.load.run(over(seconds), seconds + 60)
        stand.proxy.order("pass")
        return stand.go_on()


def paused(directory: Path, broker: Broker, seconds: float) -> Verdict:
    """SIGSTOP, until the idle timeout has found it, and SIGCONT."""
    with Stand(directory, broker, "paused", upstream=idle_timeout(broker)) as stand:
        stand.start_loaded()
        broker.pause()
        try:
            stand.notice()
            stand.load.run(over(seconds), seconds + 60)
        finally:
            broker.resume()
        return stand.go_on()


def slow(directory: Path, broker: Broker, seconds: float) -> Verdict:
    """It takes nothing any more: publishers are made to wait, and memory stays as it is."""
    limits = {"octets_in_doubt": "256KiB"}
    with Stand(directory, broker, "slow", upstream={"idle_timeout": "0s"}, limits=limits) as stand:
        stand.start_loaded(messages=0, size=LARGE)
        before_kib = stand.measure()
        stand.proxy.order("stall")
        for publisher in stand.load.publishers:
            publisher.window = publisher.limit = BURST
        stand.load.run(stand.held_back)
        stand.load.run(lambda: stand.metric("gateway_waiting_publishes") > 0)
        stand.load.run(over(seconds), seconds + 60)
        grown_kib = stand.measure() - before_kib
        assert grown_kib < GROWTH_MAX_KIB, f"{grown_kib} KiB more"
        assert stand.held_back(), "nobody was made to wait"
        stand.proxy.order("pass")
        stand.finish()
        assert stand.measure() - before_kib < GROWTH_MAX_KIB
        return stand.check()


def rejecting(directory: Path, broker: Broker, seconds: float) -> Verdict:
    """It rejects: who asked hears so, what nobody asked about is kept in gateway.rejected.

    RabbitMQ's plugin does not reject, it dies: messages are found out one by one, while those for
    another queue go on.
    """
    count = 2 if broker.peer == "rabbitmq310" else 50
    with Stand(directory, broker, "limited.rejecting") as stand:
        stand.start()
        others = Book()
        for protocol in ("0-10", "1.0"):
            stand.load.publish(stand.published, stand.inward, protocol).limit = count
            stand.load.publish(others, stand.outward, protocol).limit = 300
            stand.load.consume(others, stand.outward, protocol)
        stand.load.run(stand.load.quiet, 120)
        stand.load.run(lambda: others.accepted >= others.confirmed)
        assert not others.told, others.told
        outcomes = set(stand.published.told.values())
        assert outcomes, "nothing was rejected"
        assert all(outcome.startswith("rejected") for outcome in outcomes), outcomes
        unasked = stand.publish_unasked(count)
        return stand.check(more=stand.take_rejected(len(unasked)))


def queue_gone(directory: Path, broker: Broker, seconds: float) -> Verdict:
    """Its queue is deleted under us, and made again."""
    with Stand(directory, broker, "gone") as stand:
        stand.start()
        for protocol in ("0-10", "1.0"):
            stand.load.publish(stand.published, stand.inward, protocol)
        stand.run_on(100)
        stand.pause_publishing()
        deleted = set(stand.published.confirmed)
        broker.delete_queue(stand.inward)
        stand.go_on_publishing()
        stand.load.run(over(seconds), seconds + 60)
        broker.create_queue(stand.inward)
        stand.run_on(100)
        stand.finish()
        stand.published.confirmed -= deleted
        return stand.check()


def consumed_queue_gone(directory: Path, broker: Broker, seconds: float) -> Verdict:
    """A queue is deleted under its consumers, who hear why; who comes after that gets it.

    The plugin of RabbitMQ says nothing: it breaks the connection, and then the queue is not found.
    """
    with Stand(directory, broker, "deleted") as stand:
        stand.start()
        for name in ("before", "after"):
            stand.consumed.sent[name] = stand.at.fill(stand.outward, 100, name)
            for protocol in ("0-10", "1.0"):
                stand.load.consume(stand.consumed, stand.outward, protocol)
            stand.load.run(lambda: stand.consumed.accepted >= stand.consumed.all_sent())
            stand.load.run(lambda: broker.queue_depth(stand.outward) == 0)
            broker.delete_queue(stand.outward)
            ended = [consumer.client for consumer in stand.load.consumers]
            stand.load.run(lambda ended=ended: all(told_of_end(client) for client in ended))
            stand.load.consumers.clear()
            assert_told(told_of_end(ended[0]), "(404)", "(408)")
            assert_told(told_of_end(ended[1]), "amqp:not-found", "amqp:resource-deleted")
            broker.create_queue(stand.outward)
        stand.recover()
        return stand.check()


def certificate_expired(directory: Path, broker: Broker, seconds: float) -> Verdict:
    """Its certificate is of yesterday; publishers wait until it shows a new one."""
    authority = Authority(directory)
    tls = {"ca": str(authority.ca)}
    with Stand(directory, broker, "certificate", scheme="amqps", upstream={"tls": tls}) as stand:
        show(stand, authority, "old", lasts=-DAY)
        stand.start()
        for protocol in ("0-10", "1.0"):
            publisher = stand.load.publish(stand.published, stand.inward, protocol)
            publisher.limit = publisher.window
        stand.load.run(lambda: any("certificate has expired" in line for line in stand.said()))
        stand.load.run(over(seconds), seconds + 60)
        assert not stand.up
        assert not stand.published.decided, stand.published.told
        show(stand, authority, "new", lasts=DAY)
        stand.recover()
        stand.load.run(stand.load.quiet)
        return stand.check()


def gateway_killed(directory: Path, broker: Broker, seconds: float) -> Verdict:
    """kill -9 of the gateway: what it confirmed is at the broker."""
    with Stand(directory, broker, "restarted") as stand:
        stand.start_loaded()
        stand.kill_gateway()
        stand.start()
        for protocol in ("0-10", "1.0"):
            stand.load.publish(stand.published, stand.inward, protocol)
            stand.load.consume(stand.consumed, stand.outward, protocol)
        stand.run_on(100)
        stand.finish()
        return stand.check()


def spooled(directory: Path, broker: Broker, seconds: float) -> Verdict:
    """Stored while it is down; kill -9 of the gateway while it sends on what it has stored."""
    with Stand(directory, broker, "spooled", node={"spool": True}) as stand:
        with stopped(broker):
            stand.start()
            for protocol in ("0-10", "1.0"):
                stand.load.publish(stand.published, stand.inward, protocol).limit = 300
            stand.load.run(stand.load.quiet)
            assert len(stand.published.confirmed) == 600, stand.published.told
        stand.recover()
        stand.load.run(lambda: broker.queue_depth(stand.inward) >= 600)
        stand.proxy.order("limit 30000")
        for publisher in stand.load.publishers:
            publisher.limit = 600
        stand.load.run(stand.load.quiet)
        assert len(stand.published.confirmed) == 1200, stand.published.told
        assert broker.queue_depth(stand.inward) < 1200, "everything was sent before the fault"
        stand.kill_gateway()
        stand.proxy.order("pass")
        stand.start()
        stand.load.run(lambda: stand.metric("gateway_queue_depth_messages") == 0 and stand.up)
        return stand.check()


SCENARIOS: dict[str, Scenario] = {
    scenario.__name__: scenario
    for scenario in (
        down_at_start,
        killed,
        cut,
        half_open,
        paused,
        slow,
        rejecting,
        queue_gone,
        consumed_queue_gone,
        certificate_expired,
        gateway_killed,
        spooled,
    )
}


def assert_told(words: str, *wanted: str) -> None:
    """One of them is among the words that a client was told."""
    assert any(each in words for each in wanted), words


def idle_timeout(broker: Broker) -> dict[str, str]:
    """As short as the broker keeps up with on a busy machine.

    RabbitMQ's plugin counts in whole seconds.
    """
    return {"idle_timeout": "4s" if broker.peer == "rabbitmq310" else "2s"}


def show(stand: Stand, authority: Authority, name: str, *, lasts: timedelta) -> None:
    """The upstream has this certificate from now on."""
    certificate, key = authority.issue(name, lasts=lasts)
    both = certificate.with_suffix(".both")
    both.write_bytes(certificate.read_bytes() + key.read_bytes())
    stand.proxy.order(f"tls {both}")


def over(seconds: float) -> Callable[[], bool]:
    """That so much time has gone by."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end
