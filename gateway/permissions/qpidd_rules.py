"""Rules of a qpidd's ACL file, which decide as qpidd does.

The first rule that matches decides. The last line "acl PERMISSION all all" is for what none
matches, wherever it stands; without one that is denied. Where no rule is about publishing, qpidd
does not look at transfers at all. Connections have rules of their own, by address: those for all
users come before a user's, and what none is for is allowed.

Users of the file have a realm, as in "alice@QPID"; a user of the gateway without one is taken to be
of the realm that the gateway is told.
"""

from __future__ import annotations

from typing import Final, final

from gateway.permissions.actions import Action, ObjectKind
from gateway.permissions.asked import Asked
from gateway.permissions.hosts import Hosts, Numbered, among, hosts_of
from gateway.permissions.patterns import fits_key
from gateway.permissions.qpidd_lines import ALL, QpiddLine, QpiddLines, name_of
from gateway.permissions.qpidd_lookups import (
    ABSENT,
    ACTIONS,
    LIMITS,
    NAME,
    OBJECTS,
    ROUTING_KEY,
    can_match,
)
from gateway.permissions.rules import TOO_LONG, TOO_MUCH, Decision
from gateway.wire.work import CHARACTERS_SEARCHED, MATCH, RULE, VERB, WORK, too_many_words

DEFAULT_EXCHANGE: Final = "amq.default"  # its name in rules about publishing
USER: Final = "${user}"
DOMAIN: Final = "${domain}"
USER_DOMAIN: Final = "${userdomain}"
KEYWORDS: Final = (USER, DOMAIN, USER_DOMAIN)
# Of these properties a rule's may have the user's name in it; routing keys are looked up otherwise.
FILLED: Final = frozenset((NAME, "alternate", "queuename"))
ANONYMOUS: Final = "anonymous"
WILDCARD: Final = "*"

ACTION_WORDS: Final = {
    Action.PUBLISH: "publish",
    Action.CONSUME: "consume",
    Action.BROWSE: "consume",
    Action.CREATE: "create",
    Action.DELETE: "delete",
    Action.BIND: "bind",
    Action.UNBIND: "unbind",
    Action.PURGE: "purge",
    Action.MANAGE: "access",
    Action.ACCESS: "access",
    Action.DECIDE: "access",  # no qpidd asks, and so nobody does by its rules
}
OBJECT_WORDS: Final = {
    ObjectKind.NOTHING: "broker",
    ObjectKind.QUEUE: "queue",
    ObjectKind.EXCHANGE: "exchange",
    ObjectKind.METHOD: "method",
    ObjectKind.BRANCH: "broker",
}


@final
class QpiddRule:
    """One rule, for one action on one object.

    Attributes:
        users: by the names of the file; `None`: everybody.
        key: the words of its routing key; `None` without one.
    """

    __slots__ = ("_filled_key", "_properties", "decision", "key", "limited", "name", "users")

    def __init__(self, line: QpiddLine, decision: Decision, limited: Decision) -> None:
        self.decision = decision
        self.limited = limited  # where a limit of the rule is passed
        self.users = line.users
        self.name = name_of(line)
        self.key: list[str] | None = None
        self._filled_key = False
        self._properties: list[tuple[str, str]] = []
        for key, value in line.properties:
            if key == ROUTING_KEY:
                self.key = value.split(".")
                self._filled_key = _has_keyword(value)
            elif key != NAME:
                self._properties.append((key, value))

    def decide(
        self, user: str, name: str, key: str | None, properties: dict[str, str] | None
    ) -> Decision | None:
        """Its answer, if it matches."""
        if self.name is not None and not matches(filled(self.name, user), name):
            return None
        within = True
        if properties is not None:
            for each, value in self._properties:
                limit = LIMITS.get(each)
                given = properties.get(each if limit is None else limit[0])
                if given is None:
                    return None
                if limit is not None:
                    within = within and _is_within(given, value, limit[1])
                elif not matches(filled(value, user) if each in FILLED else value, given):
                    return None
            if self.key is not None and (key is None or not self.fits_key(user, key)):
                return None
        return self.decision if within else self.limited

    def decide_publish(self, user: str, exchange: str, key: str) -> Decision | None:
        """Its answer to a publish."""
        if self.name is not None:
            if self.name == DEFAULT_EXCHANGE:
                if exchange:
                    return None
            elif not matches(filled(self.name, user), exchange):
                return None
        if self.key is not None and (_has_keyword(key) or not self.fits_key(user, key)):
            return None
        return self.decision

    def fits_key(self, user: str, key: str) -> bool:
        """Whether a key is one of those that it is for."""
        assert self.key is not None
        if self._filled_key:
            WORK.units += len(KEYWORDS) * len(key) // CHARACTERS_SEARCHED
        return fits_key(self.key, emptied(key, user) if self._filled_key else key)


