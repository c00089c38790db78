"""Data directories with a prepared branch, which has accepted a message and is to publish two."""

from __future__ import annotations

from pathlib import Path

from support.stopped import fill
from support.whole_gateway import WholeGateway

from gateway.amqp_0_10 import _spec as spec
from gateway.clients.client import Delivered, Subscription
from gateway.clients.letter import Letter, Typed

XID = spec.Xid(format=1, global_id=b"x", branch_id=b"b")
NAME = "1.78.62"


def with_branch(directory: Path) -> Path:
    """A gateway has run: "1" to "3" are in a queue, of which a branch has accepted "1".

    It is to publish "4" to the same queue, and "5" to another one.
    """
    gateway = WholeGateway(directory).start()
    fill(gateway, 3)
    fill(gateway, 0, "results")
    client = gateway.connect_0_10()
    gateway.result(client.command(spec.DtxSelect()))
    gateway.result(client.query(spec.DtxStart(xid=XID)))
    came: list[Delivered] = []
    gateway.result(client.receive(Subscription("orders", credit=1, once=True), came.append))
    gateway.run()
    came[0].settle("accept")
    for queue, body in (("orders", "4"), ("results", "5")):
        gateway.result(client.send(queue, Letter(body=Typed("string", body), durable=True)))
    gateway.result(client.query(spec.DtxEnd(xid=XID)))
    gateway.result(client.query(spec.DtxPrepare(xid=XID)))
    gateway.stop()
    return directory
