"""The manual page and the completions, made of the command itself."""

import subprocess
from pathlib import Path

import click
import pytest
from release import pages

from gateway.cli.main import MODULES

MANUAL = pages.manual("1.2.3")


def test_every_command_has_a_section_and_every_option_its_line() -> None:
    lines = set(MANUAL.splitlines())
    for name in MODULES:
        assert f".SS amqp\\-gateway {name}" in lines
    assert ".SS amqp\\-gateway ctl log\\-level" in lines, "one below another"
    assert "\\fB\\-\\-dry\\-run\\fR" not in lines, "of this command no option"
    assert "\\fB\\-f, \\-\\-file PATH\\fR" in lines
    assert '.TH AMQP\\-GATEWAY 1 "" "amqp-gateway 1.2.3" "User Commands"' in lines


def test_words_that_roff_would_take_for_requests_are_words() -> None:
    @click.command("amqp-gateway", help=".PP is\n'no request\n\n\b\n.nf\n  nor \\fB\n")
    def command() -> None:
        pass

    lines = pages._paragraphs(command.help)
    assert lines == [".PP", "\\&.PP is 'no request", ".PP", ".nf", "\\&.nf", "  nor \\efB", ".fi"]


@pytest.mark.parametrize("place", [pages.MANUAL, *pages.PLACES.values()])
def test_all_of_it_is_written_where_programs_look_for_it(place: str, tmp_path: Path) -> None:
    pages.write(tmp_path, "1.2.3")
    assert "amqp-gateway" in (tmp_path / place).read_text(encoding="utf-8")


def test_what_bash_is_given_is_a_script(tmp_path: Path) -> None:
    pages.write(tmp_path, "1.2.3")
    subprocess.run(["bash", "-n", str(tmp_path / pages.PLACES["bash"])], check=True)
