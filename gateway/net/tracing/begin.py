"""Tracing by the settings: nothing, or what follows messages and who is told of it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, final

from gateway import __version__
from gateway.config import Settings
from gateway.config.tracing import TracingSettings
from gateway.errors import ConfigurationError
from gateway.net.logs import NamedLogger
from gateway.translate.tracing.traces import Traces

if TYPE_CHECKING:
    from gateway.net.tracing.exporting import ExportedSpans

PATH: Final = "/v1/traces"
EXPORTING: Final = "gateway.net.tracing.exporting"
NEEDS: Final = "needs OpenTelemetry's SDK: pip install 'amqp-gateway[tracing]'"
InReactor = Callable[[Callable[[], None]], object]


@final
class Tracing:
    """What there is while messages are followed."""

    log = NamedLogger("gateway.net.tracing")

    def __init__(
        self,
        settings: TracingSettings,
        now_us: Callable[[], int],
        identity: str,
        name: str,
        in_reactor: InReactor,
    ) -> None:
        exporting = importlib.import_module(EXPORTING)
        self.settings = settings
        self._in_reactor = in_reactor
        self.spans: ExportedSpans = exporting.ExportedSpans(
            now_us,
            exporting.otlp_exporter(settings.endpoint.rstrip("/") + PATH, settings.timeout / 1000),
            octets_max=settings.queue_size,
            told=self._on_told,
            resource={
                "service.name": "amqp-gateway",
                "service.version": __version__,
                "service.instance.id": name,
            },
        )
        self.traces = Traces(
            self.spans, settings.ratio, settings.messages_per_second, identity.encode()
        )

    def _on_told(self, works: bool) -> None:
        """In the SDK's thread."""
        self._in_reactor(lambda: self._tell(works))

    def _tell(self, works: bool) -> None:
        if works:
            self.log.info("spans are exported again")
        else:
            self.log.warn(
                "spans cannot be exported to {endpoint}: they are dropped, and counted",
                endpoint=self.settings.endpoint,
            )

    def stop(self) -> None:
        """Nothing is followed any more: give the collector what is left, as long as it may take."""
        self.spans.stop(self.settings.stop_timeout / 1000)


def need_package(settings: Settings) -> None:
    """Raise ConfigurationError where tracing is wanted and its package is not there."""
    if settings.tracing is None:
        return
    try:
        importlib.import_module(EXPORTING)
    except ImportError as error:
        raise ConfigurationError([("tracing", f"{NEEDS} ({error})")]) from None


def begin(
    settings: Settings, now_us: Callable[[], int], identity: str, in_reactor: InReactor
) -> Tracing | None:
    """What follows messages; `None`: nothing does.

    Args:
        identity: of the data directory, of which the ids of traces are made.
    """
    if settings.tracing is None:
        return None
    need_package(settings)
    return Tracing(settings.tracing, now_us, identity, settings.name, in_reactor)
