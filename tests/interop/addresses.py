"""Addresses in the words of the Java client."""


def jms_queue(name: str, *, durable: bool = True) -> str:
    """A queue, declared when it is not there."""
    kept = "true" if durable else "false"
    return f"ADDR:{name}; {{create: always, node: {{type: queue, durable: {kept}}}}}"


def jms_exchange(name: str, key: str) -> str:
    """An exchange with a subject: the routing key of a publisher, the binding key of a consumer."""
    return f"ADDR:{name}/{key}"
