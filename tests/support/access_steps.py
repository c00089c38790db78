"""What somebody tries to do in the corpus of access rules, as a command of 0-10.

A step is a line: who, a verb, and its arguments; `""` is an empty one. What a verb leaves out is
given as `property=value`, such as `durable=true`, `alternate=amq.fanout` or `max_count=10`.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import yaml

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import INT64, STR16
from gateway.amqp_0_10.structs import write_header
from gateway.amqp_0_10.types import Command, FieldTable
from gateway.wire.tagged import Tagged

FOLDER = Path(__file__).parents[1] / "vectors" / "access"
FLAGS = ("durable", "exclusive", "auto_delete", "passive", "if_unused", "if_empty")


def corpus() -> list[dict[str, Any]]:  # Any: what YAML holds
    """The files, each with its name, rules, what is made before, and steps."""
    files: list[dict[str, Any]] = yaml.safe_load((FOLDER / "corpus.yaml").read_text())
    return files


class Step:
    """One line."""

    def __init__(self, line: str) -> None:
        user, self.verb, *words = shlex.split(line)
        self.user = user if "@" in user else f"{user}@QPID"
        self.given = [word for word in words if "=" not in word]
        self.options = dict(word.split("=", 1) for word in words if "=" in word)

    def header(self) -> bytes | None:
        """The header of a transfer."""
        if self.verb != "publish":
            return None
        return write_header(spec.DeliveryProperties(routing_key=self.given[1]), None)

    def command(self) -> Command | None:
        """What is sent; `None`: it is enough to connect."""
        if self.verb == "connect":
            return None
        if self.verb == "publish":
            return spec.MessageTransfer(destination=self.given[0])
        if self.verb in ("consume", "browse"):
            return spec.MessageSubscribe(
                queue=self.given[0], destination="d", acquire_mode=int(self.verb == "browse")
            )
        return self._topology()

    def _topology(self) -> Command:
        verb, given = self.verb, self.given
        if verb == "queue":
            return spec.QueueDeclare(queue=given[0], **self._declared())
        if verb == "exchange":
            return spec.ExchangeDeclare(exchange=given[0], type=given[1], **self._declared())
        plain: dict[str, Any] = {  # Any: each takes what it names
            "query-queue": lambda: spec.QueueQuery(queue=given[0]),
            "delete-queue": lambda: spec.QueueDelete(queue=given[0]),
            "purge": lambda: spec.QueuePurge(queue=given[0]),
            "query-exchange": lambda: spec.ExchangeQuery(name=given[0]),
            "delete-exchange": lambda: spec.ExchangeDelete(exchange=given[0]),
            "bind": lambda: spec.ExchangeBind(
                exchange=given[0], queue=given[1], binding_key=given[2]
            ),
            "unbind": lambda: spec.ExchangeUnbind(
                exchange=given[0], queue=given[1], binding_key=given[2]
            ),
            "bound": lambda: spec.ExchangeBound(
                exchange=given[0], queue=given[1], binding_key=given[2]
            ),
        }
        command: Command = plain[verb]()
        return command

    def _declared(self) -> dict[str, Any]:  # Any: the command's fields
        fields: dict[str, Any] = {
            key: value == "true" for key, value in self.options.items() if key in FLAGS
        }
        if "alternate" in self.options:
            fields["alternate_exchange"] = self.options["alternate"]
        arguments: FieldTable = []
        for key, value in self.options.items():
            if key not in FLAGS and key != "alternate":
                number = value.isdigit()
                tagged = Tagged(INT64, int(value)) if number else Tagged(STR16, value)
                arguments.append((f"qpid.{key}", tagged))
        if arguments:
            fields["arguments"] = arguments
        return fields
