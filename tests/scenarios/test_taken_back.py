"""Deliveries that no client ended: taken back for a reason, and what a client says goes first."""

import pytest
from support.bridge_ledger import Record
from support.face_1_0 import Hub
from support.talk_0_10 import Client, Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_1_0 import _spec as new
from gateway.amqp_1_0 import events
from gateway.audit.schema import Kind, Reason

CANCEL = spec.MessageCancel(destination="d")


def requeued(world) -> list[Reason]:
    world.turn()
    records: list[Record] = world.blocks.records()
    return [Reason(record.reason) for record in records if record.kind == Kind.REQUEUED]


def holding(*bodies: bytes) -> tuple[Gateway, Client]:
    """A 0-10 client that was sent these messages and has settled none."""
    gateway = Gateway()
    gateway.world.queue()
    gateway.world.send(*bodies)
    client = gateway.session()
    client.subscribes()
    assert client.gets() == list(bodies)
    return gateway, client


def redelivered(gateway: Gateway) -> dict[bytes, bool]:
    """What another client gets now, and whether it says that it was sent before."""
    client = gateway.session()
    client.subscribes()
    gets = [one for one in client.hears() if isinstance(one, tuple) and len(one) == 3]
    return {body: bool(header[0].redelivered) for _, header, body in gets}


def released(first: int, last: int) -> spec.MessageRelease:
    return spec.MessageRelease(transfers=[(first, last)])


# Why.


@pytest.mark.parametrize(
    ("way", "reason"),
    [
        ("detach", Reason.SESSION_ENDED),
        ("exception", Reason.SESSION_ENDED),
        ("close", Reason.SESSION_ENDED),
        ("loss", Reason.CONNECTION_LOST),
        ("nonsense", Reason.CONNECTION_LOST),
        ("stop", Reason.STOPPING),
    ],
)
def test_the_audit_log_says_why_a_0_10_delivery_was_taken_back(way: str, reason: Reason) -> None:
    gateway, client = holding(b"1")
    now_ms = gateway.world.now_ms
    assert client.session is not None
    if way == "detach":
        client.session.detach()
    elif way == "exception":
        client.says(spec.MessageCancel(destination="none"))
    elif way == "close":
        client.connection.send_close(spec.CloseCode.NORMAL, "", now_ms)
    elif way == "loss":
        client.loses_transport()
    elif way == "nonsense":
        client.face.receive_data(b"nonsense" * 4, now_ms)
    else:
        client.face.force_close(now_ms)
    if way not in ("loss", "nonsense"):
        client.hears()
    assert requeued(gateway.world) == [reason]
    gateway.world.check()


@pytest.mark.parametrize(
    ("way", "reason"),
    [
        ("detach", Reason.LINK_DETACHED),
        ("end", Reason.SESSION_ENDED),
        ("close", Reason.SESSION_ENDED),
        ("loss", Reason.CONNECTION_LOST),
        ("stop", Reason.STOPPING),
        ("delete", Reason.CANCELLED),
    ],
)
def test_the_audit_log_says_why_a_1_0_delivery_was_taken_back(way: str, reason: Reason) -> None:
    hub = Hub()
    hub.world.queue()
    hub.world.send(b"1")
    client = hub.client()
    link = client.receiver("q")
    client.take(events.DeliveryReceived)
    if way == "detach":
        link.send_detach()
    elif way == "end":
        link.session.send_end()
    elif way == "close":
        client.connection.send_close()
    elif way == "loss":
        client.face.receive_eof(hub.world.now_ms)
    elif way == "stop":
        client.face.force_close(hub.world.now_ms)
    else:
        hub.host.declaring.delete_queue("q")
    if way != "loss":
        client.step()
    assert requeued(hub.world) == [reason]
    hub.end()


def test_what_a_client_gives_back_itself_is_not_taken_back() -> None:
    gateway, client = holding(b"1")
    client.does(released(0, 0))
    hub = Hub()
    hub.world.queue()
    hub.world.send(b"1")
    receiver = hub.client()
    link = receiver.receiver("q", credit=1)
    event = receiver.take(events.DeliveryReceived)
    link.session.settle_incoming(event.delivery_id, new.Released())
    receiver.step()
    assert requeued(gateway.world) == requeued(hub.world) == []


# Which word counts.


@pytest.mark.parametrize("end", ["detach", "close", "loss"])
def test_a_release_after_cancel_counts_though_the_end_comes_in_the_same_octets(end: str) -> None:
    gateway, client = holding(b"1", b"2", b"3")
    assert client.session is not None
    client.says(spec.MessageAccept(transfers=[(0, 0)]), CANCEL, released(1, 2))
    if end == "detach":
        client.session.detach()
    elif end == "close":
        client.connection.send_close(spec.CloseCode.NORMAL, "", gateway.world.now_ms)
    octets = client.connection.data_to_send()
    client.face.receive_data(octets, gateway.world.now_ms)
    if end == "loss":
        client.face.receive_eof(gateway.world.now_ms)
    gateway.world.turn()
    assert redelivered(gateway) == {b"2": False, b"3": False}
    assert requeued(gateway.world) == []
    gateway.world.check()


def test_the_end_of_a_session_takes_back_only_what_is_still_unsettled() -> None:
    gateway, client = holding(b"1", b"2", b"3")
    assert client.session is not None
    client.says(CANCEL, released(0, 0), spec.MessageAccept(transfers=[(1, 1)]))
    client.session.detach()
    client.hears()
    assert redelivered(gateway) == {b"1": False, b"3": True}
    assert requeued(gateway.world) == [Reason.SESSION_ENDED]
    gateway.world.check()


def test_a_release_by_one_session_is_not_taken_again_before_its_end_is_carried_out() -> None:
    gateway, client = holding(b"1")
    assert client.session is not None
    other = gateway.session()
    other.subscribes()
    other.hears()
    client.says(CANCEL, released(0, 0))
    client.session.detach()
    client.hears()
    [(_, (delivery, _, _), body)] = [one for one in other.hears() if isinstance(one, tuple)]
    assert (body, delivery.redelivered) == (b"1", False)


def test_nothing_is_sent_to_a_subscription_that_released_but_was_not_cancelled_in_time() -> None:
    """stop, release of what was prefetched, cancel: the order of the Java client."""
    gateway, client = holding(b"1", b"2")
    client.says(spec.MessageStop(destination="d"), released(0, 1), CANCEL)
    assert client.gets() == []
    assert redelivered(gateway) == {b"1": False, b"2": False}
