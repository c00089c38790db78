"""What the tests of branches (class dtx) have in common."""

from support.talk_0_10 import Client, Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.structs import open_struct
from gateway.amqp_0_10.types import Command, Struct, Struct32
from gateway.audit.schema import Kind
from gateway.bridge.branches.branch import Branch, Xid

OK = spec.XaStatus.XA_OK
ROLLED_BACK = spec.XaStatus.XA_RBROLLBACK
TIMED_OUT = spec.XaStatus.XA_RBTIMEOUT
COMMITTED_BEFORE = spec.XaStatus.XA_HEURCOM
ROLLED_BACK_BEFORE = spec.XaStatus.XA_HEURRB
READ_ONLY = spec.XaStatus.XA_RDONLY
DURABLE = spec.DeliveryMode.PERSISTENT


def xid(name: str = "x") -> spec.Xid:
    """A branch of that name."""
    return spec.Xid(format=1, global_id=name.encode(), branch_id=b"b")


def start(name: str = "x", *, join: bool = False, resume: bool = False) -> spec.DtxStart:
    return spec.DtxStart(xid=xid(name), join=join, resume=resume)


def end(name: str = "x", *, fail: bool = False, suspend: bool = False) -> spec.DtxEnd:
    return spec.DtxEnd(xid=xid(name), fail=fail, suspend=suspend)


def prepare(name: str = "x") -> spec.DtxPrepare:
    return spec.DtxPrepare(xid=xid(name))


def commit(name: str = "x", *, one_phase: bool = False) -> spec.DtxCommit:
    return spec.DtxCommit(xid=xid(name), one_phase=one_phase)


def rollback(name: str = "x") -> spec.DtxRollback:
    return spec.DtxRollback(xid=xid(name))


def forget(name: str = "x") -> spec.DtxForget:
    return spec.DtxForget(xid=xid(name))


def accept(*ranges: tuple[int, int]) -> spec.MessageAccept:
    """Of deliveries by their ids."""
    return spec.MessageAccept(transfers=list(ranges))


def selected(gateway: Gateway, user: str = "") -> Client:
    """A client with a session that has selected distributed transactions."""
    client = gateway.session(user)
    assert client.does(spec.DtxSelect()) == ["completed 0-0"]
    return client


def asks(client: Client, *commands: Command) -> object:
    """The answer to the last: its status, its result, the code of an exception, or "done"."""
    told: object = "done"
    for one in client.does(*commands):
        if isinstance(one, spec.XaResult):
            told = spec.XaStatus(one.status or 0)
        elif isinstance(one, spec.GetTimeoutResult):
            told = one.timeout
        elif isinstance(one, spec.RecoverResult):
            told = in_doubt(one)
        elif isinstance(one, tuple) and len(one) == 2:
            return one[0]
    return told


def in_doubt(result: spec.RecoverResult) -> list[str]:
    """The names of the branches that are listed."""
    assert result.in_doubt is not None
    listed: list[Struct] = []
    for value in result.in_doubt.values:
        assert isinstance(value, Struct32)
        listed.append(open_struct(value))
    return [one.global_id.decode() for one in listed if isinstance(one, spec.Xid) and one.global_id]


def recovers(gateway: Gateway) -> object:
    """What a manager hears that asks for branches in doubt."""
    return asks(gateway.session(), spec.DtxRecover())


def persistent() -> spec.DeliveryProperties:
    """Of a durable message."""
    return spec.DeliveryProperties(delivery_mode=DURABLE)


def works(
    client: Client, *bodies: bytes, name: str = "x", key: str = "q", durable: bool = False
) -> None:
    """Publish these in a branch that is started and ended for them."""
    assert asks(client, start(name)) == OK
    for body in bodies:
        client.publishes(body, key=key, delivery=persistent() if durable else None)
    assert asks(client, end(name)) == OK


def branch_of(gateway: Gateway, name: str = "x") -> Branch | None:
    """What the gateway knows of it."""
    return gateway.world.host.branches.by_xid.get(Xid(1, name.encode(), b"b"))


def steps(gateway: Gateway, kind: Kind) -> list[dict[str, object]]:
    """The audit records of one kind."""
    return [dict(each) for each in gateway.world.blocks.raw() if each["kind"] == kind]
