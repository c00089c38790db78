"""The one loader: YAML to `Settings`, with every problem at once and the key path of each."""

from __future__ import annotations

import copy
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import pydantic
import yaml

from gateway.config.remote_rules import remote_rules, unknown_upstream
from gateway.config.section import Section
from gateway.config.settings import Settings
from gateway.config.upstreams import UpstreamSection
from gateway.errors import ConfigurationError
from gateway.translate.profiles.loading import is_path

STORE = "store.sqlite"
Problem = tuple[str, str]


class Loader(yaml.SafeLoader):
    """YAML where a key that stands twice in one mapping is a problem, not a silent choice."""


def _mapping(loader: Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: set[str] = set()
    for key, _value in node.value:
        if key.value in seen:
            line = key.start_mark.line + 1
            raise ConfigurationError([(str(key.value), f"stands twice (line {line})")])
        seen.add(key.value)
    return loader.construct_mapping(node, deep=True)


Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def load(path: pathlib.Path | None, changes: list[str] | None = None) -> Settings:
    """Read a configuration file (`None`: all defaults), single keys changed by ``key.path=value``.

    Raises:
        ConfigurationError: with every problem that was found.
    """
    raw = {} if path is None else read(path)
    for change in changes or []:
        apply(raw, change)
    base = pathlib.Path.cwd() if path is None else path.absolute().parent
    return settle(raw, base)


def read(path: pathlib.Path) -> dict[str, Any]:
    """The mapping in a YAML file; one that is being written may be empty, and means nothing."""
    try:
        octets = path.read_bytes()
        raw = yaml.load(octets, Loader)
    except OSError as error:
        raise ConfigurationError([(str(path), error.strerror or str(error))]) from None
    except yaml.YAMLError as error:
        raise ConfigurationError([(str(path), said(error))]) from None
    if not octets.strip():
        raise ConfigurationError([(str(path), "is empty: for the defaults, write so in a comment")])
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        raise ConfigurationError([(str(path), "must be a mapping of keys")])
    return raw


def apply(raw: dict[str, Any], change: str) -> None:
    """Carry out one ``key.path=value``; the value is YAML."""
    path, equals, value = change.partition("=")
    keys = path.split(".")
    if not equals or not all(keys):
        raise ConfigurationError([(change, 'must be a key path and a value, "limits.links=64"')])
    place = raw
    for key in keys[:-1]:
        if not isinstance(place.get(key), dict):
            place[key] = {}
        place = place[key]
    try:
        place[keys[-1]] = yaml.load(value, Loader)
    except yaml.YAMLError as error:
        raise ConfigurationError([(path, said(error))]) from None


def said(error: yaml.YAMLError) -> str:
    """In one line, without the parser's names for what it reads and its mark under the place."""
    text = re.sub(r' in "<(byte|unicode) string>",', " at", str(error))
    return " ".join(re.sub(r"\^\s*$", "", text, flags=re.MULTILINE).split())


def settle(raw: dict[str, Any], base: pathlib.Path) -> Settings:
    """Validate a raw mapping; relative paths are taken from `base`.

    What one key breaks must not hide what another one breaks: keys with problems are set aside, and
    the rules that span several keys are checked on what is left, except where they read such a key.
    """
    problems: list[Problem] = []
    rest = copy.deepcopy(raw)
    while True:
        try:
            settings = Settings.model_validate(rest)
            break
        except pydantic.ValidationError as error:
            errors = error.errors(include_url=False)
            told = [problem_of(found["loc"], found) for found in errors]
            broken = [path for path, _text in problems]
            # What is set aside does not make what it stood in a problem, too.
            problems += [
                each for each in told if each[0] not in broken and not _within(broken, each[0])
            ]
            for found in reversed(errors):  # so that the items of a list keep their numbers
                _remove(rest, found["loc"], found["type"] == "missing")
    broken = [path for path, _text in problems]
    settings = _where_its_data_is(anchor(settings, base))
    problems += [(reads[0], text) for reads, text in rules(settings) if not _touches(broken, reads)]
    problems += [each for each in _unknown_upstreams(raw) if each not in problems]
    if problems:
        raise ConfigurationError(problems)
    return settings


def anchor(settings: Settings, base: pathlib.Path) -> Settings:
    """The same settings with every path absolute."""
    access = _absolute(settings.access, ("file", "qpidd_file"), base)
    changes = _absolute(
        settings,
        (
            "data_directory",
            "former_data_directory",
            "users_file",
            "admin_token_file",
            "metrics_token_file",
        ),
        base,
    )
    changes["access"] = settings.access.model_copy(update=access)
    if settings.tls is not None:
        files = _absolute(settings.tls, ("certificate", "key", "client_ca", "client_crl"), base)
        changes["tls"] = settings.tls.model_copy(update=files)
    changes["upstreams"] = {
        name: _anchored(upstream, base) for name, upstream in settings.upstreams.items()
    }
    return settings.model_copy(update=changes)


def _where_its_data_is(settings: Settings) -> Settings:
    """The same, with the data directory in which there is something."""
    former = settings.former_data_directory
    if former is None or (settings.data_directory / STORE).exists():
        return settings
    if not (former / STORE).exists():
        return settings
    return settings.model_copy(update={"data_directory": former})


def _anchored(upstream: UpstreamSection, base: pathlib.Path) -> UpstreamSection:
    changes = _absolute(upstream, ("password_file", "token_file", "sas_key_file"), base)
    if is_path(upstream.profile):
        changes["profile"] = str(base / pathlib.Path(upstream.profile).expanduser())
    if upstream.tls is not None:
        files = _absolute(upstream.tls, ("ca", "certificate", "key"), base)
        changes["tls"] = upstream.tls.model_copy(update=files)
    return upstream.model_copy(update=changes)


def _absolute(section: Section, keys: tuple[str, ...], base: pathlib.Path) -> dict[str, Any]:
    # Any: what `model_copy` is given
    return {
        key: base / path.expanduser() for key in keys if (path := getattr(section, key)) is not None
    }


def rules(settings: Settings) -> Iterator[tuple[list[str], str]]:
    """The rules that span keys: which keys they read, the one to blame first, and what is wrong."""
    yield from _listening(settings)
    yield from _identities(settings)
    yield from _files(settings)
    limits = settings.limits
    if limits.heartbeat_minimum > limits.heartbeat:
        yield (
            ["limits.heartbeat_minimum", "limits.heartbeat"],
            "must not be above limits.heartbeat",
        )
    for unit in ("size", "messages"):
        low, high, most = (f"queues.{unit}_{mark}" for mark in ("low", "high", "max"))
        values = [getattr(settings.queues, path.partition(".")[2]) for path in (low, high, most)]
        if values[0] > values[1]:
            yield [low, high], f"must not be above {high}"
        if values[1] > values[2]:
            yield [high, most], f"must not be above {most}"
    names = [host.name for host in settings.virtual_hosts]
    if len(set(names)) < len(names):
        yield ["virtual_hosts"], "two virtual hosts have the same name"
    hostnames = [each for host in settings.virtual_hosts for each in host.hostnames]
    if len(set(hostnames)) < len(hostnames):
        yield ["virtual_hosts"], "one hostname means two virtual hosts"
    yield from remote_rules(settings)


def _listening(settings: Settings) -> Iterator[tuple[list[str], str]]:
    listen = settings.listen
    if listen.amqp is None and listen.amqps is None:
        yield ["listen.amqp", "listen.amqps"], "nothing to listen on: set it or listen.amqps"
    if settings.admin_tls and settings.tls is None:
        yield ["admin_tls", "tls"], "needs tls.certificate and tls.key"
    if settings.tls is not None and settings.tls.client_crl and not settings.tls.client_ca:
        yield ["tls.client_crl", "tls.client_ca"], "needs tls.client_ca"
    if listen.amqps is not None and settings.tls is None:
        yield ["listen.amqps", "tls"], "needs tls.certificate and tls.key"
    for name in listen.proxy_protocol:
        if (listen.amqp if name == "amqp" else listen.amqps) is None:
            yield ["listen.proxy_protocol", f"listen.{name}"], f"there is no listen.{name}"
    given = {"listen.amqp": listen.amqp, "listen.amqps": listen.amqps, "admin": settings.admin}
    taken: dict[object, str] = {}
    for path, where in given.items():
        if where is None or where.port == 0:
            continue
        if where in taken:
            yield [path, taken[where]], f"is the address of {taken[where]}, too"
        taken.setdefault(where, path)
    if settings.users_file is None and settings.anonymous is not True:
        for path, where in given.items():
            if where is not None and not where.loopback and not _certified(settings, path):
                yield (
                    [path, "users_file", "anonymous", "tls"],
                    f"{where.host} can be reached from other machines: set users_file, or say"
                    " anonymous: true",
                )


def _certified(settings: Settings, path: str) -> bool:
    """Whether a port lets in only clients with a verified certificate, or no AMQP clients."""
    required = settings.tls is not None and settings.tls.require_client_certificate
    return required and path in ("listen.amqps", "admin")


def _identities(settings: Settings) -> Iterator[tuple[list[str], str]]:
    tls = settings.tls
    if tls is not None and tls.require_client_certificate and tls.client_ca is None:
        yield ["tls.require_client_certificate", "tls.client_ca"], "needs tls.client_ca"
    certificates = tls is not None and tls.client_ca is not None
    if not settings.anonymous_allowed and settings.users_file is None and not certificates:
        yield (
            ["anonymous", "users_file", "tls"],
            "nobody could connect: set users_file or tls.client_ca, or allow anonymous",
        )


def _files(settings: Settings) -> Iterator[tuple[list[str], str]]:
    files = {
        "users_file": settings.users_file,
        "admin_token_file": settings.admin_token_file,
        "access.file": settings.access.file,
        "access.qpidd_file": settings.access.qpidd_file,
        "metrics_token_file": settings.metrics_token_file,
    }
    if settings.tls is not None:
        files |= {f"tls.{name}": getattr(settings.tls, name) for name in ("certificate", "key")}
        files["tls.client_ca"] = settings.tls.client_ca
        files["tls.client_crl"] = settings.tls.client_crl
    if settings.access.file is not None and settings.access.qpidd_file is not None:
        yield ["access.qpidd_file", "access.file"], "either this or access.file"
    for path, file in files.items():
        if file is not None and not file.is_file():
            yield [path], f"there is no file {file}"


def _unknown_upstreams(raw: dict[str, Any]) -> Iterator[Problem]:
    """Of rules that were set aside with their list, too: what is named is there, or is not."""
    nodes, upstreams = raw.get("nodes"), raw.get("upstreams", {})
    if not isinstance(nodes, list) or not isinstance(upstreams or {}, dict):
        return
    for at, node in enumerate(nodes):
        name = node.get("upstream") if isinstance(node, dict) else None
        if isinstance(name, str) and name not in (upstreams or {}):
            yield f"nodes.{at}.upstream", unknown_upstream(name)


def _within(broken: list[str], path: str) -> bool:
    return any(each.startswith(path + ".") for each in broken)


def _touches(broken: list[str], reads: list[str]) -> bool:
    return any(
        path == read or path.startswith(read + ".") or read.startswith(path + ".")
        for path in broken
        for read in reads
    )


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
    text = str(found["msg"]).replace("Input should", "must", 1)
    if found["type"] == "value_error":
        text = str(found["ctx"]["error"])
    return ".".join(map(str, location)), SAID_OTHERWISE.get(found["type"], text)


def _remove(raw: dict[str, Any], location: tuple[int | str, ...], missing: bool) -> None:
    """Take out the key at `location`; the mapping around a missing one.

    Of a list a plain item. An item of a list of mappings stays, as their numbers matter: only its
    key goes, or else the whole list.
    """
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


def _mappings(items: list[Any]) -> bool:
    return any(isinstance(each, dict) for each in items)
