"""What the tests of 0-10 transactions have in common."""

from support.bridge_ledger import LedgerCheck
from support.talk_0_10 import Client, Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.audit.schema import Kind
from gateway.audit.schema import Outcome as AuditOutcome

COMMITTED = int(AuditOutcome.COMMITTED)
ROLLED_BACK = int(AuditOutcome.ROLLED_BACK)
IN_DOUBT = int(AuditOutcome.IN_DOUBT)
DURABLE = spec.DeliveryMode.PERSISTENT


def gateway_with(*bodies: bytes, strict: bool = False, **settings: int) -> Gateway:
    """With a queue that holds such messages."""
    gateway = Gateway(strict=strict)
    gateway.world.queue(**settings)
    gateway.world.send(*bodies)
    return gateway


def selected(gateway: Gateway) -> Client:
    """A client with a session that has selected transactions."""
    client = gateway.session()
    assert client.does(spec.TxSelect()) == ["completed 0-0"]
    return client


def accept(*ranges: tuple[int, int]) -> spec.MessageAccept:
    """Of deliveries by their ids."""
    return spec.MessageAccept(transfers=list(ranges))


def release(*ranges: tuple[int, int]) -> spec.MessageRelease:
    """The same, as failed."""
    return spec.MessageRelease(transfers=list(ranges), set_redelivered=True)


def ended(gateway: Gateway) -> list[tuple[int, int]]:
    """How transactions ended: outcome, and the transaction's number."""
    raw = gateway.world.blocks.raw()
    found = [each for each in raw if each["kind"] == Kind.TRANSACTION]
    return [(int(each["outcome"]), int(each["transaction"])) for each in found]


def check(gateway: Gateway) -> LedgerCheck:
    """The ledger so far, which must hold."""
    return gateway.world.check()
