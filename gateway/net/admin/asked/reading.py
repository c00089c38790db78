"""The body of a request to the admin port: a JSON object, and the values of its keys."""

from __future__ import annotations

import json
from typing import Any, Final

from twisted.web.http import Request

from gateway.errors import ConfigurationError
from gateway.net.admin.channel import BODY_MAX

KEY_TOLD: Final = 80  # characters
Answer = dict[str, Any]  # Any: what JSON holds


def command_of(request: Request) -> str:
    """The last word of its path."""
    return bytes(request.path).decode("ascii", "replace").removeprefix("/ctl/")


def asked_in(request: Request) -> Answer:
    """The object that its body is.

    Raises:
        ConfigurationError: it is none, or too long, or has text that is not Unicode.
    """
    assert request.content is not None
    body = request.content.read(BODY_MAX + 1)
    if len(body) > BODY_MAX:
        raise ConfigurationError([("", f"the body is longer than {BODY_MAX} octets")])
    try:
        asked = json.loads(body or b"{}", object_pairs_hook=_object, parse_constant=_no_number)
        json.dumps(asked, ensure_ascii=False).encode("utf-8")
    except UnicodeError:
        raise ConfigurationError([("", "the body has text that is not Unicode")]) from None
    except (ValueError, RecursionError):
        asked = None
    if not isinstance(asked, dict):
        raise ConfigurationError([("", "the body must be a JSON object")])
    return asked


def in_words(command: str, asked: Answer) -> str:
    """What is asked for, as the log tells it."""
    given = [
        asked.get(key)
        for key in (
            *("node", "upstream", "connection", "queue", "user", "directory", "segment"),
            *("branch", "decision", "session", "from", "to", "move"),
        )
    ]
    plain = [each for each in given if isinstance(each, (str, int))]
    return " ".join([command, *(repr(each)[:80] for each in plain)])


def text_of(asked: Answer, key: str, otherwise: str | None = None) -> str:
    """Raises ConfigurationError: it is no text; it is empty, or not there, with no `otherwise`."""
    value = asked.get(key, otherwise)
    if not isinstance(value, str) or (not value and otherwise is None):
        raise ConfigurationError([(key, "must be given, as a string")])
    return value


def number_of(asked: Answer, key: str, otherwise: int | None = None) -> int:
    """Raises ConfigurationError: it is no whole number, or not there, with no `otherwise`."""
    value = asked.get(key, otherwise)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ConfigurationError([(key, "must be given, as a number")])
    return value


def flag_of(asked: Answer, key: str) -> bool:
    """False where it is not there; raises ConfigurationError: it is neither true nor false."""
    value = asked.get(key, False)
    if not isinstance(value, bool):
        raise ConfigurationError([(key, "must be true or false")])
    return value


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Of two values by one key nobody knows which is meant."""
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _value in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        told = twice[:KEY_TOLD].encode("utf-8", "replace").decode()
        raise ConfigurationError([(told, "is given twice")])
    return made


def _no_number(name: str) -> object:
    raise ValueError(f"{name} is no number of JSON")
