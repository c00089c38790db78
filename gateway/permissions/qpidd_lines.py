"""The lines of a qpidd's ACL file: groups, rules and quotas, as qpidd reads them.

    group NAME (USER | GROUP) ...            a line that ends in "\\" goes on in the next
    acl PERMISSION (USER | GROUP | all) (ACTION | all) [OBJECT | all [PROPERTY=VALUE ...]]
    quota (connections | queues) NUMBER (USER | GROUP | all) ...

A group has to stand above the lines that name it. There are no quotes: they are part of the name.
"""

from __future__ import annotations

from typing import Final, final

from gateway.permissions.qpidd_lookups import (
    ACTIONS,
    LIMITS,
    NAME,
    OBJECTS,
    POLICY_TYPES,
    PROPERTIES,
    SYNONYMS,
)

ALL: Final = "all"
LINE_MAX: Final = 1023
QUOTA_MAX: Final = 65530
NUMBER_MAX: Final = 2**63 - 2
SPACES: Final = " \t\n\f\v\r"
PERMISSIONS: Final = {
    "allow": (True, False),
    "allow-log": (True, True),
    "deny": (False, False),
    "deny-log": (False, True),
}


@final
class QpiddLine:
    """One rule as it stands.

    Attributes:
        number: its line; text: what stands there.
        allow, logged: its permission.
        users: for whom, groups taken apart; `None`: for all.
        action, object: what; `None`: all of them.
        properties: each once, the first time it stands there.
    """

    __slots__ = ("action", "allow", "logged", "number", "object", "properties", "text", "users")

    def __init__(self, number: int, text: str, *, allow: bool, logged: bool) -> None:
        self.number = number
        self.text = text
        self.allow = allow
        self.logged = logged
        self.users: frozenset[str] | None = None
        self.action: str | None = None
        self.object: str | None = None
        self.properties: list[tuple[str, str]] = []


@final
class QpiddLines:
    """What one file says.

    Attributes:
        rules: in their order.
        connections, queues: the quotas, by user, or "all".
        problems: by line, why it cannot be read; whoever has one must not use the rest.
    """

    __slots__ = ("_groups", "_open", "connections", "problems", "queues", "rules")

    def __init__(self, text: str) -> None:
        self.rules: list[QpiddLine] = []
        self.connections: dict[str, int] = {}
        self.queues: dict[str, int] = {}
        self.problems: list[tuple[int, str]] = []
        self._groups: dict[str, frozenset[str]] = {}
        self._open = ""  # the group that goes on in the next line
        for number, line in enumerate(text.split("\n"), 1):
            if line and not line.startswith("#"):
                problem = self._take(number, line)
                if problem:
                    self.problems.append((number, problem))

    def _take(self, number: int, line: str) -> str:
        """Read one line; what is wrong with it, or ""."""
        if len(line.encode()) > LINE_MAX:
            return f"longer than {LINE_MAX} octets"
        head, continued, _rest = line.rpartition("\\")
        tokens = (head if continued else line).split()
        group, self._open = self._open, ""
        if continued and not tokens:
            return "nothing is continued"
        if group or (tokens and tokens[0] == "group"):
            return self._take_group(group, tokens, bool(continued))
        if continued:
            return "only a group goes on in the next line"
        if not tokens:
            return ""
        if tokens[0] == "acl":
            return self._take_rule(number, line.strip(), tokens)
        if tokens[0] == "quota":
            return self._take_quota(tokens)
        return 'must begin with "group", "acl" or "quota"'

    # Groups.

    def _take_group(self, group: str, tokens: list[str], continued: bool) -> str:
        names = tokens
        if not group:
            if len(tokens) < (2 if continued else 3):
                return "a group needs a name and members"
            group, names = tokens[1], tokens[2:]
            if not is_group_name(group):
                return f"{group!r} cannot be a group's name"
            if group in self._groups:
                return f"there is a group {group!r} already"
            self._groups[group] = frozenset()
        if continued:
            self._open = group
        for name in names:
            problem = self._add(group, name)
            if problem:
                return problem
        return ""

    def _add(self, group: str, name: str) -> str:
        members = self._groups[group]
        if is_group_name(name):
            if name == group:
                return ""
            if name not in self._groups:
                return f"group {name!r} is not known yet"
            self._groups[group] = members | self._groups[name]
            return ""
        if "@" not in name or name.endswith("@"):
            return f"user {name!r} needs a realm"
        if not all([_is_alphanumeric(each) or each in "-_@./" for each in name]):
            return f"user {name!r} has a character that is not allowed"
        self._groups[group] = members | {name}
        return ""

    def _users(self, name: str) -> frozenset[str]:
        return self._groups.get(name, frozenset((name,)))

    # Rules.

    def _take_rule(self, number: int, text: str, tokens: list[str]) -> str:
        if len(tokens) < 4:
            return "a rule needs a permission, a user and an action"
        permission = PERMISSIONS.get(tokens[1])
        if permission is None:
            return f"{tokens[1]!r} is none of {', '.join(PERMISSIONS)}"
        rule = QpiddLine(number, text, allow=permission[0], logged=permission[1])
        if tokens[2] != ALL:
            rule.users = self._users(tokens[2])
        if tokens[3] != ALL:
            if tokens[3] not in ACTIONS:
                return f"{tokens[3]!r} is no action"
            rule.action = tokens[3]
        elif rule.users is None and len(tokens) > 4:
            return 'nothing may follow "all all"'
        if len(tokens) > 4 and tokens[4] != ALL:
            if tokens[4] not in OBJECTS:
                return f"{tokens[4]!r} is no object"
            rule.object = tokens[4]
        for token in tokens[5:]:
            problem = _take_property(rule, token)
            if problem:
                return problem
        self.rules.append(rule)
        return ""

    # Quotas.

    def _take_quota(self, tokens: list[str]) -> str:
        if len(tokens) < 3:
            return "a quota needs a kind and a number"
        kinds = {"connections": self.connections, "queues": self.queues}
        quotas = kinds.get(tokens[1])
        if quotas is None:
            return f"{tokens[1]!r} is none of {', '.join(kinds)}"
        number = _number(tokens[2])
        if number < 0 or number > QUOTA_MAX:
            return f"{tokens[2]!r} is no number up to {QUOTA_MAX}"
        for name in tokens[3:]:
            for user in self._users(name):
                quotas[user] = number
        return ""


def _take_property(rule: QpiddLine, token: str) -> str:
    key, _equals, value = token.partition("=")
    if not value:
        return f"{token!r} must be a property and a value, name=value"
    key = SYNONYMS.get(key, key)
    if key not in PROPERTIES:
        return f"{key!r} is no property"
    if key in LIMITS and not 0 <= _number(value) <= NUMBER_MAX:
        return f"{key} must be a number"
    if key == "policytype" and value not in POLICY_TYPES:
        return f"{key} must be one of {', '.join(POLICY_TYPES)}"
    if key not in [each for each, _value in rule.properties]:
        rule.properties.append((key, value))
    return ""


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else -1


def _is_alphanumeric(character: str) -> bool:
    return character.isascii() and character.isalnum()


def is_group_name(name: str) -> bool:
    """Whether a name among users is that of a group: a user has a realm behind an "@"."""
    return all([_is_alphanumeric(each) or each in "-_" for each in name])


def name_of(rule: QpiddLine) -> str | None:
    """The name that a rule is for."""
    for key, value in rule.properties:
        if key == NAME:
            return value
    return None
