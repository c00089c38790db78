"""More than one gateway behind one address: what each of them is called, and what it may have.

Without a `group` a gateway is alone with what lives in it, so a second pod is refused: clients
would publish to one what they look for in the other. In a group every pod is as good as another,
since all that clients name is at upstreams.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from gateway.bridge.remote.remote import REJECTED_QUEUE
from gateway.config.placement import TO_QUEUE, matches
from gateway.config.settings import HostSettings, Settings
from gateway.config.upstreams import NodeSection, UpstreamSection

Found = Iterator[tuple[list[str], str]]
ORDINAL: Final = re.compile(r".*-([0-9]{1,9})")


def ordinal_of(settings: Settings) -> int | None:
    """The number at the end of the pod's name; `None`: it has none."""
    found = ORDINAL.fullmatch(settings.pod or "")
    return None if found is None else int(found[1])


def container_id_of(settings: Settings, section: UpstreamSection) -> str:
    """What the gateway calls itself at an upstream."""
    if settings.group is not None:
        return f"{settings.group}-{ordinal_of(settings)}"
    return section.container_id or settings.name


def pod_rules(settings: Settings) -> Found:
    """What is wrong with them: the keys to blame, and why."""
    if settings.group is None:
        if ordinal_of(settings):
            yield (
                ["pod", "group"],
                f"{settings.pod} is not the only pod, and without a group each would have queues of"
                " its own: scale to one, or have all nodes at upstreams and say group",
            )
        return
    if ordinal_of(settings) is None:
        yield ["pod", "group"], 'must end in "-" and a number, which tells the pods of group apart'
    for name, section in settings.upstreams.items():
        if section.container_id is not None:
            path = f"upstreams.{name}.container_id"
            yield [path, "group"], "is made of group and the number of the pod"
    for at, node in enumerate(settings.nodes):
        yield from _node(settings, f"nodes.{at}", node)
    for number, host in enumerate(settings.virtual_hosts):
        yield from _host(settings, f"virtual_hosts.{number}", host)


def _node(settings: Settings, path: str, node: NodeSection) -> Found:
    whose = f'{node.kind} "{node.pattern}"'
    if node.upstream is None:
        yield [f"{path}.upstream", "group"], f"{whose} would live in one pod alone"
        return
    if node.spool:
        yield [f"{path}.spool", "group"], f"{whose} would be stored in one pod first"
    if not node.on_rejected.startswith(TO_QUEUE):
        yield (
            [f"{path}.on_rejected", "group"],
            f"what is rejected of {whose} would be in one pod alone, in {REJECTED_QUEUE}, or lost:"
            f' name a queue at an upstream, "{TO_QUEUE}NAME"',
        )


def _host(settings: Settings, path: str, host: HostSettings) -> Found:
    """Of what is declared in the configuration nothing may be local."""
    asked = [("queue", "queues", each.name, "name") for each in host.queues]
    asked += [("exchange", "exchanges", each.name, "name") for each in host.exchanges]
    asked += [("exchange", "bindings", each.exchange, "exchange") for each in host.bindings]
    numbers: dict[str, int] = {}
    for kind, section, name, key in asked:
        number = numbers[section] = numbers.get(section, -1) + 1
        if not _is_remote(settings, kind, host.name, name):
            yield (
                [f"{path}.{section}.{number}.{key}", "nodes", "group"],
                f'{kind} "{name}" would live in one pod alone: no rule of nodes places it',
            )


def _is_remote(settings: Settings, kind: str, host: str, name: str) -> bool:
    for node in settings.nodes:
        whose = node.virtual_host in (None, host)
        if node.kind == kind and whose and matches(node.pattern, name):
            return node.upstream is not None
    return False


def dead_letter_rules(settings: Settings) -> Found:
    """Of queues that rules name for what is rejected: each is at an upstream, where that helps."""
    hosts = [each.name for each in settings.virtual_hosts]
    for at, node in enumerate(settings.nodes):
        if node.upstream is None or not node.on_rejected.startswith(TO_QUEUE):
            continue
        name = node.on_rejected.removeprefix(TO_QUEUE)
        wanted = hosts if node.virtual_host is None else [node.virtual_host]
        if not all(_is_remote(settings, "queue", each, name) for each in wanted):
            yield (
                [f"nodes.{at}.on_rejected", "nodes"],
                f'no rule of nodes places the queue "{name}" at an upstream',
            )
