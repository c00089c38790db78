"""The command as such: its verbs explain themselves, and what it cannot print is told."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest
from support.verbs import amqp_gateway

from gateway import __version__
from gateway.cli.main import MODULES


def test_the_version_says_which_form_runs() -> None:
    done = amqp_gateway("--version")
    assert done.exit_code == 0
    assert done.output.startswith(f"amqp-gateway {__version__} (")
    assert done.output.rstrip()[-1] == ")"


@pytest.mark.parametrize("verb", sorted(MODULES))
def test_every_verb_explains_itself(verb: str) -> None:
    done = amqp_gateway(verb, "--help")
    assert done.exit_code == 0
    assert "Examples:" in done.output or verb == "audit"


@pytest.mark.process
@pytest.mark.parametrize("arguments", [["--version"], ["check"], ["send", "--help"]])
def test_output_that_cannot_be_written_is_told_in_a_line(arguments: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "gateway", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    told = "amqp-gateway: the output cannot be written: No space left on device"
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, told)
    assert "Traceback" not in done.stderr


def test_one_that_is_interrupted_while_it_is_imported_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(name: str) -> ModuleType:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["gateway.cli.main"], "imported", interrupt)
    done = amqp_gateway("check")
    assert (done.exit_code, done.output) == (1, "amqp-gateway: interrupted\n")


@pytest.mark.process
def test_python_m_gateway_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "gateway", "check", "--set", "colour=blue"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (2, "colour: there is no such key\n")
