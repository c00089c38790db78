"""`migrate`: from a 0-10 broker to the gateway, one command for each step.

survey    `migrate survey`: what is there
plan      `migrate plan`: what is to be configured, and made
move      `migrate move`: what queues hold, from broker to broker
shadow    `migrate shadow`: what is published goes to the new broker, too
"""

from __future__ import annotations

import importlib
from typing import Final

import click

MODULES: Final = {"survey": "survey", "plan": "plan", "shadow": "shadow", "move": "move"}


class Steps(click.Group):
    """Imports a step when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names, in their order."""
        return list(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One of them, or None."""
        if cmd_name not in MODULES:
            return None
        module = importlib.import_module(f"gateway.cli.migrate.{MODULES[cmd_name]}")
        command: click.Command = getattr(module, cmd_name)
        return command


@click.group(cls=Steps)
def migrate() -> None:
    """Move from a qpidd or a Broker-J to the gateway, step by step.

    \b
    Examples:
      amqp-gateway migrate survey --host old.example --user admin --acl qpidd.acl
    """
