"""Access rules from their file: the gateway's own, in YAML, or a qpidd's ACL file.

Every problem at once, with its key path or its line; what an ACL file says without effect here is
told, and what it denies must have one.
"""

from __future__ import annotations

import hashlib
import pathlib
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

import yaml
from pydantic import BeforeValidator, Field

from gateway.config.raw import touches, validated
from gateway.config.section import Section
from gateway.config.settings import Settings
from gateway.errors import ConfigurationError
from gateway.files.whole import CONFIGURATION_MAX, read_regular
from gateway.files.yaml_text import load_marked, said
from gateway.permissions.actions import ACTION_NAMES
from gateway.permissions.asked import NO, UNKNOWN, YES
from gateway.permissions.hosts import Hosts, network
from gateway.permissions.own_rules import OwnRule, OwnRules
from gateway.permissions.qpidd_rules import QpiddRules
from gateway.permissions.rules import AccessRules, Decision

ALL: Final = "all"
# Those that a rule can name; who may do anything with a node may ask about it.
ActionName = Literal[
    "all",
    "connect",
    "publish",
    "consume",
    "browse",
    "create",
    "delete",
    "bind",
    "unbind",
    "purge",
    "manage",
    "decide",
]


def _listed(given: object) -> object:
    """One is as good as a list of one."""
    return [given] if isinstance(given, str) else given


Actions = Annotated[list[ActionName], Field(min_length=1), BeforeValidator(_listed)]
Names = Annotated[list[str], Field(min_length=1), BeforeValidator(_listed)]
# Of which rules cannot know what their object is like.
_HAVE_NONE: Final = frozenset(("connect", "bind", "unbind", "manage", "decide"))
_OWN_NONE: Final = frozenset(("connect", "manage", "decide"))


class AccessRule(Section):
    """One rule; the first that fits decides. What a rule does not name does not matter to it."""

    allow: Actions | None = None
    """What it allows: an action, a list of them, or `all`. Either this or `deny`."""
    deny: Actions | None = None
    """What it denies."""
    users: Names | None = None
    """For these users."""
    groups: Names | None = None
    """For the members of these groups."""
    virtual_hosts: Names | None = None
    """In these virtual hosts; `*` stands for any run of characters."""
    addresses: Names | None = None
    """For clients from these addresses or networks, as in 10.0.0.0/8."""
    queue: str | None = None
    """A queue of this name; `*` stands for any run of characters, `${user}` for the user."""
    exchange: str | None = None
    """An exchange of this name, in the same way."""
    key: str | None = None
    """To publish, bind and unbind by this key: words between dots, `*` for one, `#` for any."""
    durable: bool | None = None
    """A queue or exchange that is kept over a restart, or is not."""
    exclusive: bool | None = None
    """A queue that is declared for one session, or is not."""
    temporary: bool | None = None
    """A queue or exchange that goes with its client or its last consumer, or does not."""
    own: bool | None = None
    """A queue or exchange that this user, or this connection, has made; to bind: the queue."""
    login: bool | None = None
    """For clients that have logged in, or for those that have not, which are no users."""
    log: bool = False
    """Have the log tell each time that it decides."""


class AccessFile(Section):
    """The whole file."""

    groups: dict[str, Names] = Field(default_factory=dict)
    """Members of each group: users."""
    rules: list[AccessRule] = Field(default_factory=list)
    """In the order in which they are tried."""


@dataclass(frozen=True, slots=True)
class LoadedRules:
    """What a file comes to.

    Attributes:
        rules: `None`: there is no file, and everybody may everything.
        file: where they stand.
        notes: what of an ACL file has no effect, a line each.
        digest: of the file, to see whether it has changed.
        count: how many rules.
    """

    rules: AccessRules | None = None
    file: pathlib.Path | None = None
    notes: tuple[str, ...] = ()
    digest: str = ""
    count: int = 0


def load_rules(settings: Settings) -> LoadedRules:
    """The access rules that the settings name. Raises ConfigurationError."""
    access = settings.access
    if access.file is not None:
        return _own(access.file, [host.name for host in settings.virtual_hosts])
    if access.qpidd_file is not None:
        return _qpidd(access.qpidd_file, access.qpidd_realm)
    return LoadedRules()


def _read(path: pathlib.Path) -> tuple[str, str]:
    """A file's text and its digest."""
    try:
        octets = read_regular(path, CONFIGURATION_MAX)
    except OSError as error:
        raise ConfigurationError([(str(path), error.strerror or str(error))]) from None
    try:
        text = octets.decode("utf-8")
    except UnicodeDecodeError:
        raise ConfigurationError([(str(path), "is no UTF-8 text")]) from None
    if not text.strip():  # as a file is that is being written
        raise ConfigurationError([(str(path), "is empty: for no rules, write so in a comment")])
    return text, hashlib.sha256(octets).hexdigest()


def access_notes(loaded: LoadedRules, settings: Settings) -> list[str]:
    """What the rules come to, a line each: what operators must know of them."""
    if loaded.rules is None:
        told = "there are none: everybody may do everything"
        if settings.users_file is not None:
            told += ", and users_file has users: set access.file"
        return [told]
    noted = f", {len(loaded.notes)} without effect" if loaded.notes else ""
    return [f"{loaded.count} from {loaded.file}{noted}", *loaded.notes]


# A qpidd's.


