"""What has ended leaves nothing behind that only the cycle collector could give back.

That looks at what is old once in ten minutes (`service.collecting`): until then it would be memory
that is on no account, as much of it as a client likes.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.bridge_world import Session
from support.controller_1_0 import Controller
from support.face_1_0 import Client as Client10
from support.face_1_0 import Hub, message
from support.garbage import by_hand, garbage_of
from support.talk_0_10 import Client as Client010
from support.talk_0_10 import Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_1_0 import _spec, events
from gateway.bridge.seams import QueueSettings

__all__ = ["by_hand"]  # a fixture

MANY = 20


def began(client: Client10) -> None:
    session = client.session()
    session.send_end()
    client.step()


def published(client: Client10) -> None:
    link = client.sender("q")
    client.send(link, message(b"x"))
    link.send_detach()
    client.step()


def consumed(client: Client10) -> None:
    sender = client.sender("q")
    receiver = client.receiver("q")
    for _ in range(3):
        client.send(sender, message(b"x"), settled=True)
    [first, second, _third] = client.take_all(events.DeliveryReceived)
    receiver.session.settle_incoming(first.delivery_id, _spec.Accepted())
    receiver.session.settle_incoming(second.delivery_id, _spec.Released())
    client.step()
    sender.send_detach()
    receiver.send_detach()
    client.step()
    client.received()
    client.hub.host.declaring.purge_queue("q")


def left(client: Client10) -> None:
    sender = client.sender("q")
    client.receiver("q", session=sender.session)
    client.send(sender, message(b"x"), settled=True)
    sender.session.send_end()
    client.step()
    client.hub.host.declaring.purge_queue("q")


def suspended(client: Client10) -> None:
    sender = client.sender("q")
    receiver = client.receiver("q", name="lasting", timeout=60)
    client.send(sender, message(b"x"), settled=True)
    receiver.send_detach(closed=False)
    client.step()
    client.received()
    again = client.receiver("q", name="lasting", timeout=60)
    again.send_detach(closed=False)
    sender.send_detach()
    client.step()
    client.hub.settings.kept.end_all()
    client.step()
    client.hub.host.declaring.purge_queue("q")


def deleted(client: Client10) -> None:
    declaring = client.hub.host.declaring
    declaring.declare_queue("gone", QueueSettings(), Session(1))
    sender = client.sender("gone")
    receiver = client.receiver("gone")
    declaring.delete_queue("gone")
    client.step()
    sender.send_detach()
    receiver.send_detach()
    client.step()


def refused(client: Client10) -> None:
    session = client.session()
    link = session.attach("refused", _spec.SENDER)
    link.send_attach(source=_spec.Source(address="x"), target=_spec.Target(address="nowhere"))
    client.step()
    link.send_detach()
    client.step()


def dynamic(client: Client10) -> None:
    link = client.attach(_spec.RECEIVER, source=_spec.Source(dynamic=True))
    link.send_detach()
    client.step()


def subscribed(client: Client10) -> None:
    link = client.receiver("amq.topic/a.#")
    link.send_detach()
    client.step()


def retired(client: Client10, discharges: Callable[[Controller, bytes], object]) -> None:
    """Outcomes in a transaction, of which the client settles one."""
    controller = Controller(hub=client.hub, client=client)
    controller.puts(b"x", b"y")
    receiver = controller.receiver()
    first, second = controller.gets(receiver)
    txn_id = controller.declares()
    controller.retires(first, txn_id, settled=True)
    controller.retires(second, txn_id)
    discharges(controller, txn_id)
    controller.session.send_end()
    client.step()
    client.hub.host.declaring.purge_queue("q")


def committed(client: Client10) -> None:
    retired(client, Controller.commits)


def rolled_back(client: Client10) -> None:
    retired(client, Controller.rolls_back)


def left_in_a_transaction(client: Client10) -> None:
    retired(client, lambda _controller, _txn_id: None)


@pytest.mark.parametrize(
    "does",
    [
        *(began, published, consumed, left, suspended, deleted, refused, dynamic, subscribed),
        *(committed, rolled_back, left_in_a_transaction),
    ],
)
def test_what_a_client_of_1_0_has_ended(by_hand: None, does: Callable[[Client10], None]) -> None:
    hub = Hub()
    hub.world.queue()
    client = hub.client()
    does(client)  # what is made once is made

    def again() -> None:
        for _ in range(MANY):
            does(client)
        client.events.clear()

    assert garbage_of(again) == []
    hub.end()


def attached(client: Client010) -> None:
    client.attach()
    assert client.session is not None
    client.session.detach()
    client.hears()
    client.channel -= 1


def declared(client: Client010) -> None:
    client.does(spec.QueueDeclare(queue="other"), spec.QueueDelete(queue="other"))


def delivered(client: Client010) -> None:
    client.attach()
    client.subscribes()
    client.publishes(b"x")
    client.publishes(b"y")
    assert client.gets() == [b"x", b"y"]
    client.does(spec.MessageAccept(transfers=[(0, 0)]))
    client.does(spec.MessageCancel(destination="d"))
    assert client.session is not None
    client.session.detach()
    client.hears()
    client.channel -= 1
    client.gateway.world.host.declaring.purge_queue("q")


def expired(client: Client010) -> None:
    client.attach()
    assert client.session is not None
    client.session.request_timeout(60)
    client.subscribes()
    client.publishes(b"x")
    assert client.gets() == [b"x"]
    client.session.detach()
    client.hears()
    client.channel -= 1
    assert client.gateway.settings.kept.look(client.gateway.world.now_ms + 60_000)
    client.gateway.world.turn()
    client.gateway.world.host.declaring.purge_queue("q")


def resumed(client: Client010) -> None:
    client.attach()
    session = client.session
    assert session is not None
    session.request_timeout(60)
    session.keep_state()
    client.subscribes()
    client.publishes(b"x")
    assert client.gets() == [b"x"]
    session.detach()
    client.hears()
    client.connection.attach_again(session, client.channel)
    client.hears()
    client.does(spec.MessageAccept(transfers=[(0, 0)]))
    session.lose_state()
    session.request_timeout(0)
    client.hears()
    session.detach()
    client.hears()
    client.channel -= 1


def excepted(client: Client010) -> None:
    client.attach()
    client.does(spec.QueueDelete(queue="nowhere"))
    client.channel -= 1


@pytest.mark.parametrize("does", [attached, declared, delivered, excepted, expired, resumed])
def test_what_a_client_of_0_10_has_ended(by_hand: None, does: Callable[[Client010], None]) -> None:
    client = Gateway().session()
    client.does(spec.QueueDeclare(queue="q"))
    does(client)

    def again() -> None:
        for _ in range(MANY):
            does(client)

    assert garbage_of(again) == []
