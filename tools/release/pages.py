"""share/: the manual page of the command, and completions for shells, as click knows the command.

A wheel that is built while the folder is there has it (setup.py): `man` and shells find both.
"""

from __future__ import annotations

from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path
from typing import Final

import click

from gateway.cli.completion import script
from gateway.cli.main import NAME, commands

PLACES: Final = {
    "bash": f"share/bash-completion/completions/{NAME}",
    "fish": f"share/fish/vendor_completions.d/{NAME}.fish",
    "zsh": f"share/zsh/site-functions/_{NAME}",
}
MANUAL: Final = f"share/man/man1/{NAME}.1"
VERBATIM: Final = "\b"  # click's mark of a paragraph whose lines stay as they are


def write(root: Path, version: str) -> None:
    """All of share/, anew."""
    for path, text in {
        MANUAL: manual(version),
        **{place: script(shell) for shell, place in PLACES.items()},
    }.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def manual(version: str) -> str:
    """The page, in roff: what every command says of itself by --help."""
    top = click.Context(commands, info_name=NAME)
    lines = [
        f'.TH {_text(NAME.upper())} 1 "" "{NAME} {version}" "User Commands"',
        ".SH NAME",
        rf"{_text(NAME)} \- {_text(commands.get_short_help_str(200))}",
        ".SH SYNOPSIS",
        *_usage(top),
        ".SH DESCRIPTION",
        *_paragraphs(commands.help),
        ".SH OPTIONS",
        *_options(top),
        ".SH COMMANDS",
    ]
    for context in _below(top):
        lines.append(f".SS {_text(context.command_path)}")
        lines += [*_usage(context), *_paragraphs(context.command.help), *_options(context)]
        lines += _paragraphs(context.command.epilog)
    return "\n".join([*lines, ".SH NOTES", *_paragraphs(commands.epilog), ""])


def _below(context: click.Context) -> Iterator[click.Context]:
    """The commands below one, each before its own."""
    group = context.command
    if not isinstance(group, click.Group):
        return
    for name in sorted(group.list_commands(context)):
        command = group.get_command(context, name)
        assert command is not None, name
        if not command.hidden:
            below = click.Context(command, info_name=name, parent=context)
            yield below
            yield from _below(below)


def _usage(context: click.Context) -> list[str]:
    pieces = " ".join(context.command.collect_usage_pieces(context))
    return [rf"\fB{_text(context.command_path)}\fR {_text(pieces)}"]


def _options(context: click.Context) -> list[str]:
    """Each with what it does; `--help` is not among them: all have it."""
    lines = []
    for parameter in context.command.params:
        record = parameter.get_help_record(context)
        if record is not None and isinstance(parameter, click.Option):
            lines += [".TP", rf"\fB{_text(record[0])}\fR", _text(" ".join(record[1].split()))]
    return lines


def _paragraphs(words: str | None) -> list[str]:
    """What click would wrap is filled; the lines of what it would not stay."""
    lines: list[str] = []
    for paragraph in cleandoc(words or "").split("\n\n"):
        own = paragraph.splitlines()
        if VERBATIM in own:
            lines += [".PP", ".nf", *(_text(line) for line in own if line != VERBATIM), ".fi"]
        elif own:
            lines += [".PP", _text(" ".join(own))]
    return lines


def _text(words: str) -> str:
    r"""Words as roff takes them: `\` and `-` as themselves, and no line of them a request."""
    escaped = words.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped
