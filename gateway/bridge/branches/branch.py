"""One branch of a distributed transaction: where it stands, and who works in it.

    OPEN         sessions work in it, have suspended it, or have ended their work in it
    DOOMED       rollback-only: some of its work has failed, or a session ended in the middle of it
    EXPIRED      its time was over before it was prepared: its work is rolled back
    PREPARING    it is looked at whether it can be committed, and made durable
    PREPARED     it ends as its manager, or an operator, says; over any restart
    ENDING       it is committed or rolled back
    COMMITTED, ROLLED_BACK   an operator has decided so; it is known until its manager forgets it
    OVER         nobody knows it any more

What a branch holds is a `Transaction`, as of tx; a doomed one gets a new one for what still comes,
which falls with it. Source: X/Open XA, as the 0-10 XML has it (class dtx).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple, final

from gateway.bridge.branches.shelf import Shelf
from gateway.bridge.transaction import Transaction
from gateway.wire.machine import Machine, Table


class Xid(NamedTuple):
    """What a branch is called; scoped by the virtual host."""

    format: int
    global_id: bytes
    branch_id: bytes

    def text(self) -> str:
        """As people, the audit log and the store's keys have it."""
        return f"{self.format}.{self.global_id.hex()}.{self.branch_id.hex()}"


def xid_of(text: str) -> Xid | None:
    """The branch that `Xid.text` says; `None`: no such text."""
    parts = text.split(".")
    if len(parts) != 3:
        return None
    try:
        xid = Xid(int(parts[0]), bytes.fromhex(parts[1]), bytes.fromhex(parts[2]))
    except ValueError:
        return None
    return xid if xid.text() == text else None


class State(IntEnum):
    """Where a branch stands; the module's docstring says what each state means."""

    OPEN = 0
    DOOMED = 1
    EXPIRED = 2
    PREPARING = 3
    PREPARED = 4
    ENDING = 5
    COMMITTED = 6
    ROLLED_BACK = 7
    OVER = 8


class Input(IntEnum):
    """What moves it on."""

    FAIL = 0
    TIME_OVER = 1
    PREPARE = 2
    KEPT = 3  # the store has it
    REFUSED = 4  # it cannot be committed
    END = 5
    ENDED = 6
    DECIDED_COMMIT = 7  # by an operator, and done
    DECIDED_ROLLBACK = 8
    FORGET = 9


TRANSITIONS: Final[Table] = {
    (State.OPEN, Input.FAIL): State.DOOMED,
    (State.OPEN, Input.TIME_OVER): State.EXPIRED,
    (State.OPEN, Input.PREPARE): State.PREPARING,
    (State.OPEN, Input.END): State.ENDING,
    (State.DOOMED, Input.FAIL): State.DOOMED,
    (State.DOOMED, Input.TIME_OVER): State.EXPIRED,
    (State.DOOMED, Input.END): State.ENDING,
    (State.EXPIRED, Input.FAIL): State.EXPIRED,
    (State.EXPIRED, Input.END): State.ENDING,
    (State.PREPARING, Input.KEPT): State.PREPARED,
    (State.PREPARING, Input.REFUSED): State.DOOMED,
    (State.PREPARED, Input.END): State.ENDING,
    (State.ENDING, Input.ENDED): State.OVER,
    (State.ENDING, Input.DECIDED_COMMIT): State.COMMITTED,
    (State.ENDING, Input.DECIDED_ROLLBACK): State.ROLLED_BACK,
    (State.COMMITTED, Input.FORGET): State.OVER,
    (State.ROLLED_BACK, Input.FORGET): State.OVER,
}

IN_DOUBT: Final = (State.PREPARED, State.COMMITTED, State.ROLLED_BACK)
FAILED: Final = (State.DOOMED, State.EXPIRED)


@final
class Branch:
    """One branch of one virtual host.

    Attributes:
        user: who began it; "" of a client without a login.
        transaction: what it holds.
        shelf: keeps what it is to publish, from prepare on.
        timeout_s: how long it may be without being prepared.
        expires_ms: when that is over, or when it is forgotten.
        prepared_ms: when it was prepared; 0: it was not.
        sessions: who works in it, by number; `True`: has suspended that.
        rules: by which it was last decided that it may publish what it holds; a face's affair.
    """

    __slots__ = (
        "expires_ms",
        "machine",
        "prepared_ms",
        "rules",
        "sessions",
        "shelf",
        "timeout_s",
        "transaction",
        "user",
        "xid",
    )

    def __init__(self, xid: Xid, user: str, transaction: Transaction, shelf: Shelf) -> None:
        self.xid = xid
        self.user = user
        self.transaction = transaction
        self.shelf = shelf
        self.machine = Machine(TRANSITIONS, State.OPEN)
        self.timeout_s = 0
        self.expires_ms = 0
        self.prepared_ms = 0
        self.sessions: dict[int, bool] = {}
        self.rules: object = None

    @property
    def state(self) -> State:
        """Where it stands."""
        return State(self.machine.state)

    @property
    def in_doubt(self) -> bool:
        """Whether its manager is to hear of it: it is prepared, or was decided by an operator."""
        return self.state in IN_DOUBT

    @property
    def failed(self) -> bool:
        """Whether it can only be rolled back."""
        return self.state in FAILED