def _qpidd(path: pathlib.Path, realm: str) -> LoadedRules:
    text, digest = _read(path)
    rules = QpiddRules(text, realm)
    if rules.problems:
        raise ConfigurationError(
            [(f"{path}:{line}", problem) for line, problem in sorted(rules.problems)]
        )
    return LoadedRules(
        rules,
        path,
        tuple(f"{path}:{line}: {note}" for line, note in sorted(rules.notes)),
        digest,
        rules.count,
    )


# The gateway's own.


def _own(path: pathlib.Path, hosts: list[str]) -> LoadedRules:
    text, digest = _read(path)
    try:
        raw, lines = _parsed(text)
    except ConfigurationError as error:
        raise ConfigurationError(
            [(f"{path}: {key}", problem) for key, problem in error.problems]
        ) from None
    except yaml.YAMLError as error:
        raise ConfigurationError([(str(path), said(error))]) from None
    if raw is None:  # nothing but a comment, which says so
        raw = {"rules": []}
    if not isinstance(raw, dict):
        raise ConfigurationError([(str(path), "must be a mapping with rules")])
    file, problems = validated(AccessFile, raw)
    if "rules" not in raw:
        problems.append(("rules", "must be set"))
    broken = [key for key, _text in problems]
    problems += [
        (f"rules.{at}{key}", problem)
        for at, rule in enumerate(file.rules)
        for key, problem in _problems(rule, _groups_in(raw), hosts)
        if not touches(broken, [f"rules.{at}{key}"])
    ]
    if problems:
        raise ConfigurationError([(f"{path}: {key}", problem) for key, problem in problems])
    made = [_made(rule, file, lines[at]) for at, rule in enumerate(file.rules)]
    return LoadedRules(OwnRules(made), path, (), digest, len(made))


def _parsed(text: str) -> tuple[Any, list[int]]:
    """What the file says, and on which line each rule begins: parsed once, which takes long."""
    raw, node = load_marked(text)
    return raw, _lines(node)


def _lines(node: yaml.Node | None) -> list[int]:
    """On which line each rule begins."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == "rules" and isinstance(value, yaml.SequenceNode):
                return [each.start_mark.line + 1 for each in value.value]
    return []


def _groups_in(raw: dict[str, Any]) -> set[str]:
    """The groups that a file has, whatever is wrong with them."""
    groups = raw.get("groups")
    return {str(name) for name in groups} if isinstance(groups, dict) else set()


def _problems(rule: AccessRule, groups: set[str], hosts: list[str]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    if (rule.allow is None) == (rule.deny is None):
        found.append(("", "needs either allow or deny"))
    if _HAVE_NONE & {*(rule.allow or rule.deny or [])}:
        found += [
            (f".{key}", "is not known to connect, bind, unbind, manage and decide")
            for key in ("durable", "exclusive", "temporary")
            if getattr(rule, key) is not None
        ]
    if rule.own is not None and _OWN_NONE & {*(rule.allow or rule.deny or [])}:
        found.append((".own", "is not known to connect, manage and decide"))
    if rule.login is False and (rule.users is not None or rule.groups is not None):
        found.append((".login", "clients without a login are no users, and in no group"))
    if "" in (rule.users or []):
        found.append((".users", "nobody has an empty name; without a login is login: false"))
    found += [
        (".groups", f"there is no group {group!r}")
        for group in rule.groups or []
        if group not in groups
    ]
    found += [
        (".addresses", f"{address!r} is no address and no network")
        for address in rule.addresses or []
        if network(address) is None
    ]
    found += [
        (".virtual_hosts", f'there is no virtual host "{host}"')
        for host in rule.virtual_hosts or []
        if "*" not in host and host not in hosts
    ]
    return found


def _made(rule: AccessRule, file: AccessFile, line: int) -> OwnRule:
    actions = rule.allow or rule.deny or []
    chosen = ACTION_NAMES if ALL in actions else {name: ACTION_NAMES[name] for name in actions}
    named = rule.queue is not None or rule.exchange is not None
    return OwnRule(
        Decision(rule.allow is not None, line, _in_words(rule), logged=rule.log, named=named),
        sum(1 << action for action in chosen.values()),
        users=_users(rule, file),
        hosts=None
        if rule.virtual_hosts is None
        else [each.split("*") for each in rule.virtual_hosts],
        addresses=_addresses(rule),
        queue=None if rule.queue is None else rule.queue.split("*"),
        exchange=None if rule.exchange is None else rule.exchange.split("*"),
        key=None if rule.key is None else rule.key.split("."),
        durable=_flag(rule.durable),
        exclusive=_flag(rule.exclusive),
        temporary=_flag(rule.temporary),
        own=_flag(rule.own),
        login=_flag(rule.login),
    )


def _users(rule: AccessRule, file: AccessFile) -> frozenset[str] | None:
    if rule.users is None and rule.groups is None:
        return None
    users = set(rule.users or [])
    for group in rule.groups or []:
        users.update(file.groups[group])
    return frozenset(users)


def _addresses(rule: AccessRule) -> list[Hosts] | None:
    if rule.addresses is None:
        return None
    found = [network(address) for address in rule.addresses]
    return [each for each in found if each is not None]


def _flag(value: bool | None) -> int:
    if value is None:
        return UNKNOWN
    return YES if value else NO


def _in_words(rule: AccessRule) -> str:
    """A rule in one line, as it could stand in the file."""
    told: dict[str, Any] = rule.model_dump(exclude_defaults=True)  # Any: the values of keys
    for key, value in told.items():
        if isinstance(value, list) and len(value) == 1:
            told[key] = value[0]
    return yaml.safe_dump(told, default_flow_style=True, sort_keys=False, width=10_000).strip()
