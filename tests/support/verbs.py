"""The command line, in the process of the test."""

from __future__ import annotations

from click.testing import CliRunner, Result

from gateway.cli.main import commands


def amqp_gateway(*arguments: str, given: str | bytes | None = None) -> Result:
    """What `amqp-gateway` with these arguments came to; `given`: on its standard input."""
    return CliRunner().invoke(commands, list(arguments), input=given)
