"""Addresses of the Python client of 0-10 come to what they came to at the qpidd that it had.

Each scenario is run against both at the same time; what each step comes to has to be equal, with
the code of an exception where it has one. What exceptions say in words is each broker's own.
"""

import json
import os
import re
import subprocess
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import yaml
from interop import installed, qpid_cpp
from interop.foreign import Client, python27
from interop.needed import without

_SCENARIOS = installed.HERE / "peers" / "qpid_addresses.yaml"
SCENARIOS: dict[str, list[Any]] = yaml.safe_load(_SCENARIOS.read_text())  # Any: YAML
TIME_LIMIT_S = 60
_NAMES = re.compile("QUEUE|EXCHANGE|LINK")
_IDS = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
Told = list[Any]  # Any: JSON


@pytest.fixture(scope="module")
def broker() -> Iterator[int]:
    """The port of a real qpidd."""
    lacking = installed.qpidd_missing()
    if lacking is not None:
        without(lacking)
    with qpid_cpp.qpidd() as port:
        yield port


def told(scenario: str, unique: str, port: int) -> Told:
    """What each step comes to, at whoever listens there."""
    steps = [json.dumps(step) for step in [*SCENARIOS[scenario], ["goodbye"]]]
    named = [_NAMES.sub(lambda name: f"{name[0].lower()}-{unique}", step) for step in steps]
    command, environment = python27("qpid_addresses.py")
    done = subprocess.run(
        [*command, str(port)],
        input="".join(step + "\n" for step in named),
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
        check=False,
    )
    lines = [json.loads(_IDS.sub("some id", line)) for line in done.stdout.splitlines()]
    assert (done.returncode, len(lines)) == (0, len(steps)), done.stderr
    return lines


@pytest.mark.qpidd
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_each_step_comes_to_what_it_comes_to_at_a_qpidd(
    scenario: str, qpid_python: Client, broker: int, port: int
) -> None:
    unique = uuid.uuid4().hex[:8]
    with ThreadPoolExecutor(2) as both:
        by_qpidd, by_gateway = both.map(lambda at: told(scenario, unique, at), (broker, port))
    assert by_gateway == by_qpidd
