"""The keys of tracing: where spans go, and of which messages."""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import BeforeValidator, Field, WithJsonSchema

from gateway.config.section import Section
from gateway.config.units import duration, size

PORT: Final = r"6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5]?[0-9]{1,4}"
HOST: Final = r"\[[0-9A-Fa-f:.]{2,45}\]|[^\s/?#@:\[\]]{1,255}"
URL: Final = rf"^https?://({HOST})(:({PORT}))?(/[^\s?#]{{0,700}})?$"


def collector(text: object) -> str:
    """Where one is. Raises ValueError."""
    if isinstance(text, str) and re.fullmatch(URL, text):
        return text
    shown = "; no password in it" if isinstance(text, str) and "@" in text else ""
    raise ValueError(f'must be "http://HOST:PORT" or "https://HOST:PORT", and a path{shown}')


class TracingSettings(Section):
    """Steps of some messages as spans of OpenTelemetry. Needs the extra `tracing`."""

    endpoint: Annotated[
        str, BeforeValidator(collector), WithJsonSchema({"type": "string", "pattern": URL})
    ]
    """Where a collector takes OTLP over HTTP, such as http://collector:4318; "/v1/traces" comes
    behind it. Headers and certificates are those of the SDK's environment
    (OTEL_EXPORTER_OTLP_HEADERS, OTEL_EXPORTER_OTLP_CERTIFICATE)."""
    ratio: Annotated[float, Field(ge=0, le=1)] = 0.01
    """The share of messages without a trace that are followed, in one that the gateway begins. Of
    those with one all are whose publisher records it, and no others."""
    messages_per_second: Annotated[int, Field(ge=1, le=100_000)] = 100
    """Messages of a second that are followed, at most, whoever wants it: each has four spans and
    more, which take a few tenths of a millisecond to make and to send."""
    queue_size: Annotated[int, *size("256KiB", "1GiB")] = 16 * 1024 * 1024
    """Octets that spans take which wait for the collector; when they are used up, more are
    dropped."""
    timeout: Annotated[int, *duration("100ms", "1m")] = 10_000
    """How long the collector has for one export of spans, repeated ones included; what it has not
    taken then is dropped."""
    stop_timeout: Annotated[int, *duration("0s", "1m")] = 3_000
    """How long a stop waits for the spans that are left, when all else is over."""
