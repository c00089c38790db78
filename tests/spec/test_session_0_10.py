"""Class session of 0-10: what is confirmed, and when."""

from support import drive_0_10 as drive
from support.rules import rule
from support.talk_0_10 import Client, Gateway

from gateway.amqp_0_10 import _spec as spec

DURABLE = spec.DeliveryMode.PERSISTENT


def confirmed(client: Client) -> list[tuple[int, int]]:
    """What the server answers to a flush that asks for what is confirmed."""
    flush = drive.control(spec.SessionFlush(confirmed=True), client.channel)
    client.face.receive_data(flush, client.gateway.world.now_ms)
    values = drive.values(client.face.data_to_send())
    [answer] = [one for one in values if isinstance(one, spec.SessionConfirmed)]
    return answer.commands


@rule("0-10", "session.confirmed", "durability")
def test_a_durable_transfer_is_confirmed_when_it_is_on_disk() -> None:
    gateway = Gateway()
    gateway.world.queue(durable=True)
    gateway.world.commit()
    gateway.world.auto_commit = False
    client = gateway.session()
    client.publishes(b"kept", delivery=spec.DeliveryProperties(delivery_mode=DURABLE))
    client.hears()
    assert confirmed(client) == []
    gateway.world.commit()
    assert confirmed(client) == [(0, 0)]


@rule("0-10", "session.confirmed.commands", "exclude-known-complete")
@rule("0-10", "session.known-completed.commands", "known-completed-implies-known-confirmed")
def test_what_is_known_to_be_completed_is_not_confirmed_again() -> None:
    client = Gateway().session()
    client.does(spec.ExchangeQuery(), spec.ExchangeQuery())
    assert confirmed(client) == [(0, 1)]
    known = drive.control(spec.SessionKnownCompleted(commands=[(0, 0)]), client.channel)
    client.face.receive_data(known, client.gateway.world.now_ms)
    assert confirmed(client) == [(1, 1)]
