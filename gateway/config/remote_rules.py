"""The rules that span keys of upstreams and nodes: what they read, and what is wrong."""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Iterator
from typing import Final

from gateway.config.placement import matches
from gateway.config.settings import Settings
from gateway.config.upstreams import (
    BARE_MECHANISMS,
    BEARER_MECHANISMS,
    NodeSection,
    UpstreamSection,
)
from gateway.errors import ConfigurationError
from gateway.files.whole import is_file
from gateway.translate.profiles.loading import Profile, load_profile
from gateway.translate.profiles.profile import AMQP_0_10
from gateway.translate.profiles.templates import Template

Found = Iterator[tuple[list[str], str]]
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
# What only nodes of an upstream have.
REMOTE_KEYS: Final = (
    "address",
    "subscription",
    "spool",
    "max_redeliveries",
    "paused",
    "create",
    "settled",
)
PARTS: Final[dict[str, dict[str, set[str]]]] = {
    "queue": {"address": {"queue"}},
    "exchange": {
        "address": {"exchange", "key"},
        "subscription": {"exchange", "key", "name"},
    },
}


def profile_problems(named: str) -> list[str]:
    """What is wrong with a profile, by its name or path."""
    try:
        load_profile(named)
    except ConfigurationError as error:
        return [f"{key}: {problem}" if key else problem for key, problem in error.problems]
    return []


def remote_rules(settings: Settings) -> Found:
    """All of them."""
    profiles: dict[str, Profile] = {}
    for name, upstream in settings.upstreams.items():
        path = f"upstreams.{name}"
        if NAME.fullmatch(name) is None:
            yield [path], 'a name has letters, digits, ".", "_" and "-", at most 64 of them'
        try:
            profiles[name] = load_profile(upstream.profile)
        except ConfigurationError:
            for problem in profile_problems(upstream.profile):
                yield [f"{path}.profile"], problem
        yield from _hosts(path, upstream)
        yield from _credentials(path, upstream)
        yield from _mechanisms(path, upstream)
        if name in profiles:
            yield from _tokens(path, upstream, cbs=profiles[name].cbs)
        yield from _files(path, upstream)
        for key in ("back_off", "redelivery_back_off"):
            back_off = getattr(upstream, key)
            if back_off.initial > back_off.maximum:
                paths = [f"{path}.{key}.{end}" for end in ("initial", "maximum")]
                yield paths, f"must not be above {paths[1]}"
    yield from _nodes(settings, profiles)


def _hosts(path: str, upstream: UpstreamSection) -> Found:
    if len(set(upstream.hosts)) < len(upstream.hosts):
        yield [f"{path}.hosts"], "the same host stands twice"
    if upstream.tls is not None and not any(each.tls for each in upstream.hosts):
        yield [f"{path}.tls", f"{path}.hosts"], "no host is reached by amqps://"


def _credentials(path: str, upstream: UpstreamSection) -> Found:
    user, file, env = (f"{path}.{key}" for key in ("username", "password_file", "password_env"))
    if upstream.password_file is not None and upstream.password_env is not None:
        yield [env, file], "the password is given twice: password_file has it, too"
    password = upstream.has_password
    if password and upstream.username is None:
        yield [user, file, env], "must be set where a password is"
    if upstream.username is not None and not password and upstream.token_file is None:
        yield [user, file, env, f"{path}.token_file"], "needs password_file, or password_env"
    if upstream.password_env is not None and upstream.password_env not in os.environ:
        yield [env], f"there is no environment variable {upstream.password_env}"
    tls = upstream.tls
    if tls is not None and (tls.certificate is None) != (tls.key is None):
        yield [f"{path}.tls.certificate", f"{path}.tls.key"], "goes with tls.key: set both"


