"""A collector of OTLP over HTTP, by the maintained definitions of OpenTelemetry."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


class OtlpCollector:
    """Takes spans at /v1/traces of a free port, while it is entered.

    Attributes:
        spans: by what they are called, each as what it has: its ids in hex, and its attributes.
    """

    def __init__(self) -> None:
        self.spans: dict[str, dict[str, Any]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def take(self, octets: bytes) -> None:
        request = ExportTraceServiceRequest.FromString(octets)
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    self.spans[span.name] = {
                        "trace": span.trace_id.hex(),
                        "span": span.span_id.hex(),
                        "parent": span.parent_span_id.hex(),
                        **{each.key: _plain(each.value) for each in span.attributes},
                    }

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                octets = self.rfile.read(int(self.headers["Content-Length"]))
                wanted = self.path == "/v1/traces"
                if wanted:
                    collector.take(octets)
                self.send_response(200 if wanted else 404)
                self.send_header("Content-Type", "application/x-protobuf")
                self.end_headers()
                self.wfile.write(ExportTraceServiceResponse().SerializeToString())

            def log_message(self, *_: object) -> None:
                pass

        return Handler


def _plain(value: Any) -> object:  # Any: of protobuf
    return getattr(value, value.WhichOneof("value"))
