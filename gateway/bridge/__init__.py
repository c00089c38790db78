"""Messages, exchanges, queues, subscriptions, credit and the ledger; no protocol is named here."""
