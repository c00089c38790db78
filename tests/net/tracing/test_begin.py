"""Tracing by the settings."""

import re
import sys
from pathlib import Path

import pytest

import gateway
from gateway.config import load
from gateway.errors import ConfigurationError
from gateway.net.tracing.begin import EXPORTING, begin, need_package
from gateway.net.tracing.measures import tracing_readers

ENDPOINT = "tracing.endpoint=http://127.0.0.1:1"


def test_without_a_collector_there_is_none_and_its_metrics_are_zeros() -> None:
    settings = load(None)
    need_package(settings)
    assert begin(settings, lambda: 0, "one", lambda call: call()) is None
    readers = tracing_readers(None)
    assert [sample[-1] for read in readers.values() for sample in read()] == [0] * 6


def test_what_is_missing_is_named_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, EXPORTING, raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter", None)
    for name in [name for name in sys.modules if name.startswith("opentelemetry.")]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ConfigurationError) as caught:
        need_package(load(None, [ENDPOINT]))
    [(path, text)] = caught.value.problems
    assert path == "tracing"
    assert "pip install 'amqp-gateway[tracing]'" in text


def test_one_module_needs_the_package_and_it_is_imported_where_it_is_wanted_alone() -> None:
    sources = {path: path.read_text() for path in Path(gateway.__file__).parent.rglob("*.py")}
    of_the_package = re.compile(r"^ *(from|import) opentelemetry", re.MULTILINE)
    needing = [path.name for path, text in sources.items() if of_the_package.search(text)]
    assert needing == ["exporting.py"]
    at_once = re.compile(rf"^(from|import) {EXPORTING}\b", re.MULTILINE)
    assert [path for path, text in sources.items() if at_once.search(text)] == []


@pytest.mark.parametrize("where", ["c:99999", "c:65536", "c:", "[::1", "c:1:2", "u@c:1"])
def test_where_nobody_can_be_is_no_collector(where: str) -> None:
    with pytest.raises(ConfigurationError, match=r"tracing\.endpoint"):
        load(None, [f"tracing.endpoint=http://{where}"])


@pytest.mark.parametrize("where", ["c", "c:65535", "10.0.0.1:4318/otlp", "[::1]:4318"])
def test_a_host_with_a_port_or_without_is_one(where: str) -> None:
    assert load(None, [f"tracing.endpoint=http://{where}"]).tracing is not None


def test_all_that_is_wrong_is_told_with_its_key() -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(
            None,
            [
                "tracing.endpoint=collector:4318",
                "tracing.ratio=1.5",
                "tracing.messages_per_second=0",
                "tracing.queue_size=1",
                "tracing.timeout=10",
                "tracing.protocol=grpc",
                "limits.links=0",
            ],
        )
    assert sorted(path for path, _ in caught.value.problems) == [
        "limits.links",
        "tracing.endpoint",
        "tracing.messages_per_second",
        "tracing.protocol",
        "tracing.queue_size",
        "tracing.ratio",
        "tracing.timeout",
    ]
