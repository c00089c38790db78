"""The alerts: what Prometheus makes of them, and that what they say to do is there."""

import pathlib
import re
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from gateway.accounting.telling.verdicts import HELP
from gateway.cli.ctl import ctl
from gateway.metrics import METRICS, OBJECT_METRICS

from .conftest import CHART, Render

ALERTS = CHART / "alerts.yaml"
DOCS = CHART.parent / "docs"
PAGE = (DOCS / "operating.md").read_text() + (DOCS / "alerts.md").read_text()
GROUPS = yaml.safe_load(ALERTS.read_text())["groups"]
RULES = [rule for group in GROUPS for rule in group["rules"]]
EACH = pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule["alert"]))


def test_prometheus_tells_what_is_to_be_told_and_nothing_else(promtool: Any) -> None:
    cases = pathlib.Path(__file__).with_name("alerts.test.yaml")
    for done in (promtool("check", "rules", str(ALERTS)), promtool("test", "rules", str(cases))):
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_chart_hands_them_to_the_operator_word_by_word(render: Render) -> None:
    objects = render(prometheusRule={"enabled": True, "labels": {"release": "prometheus"}})
    made = objects["PrometheusRule", "rel-amqp-gateway"]
    assert made["spec"]["groups"] == GROUPS
    assert made["metadata"]["labels"]["release"] == "prometheus"
    assert not [kind for kind, _name in render() if kind == "PrometheusRule"]


@EACH
def test_an_alert_is_of_metrics_that_there_are_whose_names_are_promised(rule: Any) -> None:
    promised = {metric.name for metric in (*METRICS, *OBJECT_METRICS) if metric.stable}
    histograms = {f"{metric.name}_bucket" for metric in METRICS if metric.kind == "histogram"}
    named = set(re.findall(r"gateway_\w+", rule["expr"]))
    assert named
    assert named <= promised | histograms | set(HELP)


@EACH
def test_what_an_alert_means_and_what_to_do_has_a_paragraph(rule: Any) -> None:
    _, _, behind = PAGE.partition(f"\n### {rule['alert']}\n\n")
    paragraph = behind.partition("\n\n")[0]
    assert paragraph.startswith(f"{rule['labels']['severity'].capitalize()}. ")
    assert len(paragraph) > 120


def test_each_alert_is_told_of_by_a_case() -> None:
    cases = pathlib.Path(__file__).with_name("alerts.test.yaml").read_text()
    assert [rule["alert"] for rule in RULES if rule["alert"] not in cases] == []


@EACH
def test_what_an_alert_sends_its_reader_to_is_there(rule: Any) -> None:
    runbook = rule["annotations"]["runbook"]
    titles = re.findall(r'"([^"]+)"', runbook)
    assert titles
    for title in titles:
        assert f"### {title}\n" in PAGE or f"**{title}**" in PAGE


def test_what_a_held_log_says_to_type_is_a_command() -> None:
    (held,) = (rule for rule in RULES if rule["alert"] == "AMQPGatewayAuditHeld")
    assert "`amqp-gateway ctl let-go SEGMENT --unbalanced`" in held["annotations"]["runbook"]
    assert "--unbalanced" in CliRunner().invoke(ctl, ["let-go", "--help"]).output