@final
class QpiddRules:
    """All of one file. Implements `AccessRules`.

    Attributes:
        count: how many rules and quotas there are.
        notes: by line, what of it has no effect here.
        problems: by line, which cannot be kept to: reading it, or what it denies.
    """

    __slots__ = (
        "_address",
        "_by",
        "_connections",
        "_default",
        "_hosts",
        "_hosts_default",
        "_queues",
        "_realm",
        "_transfers",
        "_user_hosts",
        "count",
        "notes",
        "problems",
    )

    def __init__(self, text: str, realm: str) -> None:
        lines = QpiddLines(text)
        self.notes: list[tuple[int, str]] = []
        self.problems = lines.problems
        self.count = len(lines.rules) + len(lines.connections) + len(lines.queues)
        self._realm = realm
        self._address = Numbered()
        self._connections = lines.connections
        self._queues = lines.queues
        self._default = Decision(False, 0, "no rule matches, and no line says what then")
        self._by: dict[tuple[str, str], list[QpiddRule]] = {}
        self._transfers = False
        self._hosts: list[tuple[list[Hosts], Decision]] = []
        self._user_hosts: list[tuple[frozenset[str], list[Hosts] | None, Decision]] = []
        self._hosts_default = Decision(True, 0, "no rule is for that connection")
        default = _default_line(lines.rules)
        for line in lines.rules:
            self._take(line, default=line is default)

    # Reading.

    def _take(self, line: QpiddLine, *, default: bool) -> None:
        decision = Decision(line.allow, line.number, line.text, logged=line.logged)
        if default:
            self._default = decision
        elif line.action is not None and line.object is not None:
            self._take_one(line, decision, line.action, line.object)
        else:
            self._take_many(line, decision)

    def _take_one(self, line: QpiddLine, decision: Decision, action: str, object: str) -> None:
        if not can_match(action, object, line.properties):
            self.notes.append((line.number, f"never matches, for qpidd neither: {line.text}"))
        elif (action, object) == ("create", "connection"):
            self._take_connection(line, decision)
        else:
            if (action, object) in ABSENT:
                self.notes.append((line.number, f"there is no such thing here: {line.text}"))
            self._add(line, decision, action, object)

    def _take_many(self, line: QpiddLine, decision: Decision) -> None:
        """A rule for all actions, or all objects: for those that it can match."""
        actions = ACTIONS if line.action is None else (line.action,)
        objects = OBJECTS if line.object is None else (line.object,)
        self._transfers = self._transfers or "publish" in actions
        for action in actions:
            for object in objects:
                if can_match(action, object, line.properties):
                    self._add(line, decision, action, object)

    def _add(self, line: QpiddLine, decision: Decision, action: str, object: str) -> None:
        limited = decision
        if decision.allowed:
            text = f"{line.text}, with a limit passed"
            limited = Decision(False, line.number, text, logged=line.logged)
        self._transfers = self._transfers or action == "publish"
        self._by.setdefault((action, object), []).append(QpiddRule(line, decision, limited))

    def _take_connection(self, line: QpiddLine, decision: Decision) -> None:
        hosts = dict(line.properties).get("host")
        if name_of(line) is not None or hosts is None:
            problem = "a rule about connections has a host, and no name"
            self.problems.append((line.number, problem))
            return
        found = None if hosts == ALL else hosts_of(hosts)
        if hosts != ALL and found is None:
            problem = f"{hosts!r} is no address and no range of them: {line.text}"
            if line.allow:
                self.notes.append((line.number, problem))
            else:
                self.problems.append((line.number, f"cannot be kept to: {problem}"))
        elif line.users is not None:
            self._user_hosts.append((line.users, found, decision))
        elif found is not None:
            self._hosts.append((found, decision))
        elif self._hosts_default.line:
            problem = "only one rule may be for the connections of all users from all hosts"
            self.problems.append((line.number, problem))
        else:
            self._hosts_default = decision

    # Deciding.

    def may(self, user: str, host: str, address: str, asked: Asked) -> Decision:
        """Whether a user may do that; qpidd has one virtual host."""
        user = self._named(user)
        action = asked.action
        if action == Action.CONNECT:
            return self._may_connect(user, address)
        name = asked.name
        key = asked.key
        if action == Action.PUBLISH:
            if asked.kind == ObjectKind.QUEUE:
                return self._may_publish(user, "", name)
            if key is None:
                return UNDECIDED
            return self._may_publish(user, name, key)
        if key is not None and too_many_words(key):
            return TOO_LONG
        rules = self._by.get((ACTION_WORDS[action], OBJECT_WORDS[asked.kind]))
        if rules is not None:
            end = WORK.units + VERB
            for rule in rules:
                WORK.units += RULE
                if WORK.units > end:
                    WORK.refused += 1
                    return TOO_MUCH
                if rule.users is None or user in rule.users:
                    decision = rule.decide(user, name, key, asked.properties)
                    if decision is not None:
                        return decision
        return self._default

    def _may_publish(self, user: str, exchange: str, key: str) -> Decision:
        if too_many_words(key):
            return TOO_LONG
        rules = self._by.get(("publish", "exchange"))
        if rules is not None:
            end = WORK.units + VERB
            for rule in rules:
                WORK.units += RULE
                if WORK.units > end:
                    WORK.refused += 1
                    return TOO_MUCH
                if rule.users is None or user in rule.users:
                    decision = rule.decide_publish(user, exchange, key)
                    if decision is not None:
                        return decision
        return self._default

    def may_publish_any(self, user: str, host: str, address: str) -> Decision:
        """The first decides that lets it publish something, or forbids it to publish anything.

        No qpidd asks this.
        """
        named = self._named(user)
        for rule in self._by.get(("publish", "exchange"), []):
            WORK.units += RULE
            decides = rule.decision.allowed or (rule.name is None and rule.key is None)
            if decides and (rule.users is None or named in rule.users):
                return rule.decision
        return self._default

    def _may_connect(self, user: str, address: str) -> Decision:
        read = self._address
        read.read(address)
        WORK.units += MATCH * (len(self._hosts) + len(self._user_hosts))
        for hosts, decision in self._hosts:
            if among(hosts, read.version, read.number):
                return decision
        for users, own, decision in self._user_hosts:
            if user in users and (own is None or among(own, read.version, read.number)):
                return decision
        return self._hosts_default

    def asks_access(self) -> bool:
        """It is: by name, and then by what the node is."""
        return True

    def hides(self) -> bool:
        """No: what is not there is told before anybody is asked, and alternates are not."""
        return False

    def publish_unchecked(self) -> bool:
        """No rule is about publishing."""
        return not self._transfers

    def connections_max(self, user: str) -> int:
        """How many connections a user may have."""
        return _quota(self._connections, self._named(user))

    def queues_max(self, user: str) -> int:
        """How many queues."""
        return _quota(self._queues, self._named(user))

    def _named(self, user: str) -> str:
        """A user as the file has it; whoever has not logged in is one, too."""
        return user if "@" in user else f"{user or ANONYMOUS}@{self._realm}"


