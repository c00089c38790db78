"""`migrate plan`: what it writes, what it says, and how it ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.verbs import amqp_gateway

SURVEY = """survey: 1
broker: {address: "old:5672", asked: [QMF]}
queues:
- {name: orders, durable: true}
"""


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    file = tmp_path / "survey.yaml"
    file.write_text(SURVEY)
    return file


def test_a_survey_of_which_all_is_planned_ends_well(survey: Path, tmp_path: Path) -> None:
    output = tmp_path / "plan"
    done = amqp_gateway("migrate", "plan", str(survey), "-o", str(output), "--target", "artemis")
    assert done.exit_code == 0, done.output
    assert sorted(each.name for each in output.iterdir()) == ["artemis-broker.xml", "gateway.yaml"]
    assert done.output.splitlines()[:2] == [
        "0 exchanges, 1 queues, 0 bindings",
        "at upstream new: 1 queues, 0 exchanges",
    ]


def test_what_cannot_be_planned_is_the_exit_code_and_stands_in_the_file(
    survey: Path, tmp_path: Path
) -> None:
    survey.write_text(SURVEY + "links:\n- {name: l, host: h, port: 1}\n")
    done = amqp_gateway("migrate", "plan", str(survey), "-o", str(tmp_path / "plan"))
    assert done.exit_code == 1
    assert "\n!! link l to h:1: federation is not offered" in done.output
    assert "# - link l to h:1" in (tmp_path / "plan" / "gateway.yaml").read_text()


def test_files_of_an_older_plan_are_not_written_over_unasked(survey: Path, tmp_path: Path) -> None:
    plan = ["migrate", "plan", str(survey), "-o", str(tmp_path / "plan")]
    assert amqp_gateway(*plan).exit_code == 0
    (tmp_path / "plan" / "gateway.yaml").write_text("# changed by hand\n")
    again = amqp_gateway(*plan)
    assert again.exit_code == 2
    assert "--force" in again.output
    assert amqp_gateway(*plan, "--force").exit_code == 0


def test_where_no_host_can_be_is_told(survey: Path, tmp_path: Path) -> None:
    plan = ["migrate", "plan", str(survey), "-o", str(tmp_path / "plan"), "--target", "rabbitmq"]
    done = amqp_gateway(*plan, "--at", "nowhere")
    assert done.exit_code == 2
    assert "upstreams.new.hosts.0" in done.output


@pytest.mark.parametrize("text", ["queues: []", ""])
def test_what_is_no_survey_is_refused(survey: Path, tmp_path: Path, text: str) -> None:
    survey.write_text(text)
    done = amqp_gateway("migrate", "plan", str(survey), "-o", str(tmp_path / "plan"))
    assert done.exit_code == 2
    assert not (tmp_path / "plan").exists()


def test_a_survey_that_is_not_there_is_told(tmp_path: Path) -> None:
    done = amqp_gateway("migrate", "plan", str(tmp_path / "missing.yaml"))
    assert done.exit_code == 2
    assert "missing.yaml" in done.output