def _mechanisms(path: str, upstream: UpstreamSection) -> Found:
    key = f"{path}.mechanisms"
    if upstream.mechanisms is None:
        return
    if not upstream.mechanisms:
        yield [key], "must not be empty: leave it out, or say ANONYMOUS"
    if len(set(upstream.mechanisms)) < len(upstream.mechanisms):
        yield [key], "the same mechanism stands twice"
    secret = [f"{path}.username", f"{path}.password_file", f"{path}.password_env"]
    token = f"{path}.token_file"
    for mechanism in upstream.mechanisms:
        if mechanism.startswith("SCRAM") and not upstream.has_password:
            yield [key, *secret], f"{mechanism} needs username and password_file, or password_env"
        if mechanism == "PLAIN" and not upstream.has_password and upstream.token_file is None:
            needed = "username, and password_file, password_env or token_file"
            yield [key, *secret, token], f"PLAIN needs {needed}"
        if mechanism in BEARER_MECHANISMS and upstream.token_file is None:
            yield [key, token], f"{mechanism} needs token_file"
        if mechanism in ("XOAUTH2", "PLAIN") and upstream.username is None:
            yield [key, f"{path}.username"], f"{mechanism} needs username"
        if mechanism == "EXTERNAL" and (upstream.tls is None or upstream.tls.certificate is None):
            yield [key, f"{path}.tls"], "EXTERNAL needs tls.certificate and tls.key"
    bare = [each for each in upstream.mechanisms if each in BARE_MECHANISMS]
    seen_by_all = [str(each) for each in upstream.hosts if not each.private]
    if bare and seen_by_all and not upstream.allow_plain_without_tls:
        yield (
            [key, f"{path}.hosts", f"{path}.allow_plain_without_tls"],
            f"{bare[0]} shows the secret to everybody on the way to {seen_by_all[0]}: use"
            " amqps://, or say allow_plain_without_tls: true",
        )


def _tokens(path: str, upstream: UpstreamSection, *, cbs: bool) -> Found:
    """Of tokens that are put for single nodes."""
    name, file = f"{path}.sas_key_name", f"{path}.sas_key_file"
    if (upstream.sas_key_name is None) != (upstream.sas_key_file is None):
        yield [name, file], "goes with sas_key_file: set both"
    if upstream.sas_key_name is not None and not cbs:
        yield [name, f"{path}.profile"], "is of use only where the profile says cbs"
    if upstream.sas_key_name is not None and upstream.token_file is not None:
        yield [name, f"{path}.token_file"], "must not be set beside token_file"
    open_hosts = [str(each) for each in upstream.hosts if not each.private]
    if upstream.puts_tokens(cbs=cbs) and open_hosts and not upstream.allow_plain_without_tls:
        yield (
            [f"{path}.hosts", f"{path}.allow_plain_without_tls"],
            f"tokens would be seen by everybody on the way to {open_hosts[0]}: use amqps://",
        )


def _files(path: str, upstream: UpstreamSection) -> Found:
    files: dict[str, pathlib.Path | None] = {
        "password_file": upstream.password_file,
        "token_file": upstream.token_file,
        "sas_key_file": upstream.sas_key_file,
    }
    if upstream.tls is not None:
        for key in ("ca", "certificate", "key"):
            files[f"tls.{key}"] = getattr(upstream.tls, key)
    for key, file in files.items():
        if file is not None and not is_file(file):
            yield [f"{path}.{key}"], f"there is no file {file}"


def _nodes(settings: Settings, profiles: dict[str, Profile]) -> Found:
    hosts = [each.name for each in settings.virtual_hosts]
    before = _Before()
    for at, node in enumerate(settings.nodes):
        path = f"nodes.{at}"
        if node.upstream is not None and node.upstream not in settings.upstreams:
            yield (
                [f"{path}.upstream", f"upstreams.{node.upstream}"],
                unknown_upstream(node.upstream),
            )
        if (node.queue is None) == (node.exchange is None):
            yield [path], "must have one of queue and exchange"
            continue
        if node.virtual_host is not None and node.virtual_host not in hosts:
            yield (
                [f"{path}.virtual_host", "virtual_hosts"],
                f'there is no virtual host "{node.virtual_host}"',
            )
        first = before.hiding(node)
        before.add(at, node)
        if first is not None:
            yield [path], f"fits no name that nodes.{first} does not fit, which comes first"
        yield from _keys_for(path, node)
        yield from _shadow(path, node, settings, profiles)
        templates = {}
        for key in ("address", "subscription"):
            problem, template = _template(node, key)
            if problem:
                yield [f"{path}.{key}"], problem
            templates[key] = template
        if node.upstream in profiles:
            yield from _profile(path, node, profiles[node.upstream], templates["address"])


def unknown_upstream(name: str) -> str:
    """What is said of a rule that names it."""
    return f'there is no upstream "{name}"'


