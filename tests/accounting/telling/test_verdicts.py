"""What other programs are told of a reconciliation: in their own forms, whole or not at all."""

import io
import json
import threading
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from urllib.error import HTTPError, URLError

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gateway.accounting import __main__ as program
from gateway.accounting.state.opening import Beginning
from gateway.accounting.steps.breaks import BreakClass
from gateway.accounting.telling import verdicts
from gateway.accounting.telling.stories import Told
from gateway.audit.provenance import Provenance

ROOT = Path(__file__).parent.parent.parent.parent
CLASSES = tuple(str(each) for each in BreakClass)
FACTS = {"records": 7, "octets": 900, "last_sequence": 7, "newest": "s", "unfinished": [object()]}


def found(**changed: object) -> verdicts.Told:
    values = {
        "log": "/log",
        "beginning": Beginning(),
        "balanced": False,
        "final": True,
        "half": "",
        "classes": {"LOST": 2},
        "unproven": {"DUPLICATE": 1},
        "log_facts": FACTS,
        "sums": {"queues": {"entered": 3}},
        "provenance": Provenance(),
        "published_again": {"ids": 0, "messages": 0, "first": None, "again": None},
        "checked": {"whole": 3, "differ": 0, "too_large": 0},
        "told": {"received": 5, "accepted": 5},
    }
    rows = {name: [{"name": name}] for name in verdicts.TABLES}
    values["stories"] = [Told(["a step"], "audit trace")]
    return verdicts.Told(SimpleNamespace(**(values | rows | changed)), 1_700_000_000.5, 12.25)


def test_prometheus_reads_each_metric_with_every_class() -> None:
    families = {
        family.name: family
        for family in text_string_to_metric_families(verdicts.exposition([found()], CLASSES))
    }
    assert families.keys() == verdicts.HELP.keys()
    assert all(family.documentation for family in families.values())
    values = {
        (sample.name, *sample.labels.values()): sample.value
        for family in families.values()
        for sample in family.samples
    }
    assert values["gateway_reconcile_timestamp_seconds",] == 1_700_000_000.5
    assert values["gateway_reconcile_balanced",] == 0
    assert values["gateway_reconcile_breaks", "LOST"] == 2
    assert values["gateway_reconcile_breaks", "STUCK"] == 0
    assert values["gateway_reconcile_unproven", "DUPLICATE"] == 1
    assert values["gateway_reconcile_records",] == 7


def test_a_log_of_nothing_has_metrics_too() -> None:
    empty = found(log_facts=dict.fromkeys(FACTS), classes={}, unproven={}, balanced=True)
    assert "gateway_reconcile_records 0\n" in verdicts.exposition([empty], CLASSES)


def test_json_has_all_that_the_page_says() -> None:
    told = json.loads(json.dumps(verdicts.as_json(found(), "not balanced")))
    assert (told["verdict"], told["balanced"], told["classes"]) == (
        "not balanced",
        False,
        {"LOST": 2},
    )
    assert told["breaks"] == [{"name": "breaks", "steps": ["a step"], "trace": "audit trace"}]
    assert told["figures"] == [{"name": "figures"}]
    assert told["ran"] is None
    assert (told["checked"]["whole"], told["told"]["accepted"]) == (3, 5)
    assert told["log"] == {
        "path": "/log",
        "records": 7,
        "octets": 900,
        "last_sequence": 7,
        "newest": "s",
        "half_block": "",
    }


class Taker:
    """Takes what is sent by HTTP, or refuses it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, error: Exception | None = None) -> None:
        self.requests: list[urllib.request.Request] = []
        self._error = error
        monkeypatch.setattr(urllib.request, "urlopen", self.take)

    def take(self, request: urllib.request.Request, timeout: float) -> io.BytesIO:
        self.requests.append(request)
        if self._error is not None:
            raise self._error
        return io.BytesIO()


def test_a_pushgateway_has_it_in_the_place_of_the_one_before(monkeypatch) -> None:
    taker = Taker(monkeypatch)
    verdicts.push("http://push:9091/", "text\n")
    (request,) = taker.requests
    assert request.full_url == "http://push:9091/metrics/job/amqp-gateway-reconcile"
    assert (request.get_method(), request.data) == ("PUT", b"text\n")


def test_who_is_called_hears_the_verdict_without_its_tables(monkeypatch) -> None:
    taker = Taker(monkeypatch)
    verdicts.call("https://pager/x", verdicts.as_json(found(), "not balanced"))
    (request,) = taker.requests
    told = json.loads(request.data)
    assert (request.get_method(), told["verdict"], told["classes"]) == (
        "POST",
        "not balanced",
        {"LOST": 2},
    )
    assert "breaks" not in told


@pytest.mark.parametrize(
    "error",
    [
        URLError(ConnectionRefusedError(111, "Connection refused")),
        HTTPError("https://pager/secret", 500, "no", {}, None),
        TimeoutError("timed out"),
        ValueError("no host"),
    ],
)
def test_what_nobody_takes_is_told_without_what_may_be_secret(error, monkeypatch) -> None:
    Taker(monkeypatch, error)
    with pytest.raises(OSError, match=r"^https://pager: ") as told:
        verdicts.call("https://pager/secret", {})
    assert "secret" not in str(told.value)


@pytest.mark.parametrize("url", ["push:9091", "file:///etc/passwd", "http://a b", ""])
def test_what_is_no_url_is_a_wrong_argument(url, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        program.main(["reconcile", "log", "--out", "out", f"--push={url}"])
    assert ended.value.code == 2
    assert "no URL" in capsys.readouterr().err


def test_the_documents_name_each_metric() -> None:
    told = (ROOT / "docs" / "operating.md").read_text()
    assert [name for name in verdicts.HELP if f"| `{name}` |" not in told] == []


def test_who_answers_an_octet_at_a_time_is_given_up_all_the_same(monkeypatch) -> None:
    monkeypatch.setattr(verdicts, "PATIENCE_S", 0.05)
    done = threading.Event()

    def drips(_request: object, timeout: float) -> io.BytesIO:
        done.wait()
        return io.BytesIO()

    monkeypatch.setattr(urllib.request, "urlopen", drips)
    with pytest.raises(OSError, match=r"^http://push:9091: no answer in"):
        verdicts.push("http://push:9091", "text\n")
    done.set()
