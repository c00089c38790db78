"""From a survey, the gateway's configuration and what is to be made at the target.

Where queues live is the target's: local, in the gateway's own store, or at an upstream. Exchanges
and bindings stay at the gateway, which puts into the queues at the upstream what they take.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, final

from gateway.config.settings import AccessSettings
from gateway.config.topology import PREDECLARED
from gateway.faces.features import EXCHANGES
from gateway.migration.document import Survey
from gateway.migration.findings import lost_findings
from gateway.migration.planned_nodes import (
    Entry,
    PlannedNodes,
    binding_entry_of,
    entry_of,
    planned_nodes,
    queue_entry_of,
    selects,
)
from gateway.migration.targets import OLD, TARGETS
from gateway.migration.targets.target import Taken, Target
from gateway.permissions.qpidd_rules import QpiddRules
from gateway.translate.profiles.loading import load_profile
from gateway.translate.profiles.profile import Profile

NEW: Final = "new"  # the upstream to which queues move
CONFIGURATION: Final = "gateway.yaml"
ACL: Final = "qpidd.acl"
OLD_PROFILE: Final = "qpid-0-10"
HOST: Final = "default"
WITHOUT_LOGIN: Final = ("", "anonymous")


@final
@dataclass(slots=True)
class Plan:
    """What was planned.

    Attributes:
        configuration: the gateway's, by its keys.
        files: beside it, by name.
        left: what cannot be planned, and why: somebody has to decide.
        told: what is to be known of the rest.
        steps: what is to be done with it, in order.
    """

    configuration: Entry = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)


def plan_of(survey: Survey, target: str, host: str = "") -> Plan:
    """Plan for a target, one of `targets.NAMES`; `host`: where it is."""
    plan = Plan()
    plan.left += [f"the survey is not whole: {each}" for each in survey.not_asked]
    _plan_access(plan, survey)
    if survey.broker.connections_per_address:
        most = survey.broker.connections_per_address
        plan.configuration["limits"] = {"connections_per_address": most}
    if target == OLD:
        _plan_old(plan, survey, host)
    else:
        _plan_move(plan, survey, target, host)
    _plan_users(plan, survey)
    plan.steps.append(f"amqp-gateway check --config {CONFIGURATION}")
    return plan


def _plan_move(plan: Plan, survey: Survey, target: str, host: str) -> None:
    """Nothing is left at the old broker."""
    nodes = planned_nodes(survey)
    plan.left += [f"{each.where}: {each.what}" for each in lost_findings(survey)]
    plan.left += nodes.left
    plan.told += nodes.told
    taken: list[Taken] = []
    if target in TARGETS:
        taken = _plan_target(plan, survey, nodes, TARGETS[target](), host)
    _plan_nodes(plan, survey, nodes, {each.planned.name for each in taken})


def _plan_access(plan: Plan, survey: Survey) -> None:
    """The access rules, as they are where the gateway reads them."""
    acl = survey.acl
    if acl is None:
        return
    if acl.kind != "qpidd" or acl.text is None:
        what = "were not given" if acl.kind == "qpidd" else "are Broker-J's"
        plan.left.append(f"access rules {what}: without rules everybody may do everything")
        return
    realm = _realm(survey)
    rules = QpiddRules(acl.text, realm)
    if rules.problems:
        plan.left += [
            f"access rules, line {line}: {problem}" for line, problem in sorted(rules.problems)
        ]
        return
    plan.told += [f"access rules, line {line}: {note}" for line, note in sorted(rules.notes)]
    plan.files[ACL] = acl.text
    access: Entry = {"qpidd_file": ACL}
    if realm != AccessSettings().qpidd_realm:
        access["qpidd_realm"] = realm
    plan.configuration["access"] = access


def _realm(survey: Survey) -> str:
    """The realm that most users have."""
    realms = Counter(each.user.partition("@")[2] for each in survey.clients if "@" in each.user)
    most = realms.most_common(1)
    return most[0][0] if most and most[0][0] else AccessSettings().qpidd_realm


def _plan_nodes(plan: Plan, survey: Survey, nodes: PlannedNodes, remote: set[str]) -> None:
    """Exchanges, queues and bindings of the gateway."""
    plan.configuration["virtual_hosts"] = [
        {
            "name": survey.broker.virtual_host or HOST,
            "exchanges": [entry_of(each) for each in nodes.exchanges],
            "queues": [queue_entry_of(each, remote=each.name in remote) for each in nodes.queues],
            "bindings": [binding_entry_of(each) for each in nodes.bindings],
        }
    ]


def _plan_old(plan: Plan, survey: Survey, host: str) -> None:
    """All stays where it is: the gateway stands in front of it."""
    broker = survey.broker
    at_management = broker.address.startswith("http")
    section: Entry = {
        "hosts": [host or ("amqp://old:5672" if at_management else f"amqp://{broker.address}")],
        "profile": OLD_PROFILE,
    }
    if broker.virtual_host:
        section["hostname"] = broker.virtual_host
    lasting = [each.name for each in survey.queues if not each.exclusive and not each.auto_delete]
    bound = {each.exchange for each in survey.bindings}
    made = {each.name for each in survey.exchanges if each.name not in PREDECLARED}
    queues = [name for name in lasting if "*" not in name]
    exchanges = [name for name in sorted((bound | made) - {*EXCHANGES}) if "*" not in name]
    plan.configuration["upstreams"] = {OLD: section}
    plan.configuration["nodes"] = [
        *[{"queue": name, "upstream": OLD} for name in queues],
        *[{"exchange": name, "upstream": OLD} for name in exchanges],
    ]
    plan.left += _of_users(survey, set(queues), load_profile(OLD_PROFILE))
    if exchanges:
        told = "clients that bind queues to them stay at the old broker for now: refused, 540"
        plan.told.append(f"exchanges are published to, {told}")
    plan.steps.append(f"give upstreams.{OLD} its username and password_file")
    if survey.acl is not None:
        plan.steps.append("allow that user at the old broker: acl allow USER create link")


def _plan_target(
    plan: Plan, survey: Survey, nodes: PlannedNodes, target: Target, host: str
) -> list[Taken]:
    """The queues that live at the target, from now on or later."""
    taken: list[Taken] = []
    for planned in nodes.queues:
        problem = target.problem(planned)
        if problem:
            plan.left.append(f"queue {planned.name} stays local; the target lacks: {problem}")
        else:
            taken.append(target.take(planned, nodes))
    names = {each.planned.name for each in taken}
    plan.left += _of_users(survey, names, load_profile(target.profile))
    plan.told += [f"queue {each.planned.name}: {told}" for each in taken for told in each.told]
    section: Entry = {"hosts": [host or target.host], "profile": target.profile}
    plan.configuration["upstreams"] = {NEW: section}
    plan.configuration["nodes"] = [{"queue": each.planned.name, "upstream": NEW} for each in taken]
    plan.files[target.file] = target.written(taken, nodes)
    plan.steps.append(target.how)
    plan.steps.append(f"give upstreams.{NEW} its hosts, username and password_file")
    return taken


def _of_users(survey: Survey, queues: set[str], profile: Profile) -> Iterator[str]:
    """What those who were connected do with the queues, and the target does not."""
    users = [each for each in survey.subscriptions if each.queue in queues]
    browsing = sorted({each.queue for each in users if each.browse})
    if browsing and profile.browse == "none":
        yield f"queues are browsed, which is refused there, 540: {', '.join(browsing)}"
    selecting = sorted({each.queue for each in users if selects(each.arguments)})
    if selecting and not profile.selector:
        yield f"subscriptions have selectors, which are refused there, 540: {', '.join(selecting)}"
    count = sum(1 for each in survey.clients if each.transactions)
    if count and queues and not profile.transactions:
        yield f"{count} clients use transactions, which are refused there, 540"


def _plan_users(plan: Plan, survey: Survey) -> None:
    """Passwords are not told: whoever knows them makes the users."""
    users = [each.user for each in survey.clients if each.mechanism != "ANONYMOUS"]
    names = {each.partition("@")[0] for each in users if each.lower() not in WITHOUT_LOGIN}
    add = "amqp-gateway user add --file users.yaml"
    plan.steps += [f"{add} {shlex.quote(name)}" for name in sorted(names)]
    if names:
        plan.steps.append("set users_file: users.yaml")
