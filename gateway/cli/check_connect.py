"""`check --connect` for eyes: what was found out about one upstream, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.clients.findings import Ability, Finding, Node
from gateway.config.units import format_size

BAD = "!!"


def lines(finding: Finding) -> Iterator[str]:
    """All of it; what is wrong has `!!` in front."""
    if not finding.reached:
        yield f"{BAD} {finding.name}: cannot be reached: {finding.problem}"
    else:
        what = finding.says or "it does not say what it is"
        yield f"   {finding.name}: {finding.host}: {what} (profile {finding.profile})"
        if finding.stranger:
            known = ", ".join(finding.products)
            told = f"it is not what profile {finding.profile} is for: {known}"
            yield f"{BAD}   {told}; nothing was asked of it"
        yield from _facts(finding)
        for ability in finding.abilities:
            yield f"{BAD if ability.bad else '  '}   {ability.name}: {_ability(ability, finding)}"
    if finding.problem and finding.reached:
        yield f"{BAD}   it was not asked everything: {finding.problem}"
    for node in finding.nodes:
        yield f"{BAD if node.bad else '  '}   {_node(node)}"
    if finding.lacks:
        yield "     will not work, by the profile:"
        for text, rules in finding.lacks:
            yield f"       {text} ({', '.join(rules)})"


def _facts(finding: Finding) -> Iterator[str]:
    for host, problem in finding.other_hosts.items():
        yield f"     another host: {host}: {problem}"
    offered = ", ".join(finding.mechanisms) or "it asks for none"
    yield f"     login: {finding.mechanism or 'without SASL'} (offered: {offered})"
    yield f"     TLS: {finding.tls or 'no'}"
    idle = finding.idle_timeout_ms
    limits = [
        f"frames up to {format_size(finding.frame_size)}" if finding.frame_size else "",
        f"{finding.channels} sessions",
        f"closes after {idle / 1000:g} s of silence" if idle else "",
    ]
    yield f"     limits: {', '.join(each for each in limits if each)}"
    largest = "it was not asked" if finding.stranger else "it does not say"
    if finding.message_size:
        largest = f"{format_size(finding.message_size)}; the gateway rejects larger ones"
    yield f"     largest message: {largest}"
    yield f"     it says: {', '.join(finding.offered) or 'nothing in particular'}"


def _ability(ability: Ability, finding: Finding) -> str:
    why = f": {ability.problem}" if ability.problem else ""
    if ability.bad:
        return f"REFUSED, but profile {finding.profile} counts on it{why}"
    if ability.used:
        return "yes" if ability.answered else "yes, by the profile"
    if ability.answered:
        return "not used: it answers yes, but the profile does not trust it"
    return f"no{why}" if ability.answered is False else "no, by the profile"


def _node(node: Node) -> str:
    spool = " (spool)" if node.spool else ""
    why = f": {node.problem}" if node.problem else ""
    return f"{node.key}: {node.kind} {node.name}{spool}: {node.address}: {node.state}{why}"
