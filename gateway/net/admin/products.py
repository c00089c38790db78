"""Connections by what their clients are: for the metrics, so from closed sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final, final

from gateway.metrics import Sample
from gateway.net.listening.listen import Door
from gateway.wire import sasl
from gateway.wire.gssapi_server import GSSAPI
from gateway.wire.work import COUNTED, WORK

PIECE: Final = 100  # connections
# In what a client says of itself, in small letters -> the product; the first that fits.
PRODUCTS: Final = (
    ("amqp-gateway", "amqp-gateway"),
    ("qpid python", "qpid-python"),
    ("qpid-jms", "qpid-jms"),
    ("qpidjms", "qpid-jms"),
    ("proton", "qpid-proton"),
    ("rhea", "rhea"),
    ("net lite", "amqpnetlite"),
    ("artemis", "artemis"),
    ("rabbitmq", "rabbitmq"),
    ("qpid", "qpid"),  # the Java client of 0-10 says no more
)
OTHER: Final = "other"
UNNAMED: Final = "unnamed"
LOGINS: Final = {
    "": "anonymous",
    sasl.ANONYMOUS: "anonymous",
    sasl.EXTERNAL: "certificate",
    GSSAPI: "kerberos",
}
PASSWORD: Final = "password"


def product_of(told: str) -> str:
    """Which product it is that says that of itself."""
    small = told.lower()
    if not small:
        return UNNAMED
    return next((product for part, product in PRODUCTS if part in small), OTHER)


@final
class Products:
    """How many connections there are of what, at the last count."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._counted: Counter[tuple[str, str, str]] = Counter()

    def count(self) -> Iterator[None]:
        """Count anew, in pieces."""
        counted: Counter[tuple[str, str, str]] = Counter()
        pumps = self._door.pumps
        numbers = list(pumps)
        for begin in range(0, len(numbers), PIECE):
            WORK.units += COUNTED * PIECE
            for number in numbers[begin : begin + PIECE]:
                pump = pumps.get(number)
                status = None if pump is None else pump.face.status()
                if status is not None:
                    login = LOGINS.get(status.mechanism, PASSWORD)
                    counted[status.protocol, product_of(status.product), login] += 1
            yield
        self._counted = counted

    def samples(self) -> list[Sample]:
        """What was counted."""
        return list(self._counted.items())
