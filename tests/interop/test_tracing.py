"""Trace context between foreign clients of both protocols, and spans at a collector."""

from pathlib import Path
from typing import Any

from interop.foreign import Client
from support.gateway_process import GatewayProcess
from support.otlp_collector import OtlpCollector

TRACE_ID, PARENT_ID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
TRACE = ["string", f"00-{TRACE_ID}-{PARENT_ID}-01"]
OTHER_ID = "1" * 32
OTHER = ["string", f"00-{OTHER_ID}-{PARENT_ID}-01"]
STEPS = ("receive", "route", "translate", "deliver", "settle")


def steps(collector: OtlpCollector, queue: str) -> dict[str, dict[str, Any]]:
    """The spans of all that was done with one message, through a queue of its own."""
    return {step: collector.spans[f"{step} {queue}"] for step in STEPS}


def test_a_trace_goes_on_in_the_other_protocol_and_its_spans_are_exported(
    tmp_path: Path, proton: Client, qpid_python: Client
) -> None:
    with OtlpCollector() as collector:
        config = {"tracing": {"endpoint": collector.endpoint, "ratio": 1}}
        with GatewayProcess(tmp_path, config) as gateway:
            port = gateway.amqp_port
            for queue in ("annotated", "own", "bare"):
                address = f"{queue}; {{create: always, node: {{type: queue}}}}"
                qpid_python.run("send", port, [], address=address)

            # An intermediary's, from 1.0: a header in 0-10.
            annotated = {"body": ["string", "x"], "annotations": {"traceparent": TRACE}}
            proton.run("send", port, [annotated], address="annotated")
            [seen] = qpid_python.run("receive", port, address="annotated").received
            assert seen["properties"]["traceparent"] == TRACE

            # A publisher's own, from 0-10: a property in 1.0, and nothing beside it.
            own = {"body": ["string", "x"], "properties": {"traceparent": OTHER}}
            qpid_python.run("send", port, [own], address="own")
            [seen] = proton.run("receive", port, address="own").received
            assert seen["properties"]["traceparent"] == OTHER
            assert "traceparent" not in seen["annotations"]

            # Nobody's: the gateway's, as an annotation.
            qpid_python.run("send", port, [{"body": ["string", "x"]}], address="bare")
            [seen] = proton.run("receive", port, address="bare").received
            _, given = seen["annotations"]["traceparent"]
            assert "traceparent" not in seen["properties"]

    for queue, trace_id, parent_id in (
        ("annotated", TRACE_ID, PARENT_ID),
        ("own", OTHER_ID, PARENT_ID),
        ("bare", given[3:35], ""),
    ):
        spans = steps(collector, queue)
        assert {span["trace"] for span in spans.values()} == {trace_id}
        assert spans["receive"]["parent"] == parent_id
        assert spans["deliver"]["parent"] == spans["receive"]["span"]
        assert spans["settle"]["parent"] == spans["deliver"]["span"]
        assert spans["settle"]["amqp_gateway.outcome"] == "accepted"
        assert len({span["amqp_gateway.message"] for span in spans.values()}) == 1
    assert given == f"00-{given[3:35]}-{steps(collector, 'bare')['receive']['span']}-01"