class _Before:
    """The rules before one: those of one name are looked up, since there may be thousands."""

    def __init__(self) -> None:
        self._exact: dict[tuple[str, str | None, str], int] = {}
        self._others: list[tuple[int, NodeSection]] = []

    def add(self, at: int, node: NodeSection) -> None:
        """One more, of one kind."""
        if node.exact:
            self._exact.setdefault((node.kind, node.virtual_host, node.pattern), at)
        else:
            self._others.append((at, node))

    def hiding(self, node: NodeSection) -> int | None:
        """The first that fits all names of the rule."""
        wheres = {None, node.virtual_host}
        found = [self._exact.get((node.kind, where, node.pattern)) for where in wheres]
        for at, other in self._others:
            same = other.kind == node.kind and other.virtual_host in wheres
            # A "*" of the one is, in the other's eyes, a character that only its own "*" can match.
            if same and matches(other.pattern, node.pattern):
                found.append(at)
                break
        return min((at for at in found if at is not None), default=None)


def _keys_for(path: str, node: NodeSection) -> Found:
    if node.upstream is None:
        for key in REMOTE_KEYS:
            if key in node.model_fields_set and getattr(node, key) not in (None, False):
                yield [f"{path}.{key}", f"{path}.upstream"], "is only for nodes of an upstream"
    for key in ("spool", "settled"):
        if node.kind == "exchange" and getattr(node, key):
            yield [f"{path}.{key}"], "is only for queues"
    if node.kind == "queue" and node.subscription is not None:
        yield [f"{path}.subscription"], "is only for exchanges"


def _template(node: NodeSection, key: str) -> tuple[str, Template | None]:
    """What is wrong with a template of a rule, and the template."""
    text = getattr(node, key)
    if text is None or key not in PARTS[node.kind]:
        return "", None
    return _made(text, PARTS[node.kind][key], node)


def _made(text: str, parts: set[str], node: NodeSection) -> tuple[str, Template | None]:
    """The same of its text, in which there may be these parts."""
    try:
        template = Template(text)
    except ConfigurationError as error:
        return error.problems[0][1], None
    for part in template.parts:
        if part not in parts:
            return f"has no part {{{part}}}", None
    if not node.exact and node.kind not in template.parts:
        return f"needs {{{node.kind}}}: else several nodes have one address", None
    return "", template


def _shadow(
    path: str, node: NodeSection, settings: Settings, profiles: dict[str, Profile]
) -> Found:
    """Of the shadow of a rule's queues."""
    shadow = node.shadow
    if shadow is None:
        return
    key = f"{path}.shadow.queue"
    at = f"{path}.shadow.upstream"
    if node.kind == "exchange":
        yield [f"{path}.shadow"], "is only for queues"
    if shadow.upstream not in settings.upstreams:
        yield [at, f"upstreams.{shadow.upstream}"], unknown_upstream(shadow.upstream)
    problem, template = _made(shadow.queue, {"queue"}, node)
    if problem:
        yield [key], problem
    elif template is not None and shadow.upstream in profiles:
        name = template.make(queue=node.pattern)
        if shadow.upstream == node.upstream and name == node.pattern:
            yield [key, at], "is the queue itself: what is published would come to it twice"
        if node.exact and not profiles[shadow.upstream].queue_address(name):
            reads = [key, at, f"upstreams.{shadow.upstream}.profile"]
            yield reads, f'its profile has no address for a queue "{name}"'


def _profile(path: str, node: NodeSection, profile: Profile, address: Template | None) -> Found:
    reads = [f"{path}.upstream", f"upstreams.{node.upstream}.profile"]
    if node.kind == "queue":
        made = profile.queue_address(node.pattern) if address is None else "given"
        if node.exact and not made:
            yield reads, f'its profile has no address for a queue "{node.pattern}": give one'
    elif profile.exchange is None and profile.fanout is None and node.address is None:
        yield reads, "its profile has no addresses for exchanges: give one"
    able = profile.protocol != AMQP_0_10 and (
        profile.missing == "auto"
        or profile.queue_created is not None
        or profile.management != "none"
        or node.address
    )
    if node.create and (node.kind == "exchange" or not able):
        yield [f"{path}.create", *reads], "its profile has no means to make such a node"
    if node.settled and not profile.settled:
        yield [f"{path}.settled", *reads], "its profile does not send settled deliveries"
    if profile.protocol == AMQP_0_10:
        if node.subscription is not None:
            yield [f"{path}.subscription", *reads], "an upstream of 0-10 is not subscribed to"
        if node.kind == "exchange" and address is not None and "key" in address.parts:
            yield [f"{path}.address", *reads], "to an upstream of 0-10 it is the exchange's name"
