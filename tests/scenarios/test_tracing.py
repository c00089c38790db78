"""Tracing of a whole gateway: the spans of a message's way, beside what the audit log has of it."""

from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from support.bridge_ledger import log_of
from support.whole_gateway import WholeGateway

from gateway.audit.schema import Kind
from gateway.clients.client import Delivered, Subscription
from gateway.clients.letter import Letter, Typed
from gateway.net.tracing import exporting

TRACE_ID, PARENT_ID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
TRACE = f"00-{TRACE_ID}-{PARENT_ID}-01"
OWN = Letter(body=Typed("string", "hello"), properties={"traceparent": Typed("string", TRACE)})
BARE = Letter(body=Typed("string", "hello"))


class Traced:
    """A gateway with a queue, and its spans once it has stopped."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch, ratio: int = 0) -> None:
        self._exporter = InMemorySpanExporter()
        monkeypatch.setattr(exporting, "otlp_exporter", lambda endpoint, timeout: self._exporter)
        changes = ("tracing.endpoint=http://127.0.0.1:1", f"tracing.ratio={ratio}")
        self.whole = WholeGateway(directory, *changes).start()
        owner = self.whole.connect_0_10()
        self.whole.result(owner.declare_queue("q"))

    def cross(self, letter: Letter, outcome: str = "accept") -> Delivered:
        """It is sent by 0-10, received by 1.0 and settled."""
        whole, came = self.whole, []
        whole.result(whole.connect_0_10().send("q", letter))
        whole.result(whole.connect_1_0().receive(Subscription("q"), came.append))
        whole.run()
        delivered: Delivered = came[0]
        delivered.settle(outcome)
        whole.run()
        return delivered

    def spans(self) -> dict[str, ReadableSpan]:
        self.whole.stop()
        self.whole.ledger().assert_balanced()
        return {span.name: span for span in self._exporter.get_finished_spans()}


def of(span: ReadableSpan, name: str) -> object:
    return (span.attributes or {}).get(f"amqp_gateway.{name}")


def parent_of(span: ReadableSpan) -> str:
    return "" if span.parent is None else f"{span.parent.span_id:016x}"


def id_of(span: ReadableSpan) -> str:
    assert span.context is not None
    return f"{span.context.span_id:016x}"


def test_a_publishers_trace_has_all_steps_with_the_numbers_of_the_audit_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traced = Traced(tmp_path, monkeypatch)
    assert traced.cross(OWN).letter.properties["traceparent"].value == TRACE
    spans = traced.spans()
    assert set(spans) == {"receive q", "route q", "translate q", "deliver q", "settle q"}
    assert {f"{span.context.trace_id:032x}" for span in spans.values() if span.context} == {
        TRACE_ID
    }
    receive, deliver = spans["receive q"], spans["deliver q"]
    assert {name: parent_of(span) for name, span in spans.items()} == {
        "receive q": PARENT_ID,
        "route q": id_of(receive),
        "deliver q": id_of(receive),
        "translate q": id_of(deliver),
        "settle q": id_of(deliver),
    }
    records = {record["kind"]: record for record in log_of(tmp_path / "audit").raw()}
    received, sent, settled = (records[kind] for kind in (Kind.RECEIVED, Kind.SENT, Kind.SETTLED))
    for name in ("message", "connection", "link"):
        assert of(receive, name) == received[name]
    assert (of(deliver, "link"), of(deliver, "position")) == (sent["link"], sent["position"])
    assert (of(spans["settle q"], "link"), of(spans["settle q"], "outcome")) == (
        *(settled["link"], "accepted"),
    )


def test_a_message_without_a_trace_is_in_one_of_the_gateways_by_the_ratio(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traced = Traced(tmp_path, monkeypatch, ratio=1)
    traced.cross(BARE, "reject")
    spans = traced.spans()
    assert parent_of(spans["receive q"]) == ""
    assert of(spans["settle q"], "outcome") == "rejected"


def test_no_other_message_has_spans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    traced = Traced(tmp_path, monkeypatch)
    traced.cross(BARE)
    assert traced.spans() == {}


def test_a_message_that_nobody_takes_ends_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traced = Traced(tmp_path, monkeypatch)
    client = traced.whole.connect_1_0()
    traced.whole.result(client.send("amq.topic/nobody", OWN))
    ttl = Letter(ttl_ms=1000, body=OWN.body, properties=OWN.properties)
    traced.whole.result(client.send("q", ttl))
    traced.whole.pass_time(2)
    spans = traced.spans()
    assert of(spans["end amq.topic"], "reason") == "no_binding"
    assert of(spans["end q"], "record") == "expired"
