"""Survey documents: written, read again, and refused with every problem."""

from __future__ import annotations

import json

import pytest

from gateway.errors import ConfigurationError
from gateway.migration.document import Acl, Broker, Queue, Survey, as_plain, as_yaml, read

SURVEY = Survey(
    taken_at="2026-11-28T06:00:00+00:00",
    broker=Broker(address="old:5672", asked=["QMF"]),
    queues=[Queue(name="no", durable=True, arguments={"qpid.max_count": 5, "deep": {"a": [1]}})],
    acl=Acl(at_broker="/etc/qpid/qpidd.acl", text="acl allow all all\n# end\n"),
)


def problems(octets: bytes) -> list[tuple[str, str]]:
    with pytest.raises(ConfigurationError) as caught:
        read(octets, "s.yaml")
    return caught.value.problems


def test_what_is_written_is_read_again_as_yaml_and_as_json() -> None:
    assert read(as_yaml(SURVEY).encode(), "s.yaml") == SURVEY
    assert read(json.dumps(as_plain(SURVEY)).encode(), "s.json") == SURVEY


def test_what_is_as_usual_is_left_out_and_a_file_stands_as_people_write_it() -> None:
    text = as_yaml(SURVEY)
    assert "auto_delete" not in text
    assert "  text: |\n    acl allow all all\n    # end\n" in text


def test_another_form_of_the_document_is_refused() -> None:
    assert problems(b"survey: 2\nbroker: {address: a}") == [
        ("s.yaml", "is a survey of form 2, not 1")
    ]


@pytest.mark.parametrize("text", [b"queues: []", b"[]", b"{}", b""])
def test_what_is_no_survey_is_told_where_one_comes_from(text: bytes) -> None:
    [(_, problem)] = problems(text)
    assert "migrate survey" in problem


@pytest.mark.parametrize("text", [b"survey: [", b'{"survey": '])
def test_what_cannot_be_read_is_said(text: bytes) -> None:
    assert len(problems(text)) == 1


def test_every_problem_has_its_place() -> None:
    text = b"survey: 1\nbroker: {address: 1}\nqueues:\n- {name: 1}\n- {nam: a}\n"
    assert {key for key, _ in problems(text)} == {
        "s.yaml: broker.address",
        "s.yaml: queues.0.name",
        "s.yaml: queues.1.nam",
        "s.yaml: queues.1.name",
    }
