"""`completion`, and what a shell is told."""

from __future__ import annotations

import sys

import pytest
from click.shell_completion import ShellComplete
from support.verbs import amqp_gateway

from gateway.cli.completion import SHELLS, VARIABLE
from gateway.cli.main import MODULES, NAME, commands


def offered(*words: str) -> list[str]:
    """What may stand for the last of these words."""
    *before, incomplete = words
    told = ShellComplete(commands, {}, NAME, VARIABLE).get_completions(before, incomplete)
    return [each.value for each in told]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_gets_what_asks_the_command_itself(shell: str) -> None:
    done = amqp_gateway("completion", shell)
    assert done.exit_code == 0
    assert "_AMQP_GATEWAY_COMPLETE=" in done.output or shell == "fish"
    assert f"{shell}_complete" in done.output


def test_another_shell_is_refused() -> None:
    assert amqp_gateway("completion", "tcsh").exit_code == 2


def test_commands_are_offered_without_being_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    def imported(name: str) -> None:
        raise AssertionError(name)

    monkeypatch.setattr(sys.modules["gateway.cli.main"], "imported", imported)
    assert offered("") == list(MODULES)
    assert offered("re") == ["receive", "reconcile"]
    assert offered("--v") == ["--version"]


def test_commands_of_commands_options_and_values_are_offered() -> None:
    assert offered("ctl", "log") == ["log-level"]
    assert offered("send", "--proto") == ["--protocol"]
    assert offered("send", "--protocol", "") == ["0-10", "1.0"]