UNDECIDED: Final = Decision(True, 0, "the routing key of each message decides")


def _default_line(lines: list[QpiddLine]) -> QpiddLine | None:
    found = None
    for line in lines:
        if line.users is None and line.action is None:
            found = line
    return found


def _quota(quotas: dict[str, int], user: str) -> int:
    # Where anybody has a quota, that of those who are in none is 0, as with qpidd.
    return quotas.get(user, quotas.get(ALL, 0)) if quotas else -1


def matches(pattern: str, text: str) -> bool:
    """Whether a text is what a rule says; a `*` at the end stands for any rest."""
    if pattern.endswith(WILDCARD):
        return text.startswith(pattern[:-1])
    return pattern == text


def _is_within(given: str, limit: str, upper: bool) -> bool:
    allowed = int(limit)
    if allowed == 0:
        return True
    if not given.isdigit():
        return False
    return int(given) <= allowed if upper else int(given) >= allowed


def _has_keyword(text: str) -> bool:
    return any([keyword in text for keyword in KEYWORDS])


def _normal(name: str) -> str:
    """As a word of a routing key."""
    return name.replace("@", "_").replace(".", "_")


def filled(text: str, user: str) -> str:
    """With the user's name in the place of keywords."""
    if "${" not in text:
        return text
    name, _at, domain = user.partition("@")
    text = text.replace(USER, _normal(name)).replace(DOMAIN, _normal(domain))
    return text.replace(USER_DOMAIN, _normal(user))


def emptied(key: str, user: str) -> str:
    """With keywords in the place of the user's name, as a key is compared with a rule's."""
    name, _at, domain = user.partition("@")
    key = key.replace(_normal(user), USER_DOMAIN)
    if name:
        key = key.replace(_normal(name), USER)
    return key.replace(_normal(domain), DOMAIN) if domain else key
