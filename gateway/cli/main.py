"""The command itself: its commands, its version, and errors as one line with an exit code."""

from __future__ import annotations

import errno
import gc
import importlib
import io
import os
import sys
from types import ModuleType
from typing import Any, Final, NoReturn

import click
from click.shell_completion import CompletionItem

from gateway import __version__
from gateway.errors import ConfigurationError, GatewayError, UnknownStoreError
from gateway.service.form import form

NAME: Final = "amqp-gateway"

EPILOG = """
\b
Exit codes:
  0  done
  1  it cannot be done, or the answer is no
  2  wrong arguments, or a wrong configuration
  3  audit verify, store check, check --may: it cannot be told;
     reconcile, audit compare: it could not be run
  4  --require-final of these two: balanced, or all matching, but only so far
"""

# A command's module here, which is imported when it is asked for: most need little of the gateway,
# and all of it takes longer to import than they take to work.
MODULES: Final = {
    "audit": "audit",
    "backup": "backup",
    "check": "run",
    "completion": "completion",
    "ctl": "ctl",
    "demo": "demo",
    "migrate": "migrate",
    "receive": "messages",
    "reconcile": "audit",
    "send": "messages",
    "serve": "run",
    "store": "store_moves",
    "user": "users",
}


class Commands(click.Group):
    """Turns the gateway's own errors into a line on standard error and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        return list(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One of them, or None."""
        if cmd_name not in MODULES:
            return None
        command: click.Command = getattr(imported(f"gateway.cli.{MODULES[cmd_name]}"), cmd_name)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """What may follow: names of commands, for which none of them is imported, and options."""
        names = [CompletionItem(name) for name in MODULES if name.startswith(incomplete)]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    def main(self, *args: Any, **extra: Any) -> Any:  # Any: as click has it
        """Parse and run; the names of files are shown, whatever octets they are."""
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")
        return super().main(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:  # Any: as click has it
        """Run the command."""
        try:
            return super().invoke(ctx)
        except ConfigurationError as error:
            for path, problem in error.problems:
                told = f"{click.style(path, bold=True)}: {problem}" if path else problem
                click.echo(told, err=True)
            ctx.exit(2)
        except GatewayError as error:
            click.echo(f"amqp-gateway: {error}", err=True)
            ctx.exit(2 if isinstance(error, UnknownStoreError) else 1)
        except KeyboardInterrupt:  # most likely while its module is imported
            sys.exit("amqp-gateway: interrupted")


def imported(name: str) -> ModuleType:
    """A module, with all that it imports. Nothing of that goes, so the collector looks at none."""
    if name in sys.modules:
        return sys.modules[name]
    gc.disable()
    try:
        return importlib.import_module(name)
    finally:
        gc.freeze()
        gc.enable()


@click.group(
    cls=Commands,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message=f"amqp-gateway %(version)s ({form()})")
def commands() -> None:
    """A gateway between AMQP 0-10 and AMQP 1.0, every message accounted for.

    \b
    Examples:
      amqp-gateway demo
      amqp-gateway serve
      amqp-gateway check --config gateway.yaml
      amqp-gateway send --protocol 0-10 --to amq.topic/news.de --body "Guten Tag"
      amqp-gateway receive --protocol 1.0 --from orders --count 10
    """


def main() -> NoReturn:
    """The entry point of the command."""
    try:
        commands(prog_name=NAME)
    except OSError as error:
        where = "the output" if error.filename is None else error.filename
        told = " cannot be written" if error.errno == errno.ENOSPC else ""
        print(f"amqp-gateway: {where}{told}: {error.strerror or error}", file=sys.stderr)
        # What is left of it is not tried again when the process ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    raise AssertionError("click ends the process")
