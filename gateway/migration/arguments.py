"""What becomes of the arguments of one queue: as the gateway itself reads them.

The table is `faces.arguments.fates`, the judge who reads a declare, `faces.arguments.of_queues`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, final

from gateway.bridge.seams import QueueSettings
from gateway.config.topology import field_table
from gateway.faces.arguments.fates import FATES
from gateway.faces.arguments.of_queues import Asked
from gateway.migration.document import Arguments

UNKNOWN: Final = "nobody here knows it"
NOT_SCALAR: Final = "its value is neither a number nor a text, true nor false"
LEVEL: Final = re.compile(r"-\d+$")

TEXTS: Final = {name: text for names, (_, text) in FATES.items() for name in names.split(", ")}


@final
@dataclass(frozen=True, slots=True)
class Fates:
    """What becomes of the arguments of one queue.

    Attributes:
        done: those that have an effect, as they are written in a configuration.
        settings: what they come to.
        without_effect: the others, each with why.
        refused: why a declare with them is refused; "" if it is not.
    """

    done: dict[str, bool | int | str]
    settings: QueueSettings
    without_effect: dict[str, str] = field(default_factory=dict)
    refused: str = ""


def fates_of(arguments: Arguments) -> Fates:
    """What becomes of them."""
    given = known(arguments)
    settings = QueueSettings()
    asked = Asked(remote=False)
    refusal = asked.read(field_table(given)) or asked.apply(settings)
    ignored = [each.partition("=") for each in asked.ignored]
    without = {name: _why(name) for name, _, _ in ignored}
    without |= {name: f"{name}={value} is not known" for name, equals, value in ignored if equals}
    without |= {name: NOT_SCALAR for name in arguments if name not in given}
    return Fates(
        {name: value for name, value in given.items() if name not in without},
        settings,
        without,
        "" if refusal is None else refusal.description,
    )


def known(arguments: Arguments) -> dict[str, bool | int | str]:
    """Those that a configuration can have."""
    return {name: value for name, value in arguments.items() if isinstance(value, bool | int | str)}


def _why(name: str) -> str:
    text = TEXTS.get(name, TEXTS.get(LEVEL.sub("-N", name), UNKNOWN))
    return text or "it has no effect"
