"""The profiles: `gateway/mappings/profiles/*.yaml`, or a file of the operator's own.

A profile is data: what a broker calls its nodes, and what it can do. The table here describes every
attribute; what a file does not say is as in the profile that it names under `like`, else the
default. This module is not compiled: it runs at start.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from gateway.errors import ConfigurationError
from gateway.files.whole import CONFIGURATION_MAX, expanded, read_regular
from gateway.files.yaml_text import load_yaml, said
from gateway.translate.mapping_rows import FOLDER
from gateway.translate.profiles.profile import Profile as Profile
from gateway.translate.profiles.templates import Template, Wildcards

PROFILES: Final = FOLDER / "profiles"
LIKE_MAX: Final = 3
Problem = tuple[str, str]


class Attribute(NamedTuple):
    """One attribute of a profile.

    Attributes:
        kind: "text", "template", "flag", "symbols", "wildcards", or the words it may be.
        help: a sentence for people.
    """

    kind: str | tuple[str, ...]
    help: str


# In a template of an exchange: {exchange}, {key}; of a subscription also {name}.
ATTRIBUTES: Final[dict[str, Attribute]] = {
    "about": Attribute("text", "Which broker, in which versions, and what it must be set up for."),
    "products": Attribute(
        "symbols",
        "How the broker's open begins that tells its product and version, for `check --connect` to"
        " find a profile of another broker; none: it may be any.",
    ),
    "protocol": Attribute(
        ("1.0", "0-10"),
        "The AMQP that the broker speaks with the gateway. To one of 0-10 `queue` makes the name of"
        " a queue and `exchange` that of an exchange; what concerns links of 1.0 has no effect.",
    ),
    "queue": Attribute("template", "The address of a queue, from {queue}."),
    "queue_created": Attribute(
        "template",
        "The same for a queue that is made when it is missing, where that is another address.",
    ),
    "exchange": Attribute(
        "template",
        "Where to send what was published to a direct or topic exchange, from {exchange} and {key};"
        " none: an exchange of this upstream cannot be published to.",
    ),
    "fanout": Attribute(
        "template",
        "The same for fanout and headers exchanges, whose key plays no part.",
    ),
    "subscription": Attribute(
        "template",
        "The source that a binding of a direct or topic exchange becomes, from {exchange}, {key}"
        " and {name}, the name of the queue that is bound; none: as `exchange`.",
    ),
    "fanout_subscription": Attribute(
        "template", "The same for fanout and headers exchanges; none: as `fanout`."
    ),
    "durable_subscription": Attribute(
        "template",
        "The source of a durable subscription, where its name is part of the address; none: as"
        " `subscription`, and the link's name and the terminus' durability make it durable.",
    ),
    "queue_capabilities": Attribute("symbols", "Capabilities of the terminus of a queue."),
    "exchange_capabilities": Attribute("symbols", "Capabilities of the target of an exchange."),
    "subscription_capabilities": Attribute("symbols", "Capabilities of a subscription's source."),
    "subscriptions": Attribute(
        ("none", "address", "filter", "managed"),
        "How a binding becomes a subscription: not at all; by `subscription` alone; by that and a"
        " filter for the binding key; as a queue and a binding at the broker, by `management`.",
    ),
    "durable_subscriptions": Attribute(
        "flag", "A subscription whose terminus is durable and never expires survives its link."
    ),
    "shared": Attribute(
        "flag",
        "Several containers read one durable subscription together: by the capabilities `shared`"
        " and `global` of its source, as JMS clients ask. A `group` of gateways needs it.",
    ),
    "wildcards": Attribute(
        "wildcards",
        "How the words `*` (`one`) and `#` (`any`) of a topic key are spelled; `any_last_only`:"
        " `any` may only stand last. A key that cannot be spelled is refused.",
    ),
    "keys_in": Attribute(
        ("subject", "to", "annotations"),
        "Where a message that a subscription brings has its routing key: in properties.subject; in"
        " properties.to, read by `exchange`; in the annotations x-exchange and x-routing-key.",
    ),
    "browse": Attribute(
        ("copy", "none"), "Whether a source with distribution-mode copy leaves messages in place."
    ),
    "selector": Attribute("flag", "Applies apache.org:selector-filter."),
    "no_local": Attribute("flag", "Applies apache.org:no-local-filter."),
    "settled": Attribute(
        "flag", "Settles deliveries as it sends them where a receiver asks for that."
    ),
    "credit": Attribute(
        ("any-time", "when-used-up"),
        "When a receiver gives new credit: as it is wanted, or only when all that was given was"
        " used, to a broker that counts anew from each flow, whatever is under way.",
    ),
    "drain": Attribute("flag", "Answers drain; else credit is taken back without waiting for it."),
    "modified": Attribute("flag", "Takes the outcome modified; else released goes in its place."),
    "undeliverable_here": Attribute(
        "flag", "Gives a message so modified to another consumer; else that is left out."
    ),
    "anonymous_terminus": Attribute(
        "flag", "One link without an address sends to any by `to`; else one link for each address."
    ),
    "dynamic_nodes": Attribute(
        "flag", "Makes nodes on request: reply nodes for requests to this upstream need that."
    ),
    "unroutable": Attribute(
        ("accepted", "released", "rejected"),
        "The outcome of a message to an exchange that has no route for it.",
    ),
    "transactions": Attribute("flag", "Has a transaction coordinator."),
    "resume": Attribute("flag", "Resumes links: tells at attach what it knows to be unsettled."),
    "annotations": Attribute("flag", "Takes annotations with modified; else they are left out."),
    "escrow": Attribute("flag", "Escrow is sent along; else what has no place is a counted loss."),
    "text_body": Attribute(
        ("data", "value"), "A 0-10 text body as a data section, or as an amqp-value string."
    ),
    "management": Attribute(
        ("none", "rabbitmq"),
        "Makes, deletes, empties and binds queues on request, at the node `/management`.",
    ),
    "cbs": Attribute(
        "flag",
        "Takes tokens for its nodes at `$cbs`: what `sas_key_name` or `token_file` of the upstream"
        " give goes to it, behind SASL ANONYMOUS.",
    ),
    "user_id": Attribute(
        "flag",
        "Takes a user-id other than the gateway's login; else 0-10 messages go without theirs.",
    ),
    "value_lists": Attribute(
        "flag", "Takes a list as amqp-value; else a 0-10 list goes as data, the same octets."
    ),
    "missing": Attribute(
        ("fail", "auto", "drop"),
        "A node that is not there: attaching fails; the broker makes it; or what is sent there is"
        " taken and dropped, so that a receiver is attached first, to see whether it is there.",
    ),
    "errors_end_session": Attribute(
        "flag", "What concerns one link ends the whole session: each link gets one of its own."
    ),
    "first_acquirer": Attribute(
        "flag",
        "Says by first-acquirer false that it delivered a message before, whatever delivery-count"
        " is: the message is marked as redelivered.",
    ),
    "forgets_failed": Attribute(
        "flag",
        "Forgets with a link which of its deliveries failed: by another link such a message is"
        " marked as redelivered from what the gateway remembers, as long as that runs.",
    ),
    "detach_lingers": Attribute(
        "flag", "Answers a closing detach without `closed`: such an answer closes the link, too."
    ),
}


def names() -> list[str]:
    """The profiles that come with the gateway."""
    return sorted(path.stem for path in PROFILES.glob("*.yaml"))


def load_profile(name: str, base: Path | None = None) -> Profile:
    """The profile of that name, or in that file (a path with "/" or ".yaml"), relative to `base`.

    Raises:
        ConfigurationError: with every problem; key paths are attributes.
    """
    raw = _read(name, base or Path.cwd(), 0)
    problems: list[Problem] = []
    values: dict[str, Any] = {}  # Any: as the table says
    for key, value in raw.items():
        attribute = ATTRIBUTES.get(key) if isinstance(key, str) else None
        if attribute is None:
            problems.append((str(key), "there is no such attribute"))
            continue
        try:
            values[key] = _value(attribute.kind, value)
        except ConfigurationError as error:
            problems += [(f"{key}.{path}" if path else key, text) for path, text in error.problems]
    if problems:
        raise ConfigurationError(problems)
    profile = Profile(Path(name).stem if is_path(name) else name, **values)
    problems = _readings(profile) + _consistency(profile)
    if problems:
        raise ConfigurationError(problems)
    return profile


def is_path(name: str) -> bool:
    """Whether a profile is named by its file."""
    return "/" in name or name.endswith((".yaml", ".yml"))


def _read(name: str, base: Path, depth: int) -> dict[Any, Any]:
    """What a file says, over what the profile says that it is like."""
    if not is_path(name) and name not in names():
        raise ConfigurationError([("", f'there is no profile "{name}": {", ".join(names())}')])
    path = base / expanded(Path(name)) if is_path(name) else PROFILES / f"{name}.yaml"
    try:
        raw = load_yaml(read_regular(path, CONFIGURATION_MAX))
    except OSError as error:
        raise ConfigurationError([("", f"cannot read {path}: {error}")]) from None
    except yaml.YAMLError as error:
        raise ConfigurationError([("", f"{path}: {said(error)}")]) from None
    if raw is None:
        raw = {}
    if not isinstance(raw, dict):
        raise ConfigurationError([("", f"{path} must be a mapping of attributes")])
    like = raw.pop("like", None)
    if like is None:
        return raw
    if not isinstance(like, str) or is_path(like) or depth > LIKE_MAX:
        raise ConfigurationError([("like", "must name a profile of the gateway's own")])
    return {**_read(like, base, depth + 1), **raw}


def _value(kind: str | tuple[str, ...], value: Any) -> Any:  # Any: whatever the file says
    if isinstance(kind, tuple):
        if value not in kind:
            raise ConfigurationError([("", f"must be {' or '.join(kind)}")])
        return value
    if kind == "flag":
        if not isinstance(value, bool):
            raise ConfigurationError([("", "must be true or false")])
        return value
    if kind == "symbols":
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise ConfigurationError([("", "must be a list of symbols")])
        return value
    if kind == "wildcards":
        return None if value is None else _wildcards(value)
    if kind == "template" and value is None:
        return None
    if not isinstance(value, str):
        raise ConfigurationError([("", "must be text")])
    return Template(value) if kind == "template" else value


def _wildcards(value: Any) -> Wildcards:  # Any: whatever the file says
    if not isinstance(value, dict):
        raise ConfigurationError([("", "must be a mapping with one and any")])
    problems: list[Problem] = []
    for key, each in value.items():
        wanted = {"one": str, "any": str, "any_last_only": bool}.get(key)
        if wanted is None:
            problems.append((str(key), "there is no such attribute"))
        elif not isinstance(each, wanted):
            problems.append((key, "must be text" if wanted is str else "must be true or false"))
    if problems:
        raise ConfigurationError(problems)
    return Wildcards(**value)


ALLOWED_PARTS: Final[dict[str, set[str]]] = {
    "queue": {"queue"},
    "queue_created": {"queue"},
    "exchange": {"exchange", "key"},
    "fanout": {"exchange"},
    "subscription": {"exchange", "key", "name"},
    "fanout_subscription": {"exchange", "name"},
    "durable_subscription": {"exchange", "key", "name"},
}
NEEDED_PART: Final = {
    "queue": "queue",
    "queue_created": "queue",
    "exchange": "exchange",
    "fanout": "exchange",
}


def _readings(profile: Profile) -> list[Problem]:
    """What is wrong with the templates together: a part that has no value, two readings."""
    problems: list[Problem] = []
    for key, allowed in ALLOWED_PARTS.items():
        template: Template | None = getattr(profile, key)
        if template is None:
            continue
        problems += [
            (key, f"has no part {{{part}}}") for part in template.parts if part not in allowed
        ]
        needed = NEEDED_PART.get(key)
        if needed is not None and needed not in template.parts:
            problems.append((key, f"needs {{{needed}}}: else two nodes have one address"))
    told_apart = set(profile.queue_capabilities) != set(profile.exchange_capabilities)
    exchange, fanout = profile.exchange, profile.fanout
    for key, template in (("exchange", exchange), ("fanout", fanout)):
        if template is not None and not told_apart and template.may_meet(profile.queue):
            problems.append(
                (key, "may make the address of a queue: give them different capabilities")
            )
    if exchange is None or fanout is None or exchange.text == fanout.text:
        return problems
    if exchange.may_meet(fanout):
        problems.append(("fanout", "may make an address that exchange makes, too"))
    return problems


def _consistency(profile: Profile) -> list[Problem]:
    problems: list[Problem] = []
    if profile.subscriptions == "managed":
        if profile.management == "none":
            problems.append(("subscriptions", "needs management"))
    elif profile.subscriptions != "none" and profile.subscription is None:
        problems.append(("subscriptions", "needs subscription, or exchange"))
    if profile.keys_in == "to" and (
        profile.exchange is None or "key" not in profile.exchange.parts
    ):
        problems.append(("keys_in", "needs a {key} in exchange"))
    return problems


def default_of(attribute: str) -> Any:  # Any: as the table says
    """What an attribute is that a profile does not set."""
    default = getattr(Profile(), attribute)
    return default.text if isinstance(default, Template) else default


def attributes() -> list[tuple[str, str, str, str]]:
    """What a profile can say: name, kind, default ("": none) and help of each attribute."""
    described = [
        (
            "like",
            "text",
            "",
            "One of the gateway's own profiles: what the file does not say is as there.",
        )
    ]
    for name, attribute in ATTRIBUTES.items():
        kind = attribute.kind if isinstance(attribute.kind, str) else " or ".join(attribute.kind)
        described.append((name, kind, _spelled(default_of(name)), attribute.help))
    return described


def _spelled(default: Any) -> str:
    if isinstance(default, bool):
        return "true" if default else "false"
    return str(default) if default else ""
