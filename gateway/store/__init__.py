"""The embedded durable store: turns packed into octets, committed in groups, recovered."""
