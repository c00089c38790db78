"""`completion`: what a shell reads to complete the command's words."""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import get_completion_class

from gateway.cli.main import NAME, commands

SHELLS: Final = ("bash", "fish", "zsh")
# By this a shell asks the command itself what may come next; click has it so.
VARIABLE: Final = f"_{NAME.replace('-', '_').upper()}_COMPLETE"

EXAMPLES = """
\b
Examples:
  source <(amqp-gateway completion bash)
  amqp-gateway completion zsh > ~/.zfunc/_amqp-gateway
  amqp-gateway completion fish > ~/.config/fish/completions/amqp-gateway.fish
"""


def script(shell: str) -> str:
    """What this shell is to read."""
    kind = get_completion_class(shell)
    assert kind is not None, shell
    return kind(commands, {}, NAME, VARIABLE).source()


@click.command(epilog=EXAMPLES)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print what makes SHELL complete commands, options and their values."""
    click.echo(script(shell))
