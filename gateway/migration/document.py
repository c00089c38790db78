"""A survey: what is there at a 0-10 broker, as one document that people and `plan` read.

Each section is a mapping of that document; what the broker did not tell is left out.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import yaml
from pydantic import Field

from gateway.config.raw import validated
from gateway.config.section import Section
from gateway.errors import ConfigurationError
from gateway.files.json_text import json_value
from gateway.files.yaml_text import load_yaml, said

VERSION: Final = 1
Severity = Literal["breaks", "differs", "note"]
Arguments = dict[str, Any]  # Any: whatever a client has said: numbers, texts, maps of them


class Broker(Section):
    """Who was asked, and how."""

    address: str = ""
    """Where it was reached."""
    asked: list[str] = Field(default_factory=list)
    """By what: QMF, 0-10, REST."""
    product: str = ""
    version: str = ""
    virtual_host: str = ""
    made_on_demand: list[str] = Field(default_factory=list)
    """Of names that match these it makes nodes when somebody asks for them."""
    prepared: int = 0
    """Branches of distributed transactions that are prepared and not decided."""
    ha: str = ""
    """Its part in a cluster of qpidds, "" for none."""
    connections_per_address: int = 0
    """Limits that it was started with; 0 is none."""
    connections_per_user: int = 0
    queues_per_user: int = 0


class Exchange(Section):
    """An exchange."""

    name: str
    type: str
    durable: bool = False
    auto_delete: bool = False
    alternate_exchange: str = ""
    arguments: Arguments = Field(default_factory=dict)


class Queue(Section):
    """A queue."""

    name: str
    durable: bool = False
    auto_delete: bool = False
    exclusive: bool = False
    alternate_exchange: str = ""
    alternate_queue: str = ""
    """Where a Broker-J sends what it cannot deliver, if that is a queue."""
    arguments: Arguments = Field(default_factory=dict)
    messages: int = 0
    octets: int = 0


class Binding(Section):
    """A binding; those of the default exchange, which every queue has, are left out."""

    exchange: str
    queue: str
    key: str = ""
    arguments: Arguments = Field(default_factory=dict)


class Subscription(Section):
    """Who receives from a queue."""

    queue: str
    client: str = ""
    """The address of one of `clients`."""
    browse: bool = False
    exclusive: bool = False
    arguments: Arguments = Field(default_factory=dict)


class Client(Section):
    """A connection."""

    address: str
    user: str = ""
    mechanism: str = ""
    """Of SASL."""
    protocol: str = ""
    product: str = ""
    version: str = ""
    platform: str = ""
    process: str = ""
    federation: bool = False
    """It is another broker."""
    detached_lifespan_s: int = 0
    """How long its sessions are to outlive it, the longest of them."""
    transactions: bool = False
    """It has selected transactions in a session."""


class Link(Section):
    """A link of federation to another broker."""

    name: str
    host: str = ""
    port: int = 0
    durable: bool = False
    state: str = ""


class Bridge(Section):
    """What a link brings."""

    name: str
    link: str = ""
    source: str = ""
    destination: str = ""
    key: str = ""
    dynamic: bool = False
    source_is_queue: bool = False
    push: bool = False
    """From here to the other broker; else from there to here."""


class Acl(Section):
    """Its access rules."""

    at_broker: str = ""
    """Where the broker says that they stand, on its machine."""
    kind: Literal["qpidd", "broker-j"] = "qpidd"
    text: str | None = None
    """The file, where it was given."""


class Finding(Section):
    """Something that will not be the same behind the gateway."""

    severity: Severity
    """breaks: clients are refused, or lose what they count on; differs: it goes on, otherwise;
    note: it is to be known, or done, before they move."""
    where: str
    what: str


class Survey(Section):
    """The whole document."""

    survey: int = VERSION
    """The version of its form."""
    taken_at: str = ""
    broker: Broker = Broker()
    not_asked: list[str] = Field(default_factory=list)
    """What it would not tell, and why."""
    exchanges: list[Exchange] = Field(default_factory=list)
    queues: list[Queue] = Field(default_factory=list)
    bindings: list[Binding] = Field(default_factory=list)
    subscriptions: list[Subscription] = Field(default_factory=list)
    clients: list[Client] = Field(default_factory=list)
    links: list[Link] = Field(default_factory=list)
    bridges: list[Bridge] = Field(default_factory=list)
    acl: Acl | None = None
    findings: list[Finding] = Field(default_factory=list)
    """What was found when it was written; `plan` finds it anew."""


def as_plain(survey: Survey) -> dict[str, Any]:  # Any: as YAML and JSON hold it
    """The document: findings first below the broker, what is empty or as usual left out."""
    told = survey.model_dump(exclude_defaults=True)
    head = ("taken_at", "broker", "not_asked", "findings")
    rest = [key for key in told if key not in head]
    return {"survey": survey.survey, **{key: told[key] for key in (*head, *rest) if key in told}}


class Dumper(yaml.SafeDumper):
    """Texts of several lines as people write them."""


def _text(dumper: Dumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


Dumper.add_representer(str, _text)


def as_yaml(survey: Survey) -> str:
    """The document as YAML."""
    told = as_plain(survey)
    return str(yaml.dump(told, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=100))


def read(octets: bytes, name: str) -> Survey:
    """A survey from its document, YAML or JSON; `name` is for what is wrong with it.

    Raises:
        ConfigurationError: with every problem.
    """
    try:
        raw = json_value(octets) if octets.lstrip().startswith(b"{") else load_yaml(octets)
    except (ValueError, yaml.YAMLError) as error:
        text = said(error) if isinstance(error, yaml.YAMLError) else str(error)
        raise ConfigurationError([(name, text)]) from None
    if not isinstance(raw, dict) or "survey" not in raw:
        raise ConfigurationError([(name, "is no survey: `amqp-gateway migrate survey` writes one")])
    if raw["survey"] != VERSION:
        raise ConfigurationError([(name, f"is a survey of form {raw['survey']}, not {VERSION}")])
    made, problems = validated(Survey, raw)
    if problems:
        raise ConfigurationError([(f"{name}: {key}", problem) for key, problem in problems])
    return made
