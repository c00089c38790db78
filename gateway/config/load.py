"""The one loader: YAML to `Settings`, with every problem at once and the key path of each."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import yaml

from gateway.config.access import load_rules
from gateway.config.audit import audit_rules
from gateway.config.pods import dead_letter_rules, pod_rules
from gateway.config.raw import Problem, touches, validated
from gateway.config.remote_rules import profile_problems, remote_rules, unknown_upstream
from gateway.config.section import Section
from gateway.config.settings import Settings
from gateway.config.topology import queue_arguments, topology_rules
from gateway.config.upstreams import UpstreamSection
from gateway.errors import ConfigurationError
from gateway.files.whole import CONFIGURATION_MAX, expanded, is_file, read_whole
from gateway.files.yaml_text import load_yaml, said
from gateway.translate.profiles.loading import is_path
from gateway.wire.dns_names import dns_name

STORE = "store.sqlite"
LOG = "audit"
ENTRIES_MAX = {"nodes": 10_000, "upstreams": 1_000, "virtual_hosts": 1_000}
TOLD_MAX = 1_000
# Keys that name files.
OWN_FILES = ("users_file", "admin_token_file", "metrics_token_file")
ACCESS_FILES = ("file", "qpidd_file")
AUDIT_FILES = ("signing_key_file", "books", "book_keys_file", "archive_directory")
TLS_FILES = ("certificate", "key", "client_ca", "client_crl")
UPSTREAM_FILES = ("password_file", "token_file", "sas_key_file")
UPSTREAM_TLS_FILES = ("ca", "certificate", "key")


def load(path: pathlib.Path | None, changes: list[str] | None = None) -> Settings:
    """Read a configuration file (`None`: all defaults), single keys changed by ``key.path=value``.

    Raises:
        ConfigurationError: with every problem that was found.
    """
    raw = {} if path is None else read(path)
    for change in changes or []:
        apply(raw, change)
    base = pathlib.Path.cwd() if path is None else path.absolute().parent
    return settle(raw, base).read_from(None if path is None else path.absolute())


def read(path: pathlib.Path) -> dict[str, Any]:
    """The mapping in a YAML file; one that is being written may be empty, and means nothing."""
    try:
        octets = read_whole(path, CONFIGURATION_MAX)
        raw = load_yaml(octets)
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
        place[keys[-1]] = load_yaml(value)
    except yaml.YAMLError as error:
        raise ConfigurationError([(path, said(error))]) from None


def settle(raw: dict[str, Any], base: pathlib.Path) -> Settings:
    """Validate a raw mapping; relative paths are taken from `base`.

    What one key breaks must not hide what another one breaks: keys with problems are set aside, and
    the rules that span several keys are checked on what is left, except where they read such a key.
    """
    _refuse_too_many(raw)
    settings, problems = validated(Settings, raw)
    broken = [path for path, _text in problems]
    settings = _where_its_data_is(anchor(settings, base))
    problems += [(reads[0], text) for reads, text in rules(settings) if not touches(broken, reads)]
    for more in (
        _unknown_upstreams(raw),
        _unknown_profiles(raw, base),
        _missing_files(raw, base),
        queue_arguments(raw.get("virtual_hosts")),
    ):
        known = set(problems)
        problems += [each for each in more if each not in known]
    if problems:
        problems += _of_access_rules(settings)
        left = len(problems) - TOLD_MAX
        raise ConfigurationError(
            problems if left <= 0 else [*problems[:TOLD_MAX], ("", f"and {left} more problems")]
        )
    return settings


def _refuse_too_many(raw: dict[str, Any]) -> None:
    """Rules are compared with one another, which lasts: it is not begun with very many."""
    problems = [
        (key, f"has {len(raw[key])} entries; {most} are the most there may be")
        for key, most in ENTRIES_MAX.items()
        if isinstance(raw.get(key), list | dict) and len(raw[key]) > most
    ]
    if problems:
        raise ConfigurationError(problems)


def _missing_files(raw: dict[str, Any], base: pathlib.Path) -> Iterator[Problem]:
    """Of sections that were set aside, too: what they name is there, or is not."""
    for path, file in _named_files(raw):
        named = base / expanded(pathlib.Path(file))
        if not is_file(named):
            yield path, f"there is no file {named}"


def _named_files(raw: dict[str, Any]) -> Iterator[Problem]:
    """Key paths, and the files that they name."""
    upstreams = raw.get("upstreams")
    sections: list[tuple[str, Any, tuple[str, ...]]] = [
        ("", raw, OWN_FILES),
        ("access.", raw.get("access"), ACCESS_FILES),
        ("tls.", raw.get("tls"), TLS_FILES),
    ]
    for name, upstream in (upstreams if isinstance(upstreams, dict) else {}).items():
        if isinstance(upstream, dict):
            path = f"upstreams.{name}."
            sections.append((path, upstream, UPSTREAM_FILES))
            sections.append((f"{path}tls.", upstream.get("tls"), UPSTREAM_TLS_FILES))
    for path, section, keys in sections:
        if isinstance(section, dict):
            yield from (
                (path + key, section[key]) for key in keys if isinstance(section.get(key), str)
            )


def _of_access_rules(settings: Settings) -> list[Problem]:
    """What is wrong within the file of access rules, if it can be read at all."""
    file = settings.access.file or settings.access.qpidd_file
    if file is None or not is_file(file):
        return []
    try:
        load_rules(settings)
    except ConfigurationError as error:
        return error.problems
    return []


def anchor(settings: Settings, base: pathlib.Path) -> Settings:
    """The same settings with every path absolute."""
    access = _absolute(settings.access, ACCESS_FILES, base)
    changes = _absolute(settings, ("data_directory", "former_data_directory", *OWN_FILES), base)
    changes["access"] = settings.access.model_copy(update=access)
    audit = _absolute(settings.audit, AUDIT_FILES, base)
    changes["audit"] = settings.audit.model_copy(update=audit)
    if settings.tls is not None:
        files = _absolute(settings.tls, TLS_FILES, base)
        changes["tls"] = settings.tls.model_copy(update=files)
    if settings.gssapi is not None:
        files = _absolute(settings.gssapi, ("keytab",), base)
        changes["gssapi"] = settings.gssapi.model_copy(update=files)
    changes["upstreams"] = {
        name: _anchored(upstream, base) for name, upstream in settings.upstreams.items()
    }
    return settings.model_copy(update=changes)


def _where_its_data_is(settings: Settings) -> Settings:
    """The same, with the data directory in which there is something."""
    former = settings.former_data_directory
    if former is None or is_file(settings.data_directory / STORE):
        return settings
    if not is_file(former / STORE):
        return settings
    return settings.model_copy(update={"data_directory": former})


def _anchored(upstream: UpstreamSection, base: pathlib.Path) -> UpstreamSection:
    changes = _absolute(upstream, UPSTREAM_FILES, base)
    changes["profile"] = _profile(upstream.profile, base)
    if upstream.tls is not None:
        files = _absolute(upstream.tls, UPSTREAM_TLS_FILES, base)
        changes["tls"] = upstream.tls.model_copy(update=files)
    return upstream.model_copy(update=changes)


def _absolute(section: Section, keys: tuple[str, ...], base: pathlib.Path) -> dict[str, Any]:
    # Any: what `model_copy` is given
    return {
        key: base / expanded(path) for key in keys if (path := getattr(section, key)) is not None
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
    hostnames = [dns_name(each) for host in settings.virtual_hosts for each in host.hostnames]
    if len(set(hostnames)) < len(hostnames):
        yield ["virtual_hosts"], "one hostname means two virtual hosts"
    if settings.legacy_mechanisms and settings.users_file is None:
        yield ["legacy_mechanisms", "users_file"], "needs users_file"
    for name in settings.elsewhere:
        if name not in names:
            yield [f"elsewhere.{name}", "virtual_hosts"], "there is no virtual host of that name"
    yield from topology_rules(settings)
    yield from audit_rules(settings.audit, settings.data_directory / LOG)
    yield from remote_rules(settings)
    yield from dead_letter_rules(settings)
    yield from pod_rules(settings)


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
    if settings.users_file is None and settings.gssapi is None and settings.anonymous is not True:
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
    others = settings.gssapi is not None or (tls is not None and tls.client_ca is not None)
    if not settings.anonymous_allowed and settings.users_file is None and not others:
        yield (
            ["anonymous", "users_file", "tls"],
            "nobody could connect: set users_file, gssapi or tls.client_ca, or allow anonymous",
        )


def _files(settings: Settings) -> Iterator[tuple[list[str], str]]:
    files = {
        "users_file": settings.users_file,
        "admin_token_file": settings.admin_token_file,
        "access.file": settings.access.file,
        "access.qpidd_file": settings.access.qpidd_file,
        "metrics_token_file": settings.metrics_token_file,
        "gssapi.keytab": None if settings.gssapi is None else settings.gssapi.keytab,
    }
    if settings.tls is not None:
        files |= {f"tls.{name}": getattr(settings.tls, name) for name in ("certificate", "key")}
        files["tls.client_ca"] = settings.tls.client_ca
        files["tls.client_crl"] = settings.tls.client_crl
    if settings.access.file is not None and settings.access.qpidd_file is not None:
        yield ["access.qpidd_file", "access.file"], "either this or access.file"
    for path, file in files.items():
        if file is not None and not is_file(file):
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


def _unknown_profiles(raw: dict[str, Any], base: pathlib.Path) -> Iterator[Problem]:
    """Of upstreams that were set aside, too: what they are said to be is known, or is not."""
    upstreams = raw.get("upstreams")
    for name, upstream in (upstreams if isinstance(upstreams, dict) else {}).items():
        profile = upstream.get("profile") if isinstance(upstream, dict) else None
        if isinstance(profile, str):
            named = _profile(profile, base)
            yield from ((f"upstreams.{name}.profile", text) for text in profile_problems(named))


def _profile(named: str, base: pathlib.Path) -> str:
    return str(base / expanded(pathlib.Path(named))) if is_path(named) else named
