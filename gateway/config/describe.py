"""The configuration told: the table of every key, its JSON schema, what one comes to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, get_args, get_origin

from pydantic import TypeAdapter
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from gateway.config.placement import rule_of
from gateway.config.pods import container_id_of
from gateway.config.section import Section
from gateway.config.settings import Settings
from gateway.config.upstreams import NodeSection
from gateway.translate.profiles.loading import Profile, load_profile
from gateway.translate.profiles.templates import Template


class Key(NamedTuple):
    """One key, as documentation shows it."""

    path: str
    kind: str
    default: str
    help: str


def keys() -> list[Key]:
    """Every key that holds a value, in the order of the table in `settings`."""
    return list(_keys(Settings, ""))


def _keys(section: type[Section], prefix: str) -> Iterator[Key]:
    for name, field in section.model_fields.items():
        inner, within = _section(field.annotation)
        if inner is not None:
            yield from _keys(inner, f"{prefix}{name}{within}.")
        else:
            yield Key(prefix + name, _kind(field), _default(section, name, field), _help(field))


def _section(annotation: Any) -> tuple[type[Section] | None, str]:
    """The section that an annotation (Any: whatever it may be) names, and its place within."""
    for part in (annotation, *get_args(annotation)):
        if isinstance(part, type) and issubclass(part, Section):
            return part, {list: "[]", dict: ".NAME"}.get(get_origin(annotation), "")
    return None, ""


def _kind(field: FieldInfo) -> str:
    schema = TypeAdapter(field.rebuild_annotation()).json_schema()
    options = [each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"]
    first = options[0]
    if "enum" in first:
        return " or ".join(first["enum"])
    pattern = str(first.get("pattern", ""))
    for mark, name in (("ms|s", "duration"), ("KiB", "size"), (r"\[", "address:port")):
        if mark in pattern:
            return name
    if first.get("format") == "path":
        return "path"
    kind = str(first["type"])
    return {"array": "list of strings", "integer": "number"}.get(kind, kind)


COMPUTED = {
    "name": "amqp-gateway@HOSTNAME",
    "data_directory": "$XDG_STATE_HOME/amqp-gateway",
    "pod": "$AMQP_GATEWAY_POD",
}


def _default(section: type[Section], name: str, field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if field.default_factory is not None:
        return COMPUTED.get(name, "none")
    value = _defaults(section)[name]
    if isinstance(value, bool):
        return "true" if value else "false"
    return "none" if value is None else str(value)


def _defaults(section: type[Section]) -> dict[str, Any]:
    """The fixed defaults of a section's keys, spelled as in a file."""
    fixed = {
        name
        for name, field in section.model_fields.items()
        if field.default is not PydanticUndefined
    }
    return section.model_construct().model_dump(mode="json", include=fixed)


def _help(field: FieldInfo) -> str:
    return " ".join((field.description or "").split())


def schema() -> dict[str, Any]:
    """The JSON schema of a configuration: what the chart's values.schema.json embeds."""
    made = Settings.model_json_schema()
    _untitle(made)
    for section in _below(Section):
        place = made if section is Settings else made["$defs"].get(section.__name__)
        if place is None:
            continue  # of another file
        for name, value in _defaults(section).items():
            # pydantic gives its inner number for a default such as "64KiB"
            place["properties"][name]["default"] = value
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}


def _below(section: type[Section]) -> Iterator[type[Section]]:
    for each in section.__subclasses__():
        yield each
        yield from _below(each)


def _untitle(part: Any) -> None:
    """Drop the titles that are only the keys again."""
    if isinstance(part, dict):
        if isinstance(part.get("title"), str):
            del part["title"]
        for each in part.values():
            _untitle(each)


def resolved(settings: Settings) -> dict[str, Any]:
    """The whole configuration with every default filled in, as it could stand in a file."""
    told = settings.model_dump(mode="json")
    told["anonymous"] = settings.anonymous_allowed
    for name, upstream in settings.upstreams.items():
        cbs = load_profile(upstream.profile).cbs
        told["upstreams"][name]["mechanisms"] = upstream.all_mechanisms(cbs=cbs)
        told["upstreams"][name]["container_id"] = container_id_of(settings, upstream)
    return told


def may_show_passwords(settings: Settings) -> bool:
    """Whether a client may send its password through a network as it is."""
    amqp = settings.listen.amqp
    offered = settings.users_file is not None and "PLAIN" not in settings.require_tls_for
    return offered and amqp is not None and not amqp.loopback


def notes(settings: Settings) -> list[str]:
    """What is allowed, but perhaps not meant; what the rules for nodes come to, a line each."""
    told = _notes_of_nodes(settings)
    wanted = 2 * settings.limits.octets_in_doubt
    if 0 < settings.store_reserve < wanted:
        told.insert(
            0,
            f"store_reserve: {settings.store_reserve} octets are soon used up when the disk becomes"
            f" full: what one connection has under way then, up to {wanted // 2} octets"
            " (limits.octets_in_doubt), is written twice",
        )
    queues = settings.queues
    if 0 < queues.size_high <= queues.memory:
        told.insert(
            0,
            f"queues.memory: {queues.memory} octets are of no use, since publishers wait before, at"
            f" queues.size_high, {queues.size_high}: nothing of queues is ever on disk alone, but"
            " what is declared so",
        )
    if may_show_passwords(settings):
        told.insert(
            0,
            f"listen.amqp: clients may show passwords in clear text on {settings.listen.amqp}"
            " (PLAIN without TLS); `require_tls_for: [PLAIN]` refuses that",
        )
    return told


def _notes_of_nodes(settings: Settings) -> list[str]:
    profiles = {name: load_profile(each.profile) for name, each in settings.upstreams.items()}
    told: list[str] = []
    for at, node in enumerate(settings.nodes):
        where = f'nodes.{at}: {node.kind} "{node.pattern}"'
        if node.virtual_host is not None:
            where += f' of virtual host "{node.virtual_host}"'
        lives = "is local"
        if node.upstream is not None:
            lives = f"lives at {node.upstream}: {_addresses(node, profiles[node.upstream])}"
        told.append(f"{where} {lives}{_shadow(node, profiles)}")
    for name, profile in profiles.items():
        if not profile.queue.identity and not profile.dynamic_nodes:
            told.append(
                f"upstreams.{name}: its addresses are not the gateway's names, and it makes no"
                " nodes on request: a 1.0 client of the gateway and a 1.0 responder at the upstream"
                " cannot use reply-to"
            )
    return told


def _shadow(node: NodeSection, profiles: dict[str, Profile]) -> str:
    """Where copies of what is published to it go, if they do."""
    if node.shadow is None:
        return ""
    shadow = node.shadow
    address = shadow.queue
    if node.exact:
        name = Template(shadow.queue).make(queue=node.pattern)
        address = profiles[shadow.upstream].queue_address(name)
    return f"; {shadow.share * 100:g}% of it has a shadow at {shadow.upstream}: {address}"


def _addresses(node: NodeSection, profile: Profile) -> str:
    rule = rule_of(0, node, profile)
    if node.kind == "queue":
        template = rule.address or profile.queue
        return template.make(queue=node.pattern) if node.exact else template.text
    sent = rule.address or profile.exchange or profile.fanout
    if profile.subscriptions == "managed":
        return f"{sent and sent.text}; bindings are made at the upstream"
    read = rule.subscription or rule.address or profile.subscription
    if profile.subscriptions == "none" or read is None:
        return f"{sent and sent.text}; queues cannot be bound to it"
    return f"{sent and sent.text}; bindings read {read.text}"
