"""What was written against what a section takes: every problem at once, with its key path."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

import pydantic

from gateway.config.section import Section
from gateway.errors import ConfigurationError

Problem = tuple[str, str]
Model = TypeVar("Model", bound=Section)


def validated(model: type[Model], raw: dict[str, Any]) -> tuple[Model, list[Problem]]:
    """A section of what is right in `raw`, and what is wrong.

    Keys with problems are set aside, so that what one breaks does not hide what another does.

    Raises:
        ConfigurationError: without a key of its own that is wrong, or missing, there is no section.
    """
    problems: list[Problem] = []
    rest = copy.deepcopy(raw)
    while True:
        try:
            return model.model_validate(rest), problems
        except pydantic.ValidationError as error:
            errors = error.errors(include_url=False)
            told = list(dict.fromkeys([problem_of(found["loc"], found) for found in errors]))
            broken = [path for path, _text in problems]
            # What is set aside does not make what it stood in a problem, too.
            problems += [
                each for each in told if each[0] not in broken and not _within(broken, each[0])
            ]
            if any(found["type"] == "missing" and len(found["loc"]) == 1 for found in errors):
                raise ConfigurationError(problems) from None
            for found in reversed(errors):  # so that the items of a list keep their numbers
                _remove(rest, found["loc"], found["type"] == "missing")


def _within(broken: list[str], path: str) -> bool:
    return any(each.startswith(path + ".") for each in broken)


def touches(broken: list[str], reads: list[str]) -> bool:
    """Whether one of the key paths is, or has in it, or is within, one of the others."""
    return any(
        path == read or path.startswith(read + ".") or read.startswith(path + ".")
        for path in broken
        for read in reads
    )


NO_TEXT = "[key]"  # what pydantic calls it
SAID_OTHERWISE = {
    "extra_forbidden": "there is no such key",
    "missing": "must be set",
    "model_type": "must be a mapping of keys",
    "string_too_short": "must not be empty",
    "too_short": "must not be empty",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
}


def problem_of(location: tuple[int | str, ...], found: Any) -> Problem:
    """What pydantic found, in the gateway's words."""
    # Any: pydantic's ErrorDetails, whose ctx differs by type of error.
    if location[-1:] == (NO_TEXT,):  # "no" and "1" are none, in YAML
        told = f"has the key {found['input']!r}, which is no text: put it in quotes"
        return ".".join(map(str, location[:-2])), told
    if location[-3:-2] == ("arguments",):  # of a value, which may be of several types
        return ".".join(map(str, location[:-1])), "must be true, false, a whole number or a text"
    text = str(found["msg"]).replace("Input should", "must", 1)
    if found["type"] == "value_error":
        text = str(found["ctx"]["error"])
    return ".".join(map(str, location)), SAID_OTHERWISE.get(found["type"], text)


def _remove(raw: dict[str, Any], location: tuple[int | str, ...], missing: bool) -> None:
    """Take out the key at `location`; the mapping around a missing one.

    Of a list a plain item. An item of a list of mappings stays, as their numbers matter: only its
    key goes, or else the whole list.
    """
    if location[-1] == NO_TEXT:
        _remove_keys(raw, location[:-2])
        return
    path = [*location[:-1]] if missing and len(location) > 1 else [*location]
    place: Any = raw
    for at, part in enumerate(path[:-1]):
        inner = place.get(part)
        item = path[at + 1]
        if isinstance(inner, list) and isinstance(item, int):
            if not _mappings(inner):
                del inner[item]
                return
            if at + 2 < len(path) and isinstance(inner[item], dict):
                _remove(inner[item], tuple(path[at + 2 :]), missing=False)
                return
        if not isinstance(inner, dict):
            path = path[: at + 1]
            break
        place = inner
    place.pop(path[-1], None)


def _remove_keys(raw: dict[str, Any], location: tuple[int | str, ...]) -> None:
    """Take out what is no text of the keys of the mapping at `location`, if it is still there."""
    place: Any = raw
    for part in location:
        inside = isinstance(place, list) and isinstance(part, int) and part < len(place)
        place = place[part] if inside or (isinstance(place, dict) and part in place) else None
    for key in [each for each in place or {} if not isinstance(each, str)]:
        del place[key]


def _mappings(items: list[Any]) -> bool:
    return any(isinstance(each, dict) for each in items)
