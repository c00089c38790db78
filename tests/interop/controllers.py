"""Transactions of Proton's 1.0 client, step by step: declared, filled, discharged."""

from typing import Any

from interop.brokers.client import TIME_LIMIT_S
from proton.handlers import TransactionHandler


class Controlled(TransactionHandler):  # type: ignore[misc]  # proton has no type information
    """One transaction, which has been declared.

    Attributes:
        end: "committed", "aborted" or "failed", once it is discharged.
    """

    def __init__(self, connection: Any, *, settles: bool = False) -> None:
        super().__init__()
        self.connection = connection
        self.end = ""
        self._declared = False
        self._transaction = connection.container.declare_transaction(
            connection.conn, handler=self, settle_before_discharge=settles
        )
        self._wait(lambda: self._declared, "declared")

    def sends(self, sender: Any, *messages: Any) -> list[Any]:
        """Post messages without waiting; their deliveries."""
        return [self._transaction.send(sender, message) for message in messages]

    def presumes(self, *deliveries: Any) -> None:
        """Wait until the outcomes of what was posted are known."""
        self._wait(lambda: all(each.settled for each in deliveries), "outcomes")

    def accepts(self, *deliveries: Any) -> None:
        """Accept what was received, if it is committed."""
        for delivery in deliveries:
            self._transaction.accept(delivery)

    def commits(self) -> str:
        """Discharge it; how it has ended."""
        self._transaction.commit()
        return self._ended()

    def begins_to_commit(self) -> None:
        """Ask for it, and do not wait for the end."""
        self._transaction.commit()

    def aborts(self) -> str:
        """Roll it back; how it has ended."""
        self._transaction.abort()
        return self._ended()

    def _ended(self) -> str:
        self._wait(lambda: bool(self.end), "discharged")
        return self.end

    def _wait(self, condition: Any, what: str) -> None:
        self.connection.wait(condition, timeout=TIME_LIMIT_S, msg=what)

    # What Proton calls.

    def on_transaction_declared(self, event: Any) -> None:
        """There is one."""
        self._declared = True

    def on_transaction_committed(self, event: Any) -> None:
        """It is done."""
        self.end = "committed"

    def on_transaction_aborted(self, event: Any) -> None:
        """It is undone."""
        self.end = "aborted"

    def on_transaction_commit_failed(self, event: Any) -> None:
        """It is undone, though it was to be done."""
        self.end = "failed"
