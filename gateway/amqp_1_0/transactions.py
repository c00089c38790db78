"""The controller's side of transactions (part 4), as far as it is not a codec's or a link's.

The driver attaches a sender to a `Coordinator` and sends it declares and discharges, never settled;
here are their payloads, and what the replies mean. Work is put into a transaction by the delivery
state: of a transfer `posting`, of a disposition `retiring`. A control link that is detached has
rolled its transactions back; it cannot be resumed.
"""

from __future__ import annotations

from gateway.amqp_1_0 import _spec, sections
from gateway.amqp_1_0._spec import (
    Accepted,
    Coordination,
    Coordinator,
    Declare,
    Declared,
    DeliveryState,
    Discharge,
    Error,
    Outcome,
    Rejected,
    Source,
    TransactionalState,
)
from gateway.amqp_1_0._spec_conditions import ILLEGAL_STATE, TRANSACTION_ROLLBACK
from gateway.amqp_1_0.primitives import fields
from gateway.errors import DecodeError
from gateway.wire.buffers import Reader, Writer
from gateway.wire.tagged import Tagged


def control_source() -> Source:
    """The source of a control link, which lets the coordinator reject (4.2)."""
    return Source(
        outcomes=[
            "amqp:accepted:list",
            "amqp:rejected:list",
            "amqp:released:list",
            "amqp:modified:list",
        ]
    )


def coordinator(capabilities: list[str] | None = None) -> Coordinator:
    """The target of a control link; what the peer can really do is in the target of its attach."""
    return Coordinator(capabilities=capabilities or [_spec.TXN_LOCAL])


def _payload(body: Coordination) -> bytes:
    writer = Writer()
    writer.u8(0x00)
    writer.u8(0x53)
    writer.u8(_spec.AMQP_VALUE)
    body.encode(writer)
    return writer.getvalue()


def declare_payload(global_id: Tagged | None = None) -> bytes:
    """The message that asks for a transaction (4.5.2)."""
    return _payload(Declare(global_id=global_id))


def discharge_payload(txn_id: bytes, *, fail: bool) -> bytes:
    """The message that ends a transaction: commit, or roll back if `fail` (4.5.3)."""
    return _payload(Discharge(txn_id=txn_id, fail=fail))


def coordination_of(payload: bytes) -> Coordination:
    """What a message on a control link asks for.

    Raises:
        DecodeError: it is no message, or asks for something else.
    """
    found = sections.scan(payload)
    if found.body_kind != _spec.AMQP_VALUE:
        raise DecodeError("a message to a coordinator whose body is no amqp-value")
    reader = Reader(payload, found.body_at, found.body_end)
    fields.read_descriptor(reader, _spec.SYMBOLS)
    return _spec.decode_coordination(reader)


def declared(state: DeliveryState | None) -> bytes | Error:
    """The reply to a declare: the transaction's id, or why there is none."""
    if isinstance(state, Declared):
        return state.txn_id
    return _refusal(state)


def discharged(state: DeliveryState | None) -> Error | None:
    """The reply to a discharge: `None` when it is done; else the transaction was rolled back."""
    if isinstance(state, Accepted):
        return None
    return _refusal(state)


def _refusal(state: DeliveryState | None) -> Error:
    if not isinstance(state, Rejected):
        return Error(condition=ILLEGAL_STATE, description="a coordinator that answers otherwise")
    error = state.error
    return Error(condition=TRANSACTION_ROLLBACK) if error is None else error


def posting(txn_id: bytes) -> TransactionalState:
    """The state of a transfer that is part of the transaction (4.4.1)."""
    return TransactionalState(txn_id=txn_id)


def retiring(txn_id: bytes, outcome: Outcome) -> TransactionalState:
    """The state of a disposition that is part of the transaction (4.4.2).

    The delivery is not settled before the transaction is discharged; after a rollback it is as if
    nothing had been said of it.
    """
    return TransactionalState(txn_id=txn_id, outcome=outcome)


def presumed(state: DeliveryState | None, txn_id: bytes) -> Outcome | None:
    """The outcome that a posted delivery will have if the transaction commits, if it is told."""
    if isinstance(state, TransactionalState) and state.txn_id == txn_id:
        return state.outcome
    return None
