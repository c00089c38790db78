"""The keys of upstreams, the containers that the gateway dials, and of the nodes that live at them.

A part of the table in `settings`.
"""

from __future__ import annotations

import pathlib
from typing import Annotated, Literal

from pydantic import Field

from gateway.config.section import Count, Section
from gateway.config.units import Host, duration, host, size

Mechanism = Literal[
    "SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN", "EXTERNAL", "OAUTHBEARER", "XOAUTH2", "ANONYMOUS"
]
Pattern = Annotated[str, Field(min_length=1, max_length=255)]
ON_REJECTED = r"^(dead-letter|exception|drop|queue:.{1,255})$"
# What shows its secret to whoever reads along.
BEARER_MECHANISMS = ("OAUTHBEARER", "XOAUTH2")
BARE_MECHANISMS = ("PLAIN", *BEARER_MECHANISMS)


class BackOff(Section):
    """How long to wait before the next attempt."""

    initial: Annotated[int, *duration("10ms", "1h")] = 500
    """Before the first repetition ..."""
    maximum: Annotated[int, *duration("10ms", "24h")] = 15_000
    """... and never longer than this: so long may an outage go on after the upstream is back."""
    factor: Annotated[float, Field(ge=1, le=10)] = 2.0
    """Each wait is that many times the one before."""
    jitter: Annotated[float, Field(ge=0, le=1)] = 0.2
    """Part of each wait that chance may take away, so that not everybody comes back at once."""


class RedeliveryBackOff(BackOff):
    """The same for a message, which is given up after `max_redeliveries` of them."""

    maximum: Annotated[int, *duration("10ms", "24h")] = 60_000
    """... and never longer than this."""


class UpstreamTls(Section):
    """Whom to believe behind `amqps://`, and who the gateway is to them."""

    ca: pathlib.Path | None = None
    """PEM file: authorities of the upstream's certificate. Unset: the system's."""
    certificate: pathlib.Path | None = None
    """PEM file: the gateway's certificate, then any intermediate ones; for SASL EXTERNAL, among
    others."""
    key: pathlib.Path | None = None
    """PEM file: that certificate's private key, not encrypted."""
    server_name: str | None = None
    """The name that the certificate must be for. Unset: the host that is dialled."""
    verify: bool = True
    """False believes any certificate: somebody in between could read and change everything."""


class UpstreamSection(Section):
    """One upstream: a broker, at one or several addresses."""

    hosts: Annotated[list[Annotated[Host, *host()]], Field(min_length=1)]
    """`amqp://HOST:PORT` or `amqps://HOST:PORT`; the next one is tried when one fails."""
    profile: str = "generic"
    """What kind of broker it is: a profile of the gateway's own, or a file with one."""
    mechanisms: list[Mechanism] | None = None
    """SASL mechanisms, best first. Unset: those that the credentials allow."""
    username: str | None = None
    """The gateway's login at the upstream."""
    password_file: pathlib.Path | None = None
    """File with the password; one newline at its end is not part of it."""
    password_env: str | None = None
    """Environment variable with the password."""
    token_file: pathlib.Path | None = None
    """File with an OAuth 2.0 bearer token, kept fresh by somebody else. It is shown by OAUTHBEARER,
    with a `username` also by XOAUTH2 or, as a password (RabbitMQ), by PLAIN. A new token in it is
    shown soon: the connection is made anew between deliveries. Where tokens are put for single
    nodes (Azure) it is read again before the last one expires."""
    sas_key_name: str | None = None
    """Name of a shared access key (Azure), by which tokens for the nodes are signed."""
    sas_key_file: pathlib.Path | None = None
    """File with that key; one newline at its end is not part of it."""
    allow_plain_without_tls: bool = False
    """Show password or token to a host that is neither this machine nor behind TLS."""
    tls: UpstreamTls | None = None
    hostname: str | None = None
    """The hostname of the 1.0 open, as `vhost:NAME` for RabbitMQ. Unset: the host dialled."""
    container_id: str | None = None
    """The gateway's container-id; durable subscriptions hang on it. Unset: `name`, and in a `group`
    that of the pod, while subscriptions hang on the group."""
    idle_timeout: Annotated[int, *duration("0s", "24h")] = 60_000
    """The idle-timeout asked of it; 0s asks for none."""
    max_frame_size: Annotated[int, *size(512, "1MiB")] = 65535
    """Largest frame accepted from it."""
    connect_timeout: Annotated[int, *duration("100ms", "10m")] = 10_000
    """From dialling to its open, TLS and authentication included."""
    attach_timeout: Annotated[int, *duration("100ms", "10m")] = 30_000
    """How long it may take to answer an attach."""
    back_off: BackOff = BackOff()
    """Between two attempts to connect, or to attach a link."""
    link_credit: Annotated[int, Field(ge=1, le=1_000_000)] = 500
    """Messages asked for ahead where a consumer's credit has no limit."""
    links: Count = 10_000
    """Links to it at a time; more are refused."""
    window: Count = 1_000
    """Messages to one node that may be under way, not settled yet: so many are in doubt after a
    crash, and sent again."""
    addresses: Count = 256
    """Links that one exchange keeps, one for each address that its messages go to."""
    reply_nodes: Count = 1_000
    """Reply nodes that are kept at it for requests of the gateway's clients."""
    detours: Annotated[int, Field(ge=0, le=1_000)] = 16
    """Connections to other hosts that it redirects links to, with the same credentials; 0: none, a
    link that is redirected asks again."""
    max_redeliveries: Annotated[int, Field(ge=0, le=1_000_000)] = 10
    """Released or modified that often, a message is taken to be rejected."""
    redelivery_back_off: RedeliveryBackOff = RedeliveryBackOff()
    """Before a message that was released or modified is sent again."""
    resume: bool = True
    """After a lost connection, resume links where the profile says that it can."""

    def puts_tokens(self, *, cbs: bool) -> bool:
        """Whether we show tokens for single nodes; `cbs`: the profile says that it takes them."""
        bearer = self.token_file is not None and self.username is None and not self.mechanisms
        return cbs and (self.sas_key_name is not None or bearer)

    @property
    def has_password(self) -> bool:
        """Whether a password is given, somehow."""
        return self.password_file is not None or self.password_env is not None

    def shows_token(self, *, cbs: bool) -> bool:
        """Whether a login may show the token; `cbs` as above."""
        if self.token_file is None:
            return False
        able = self.all_mechanisms(cbs=cbs)
        return any(
            each in BEARER_MECHANISMS or (each == "PLAIN" and not self.has_password)
            for each in able
        )

    def shows_secrets(self, *, cbs: bool) -> bool:
        """Whether who reads along would see a secret that nobody allows; `cbs` as above."""
        able = self.all_mechanisms(cbs=cbs)
        bare = any(each in BARE_MECHANISMS for each in able) or self.puts_tokens(cbs=cbs)
        return bare and not self.allow_plain_without_tls

    def all_mechanisms(self, *, cbs: bool) -> list[str]:
        """What `mechanisms` comes to; `cbs` as above."""
        if self.mechanisms is not None:
            return [*self.mechanisms]
        if self.puts_tokens(cbs=cbs):
            return ["ANONYMOUS"]
        able: list[str] = []
        bare = self.allow_plain_without_tls or all(each.private for each in self.hosts)
        if self.tls is not None and self.tls.certificate is not None and self.username is None:
            able.append("EXTERNAL")
        if self.token_file is not None and bare:
            able += ["OAUTHBEARER"] if self.username is None else ["OAUTHBEARER", "XOAUTH2"]
        if self.token_file is not None and self.username is not None and not self.has_password:
            able += ["PLAIN"] if bare else []
        if self.has_password:
            able += ["SCRAM-SHA-512", "SCRAM-SHA-256", *(["PLAIN"] if bare else [])]
        return able or ["ANONYMOUS"]


class ShadowSection(Section):
    """Where what is published to a queue goes, too."""

    upstream: str
    """The upstream that gets the copies."""
    queue: Annotated[str, Field(min_length=1, max_length=255)] = "{queue}.shadow"
    """A template for the name of the queue there that they go to."""
    share: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Part of all messages, chosen by their ids: of a message with the same id it is always the
    same. Below 1, messages without an id have no copy."""
    max_size: Annotated[int, *size("64KiB", "4GiB")] = 16 * 1024 * 1024
    """Octets of copies that the gateway holds until the upstream has them, in memory; what is
    beyond is not mirrored, and counted."""
    ttl: Annotated[int, *duration("0s", "30d")] = 3_600_000
    """How long a copy lives, at the gateway and at the upstream, unless its message has less;
    0s: as long as that."""


class NodeSection(Section):
    """Where queues or exchanges live. The first rule that fits a name decides."""

    queue: Pattern | None = None
    """A queue's name; `*` stands for any run of characters, also none."""
    exchange: Pattern | None = None
    """An exchange's name, in the same way; a rule has one of both."""
    virtual_host: str | None = None
    """The virtual host. Unset: every one."""
    upstream: str | None
    """The upstream where it lives; null: it is local."""
    address: str | None = None
    """A template for its address at the upstream, such as `old.{queue}` or
    `{exchange|word}.{key|percent}` (`check --profiles` tells more). Unset: the profile's."""
    subscription: str | None = None
    """Of an exchange: a template for the source of its bindings. Unset: `address`, or the
    profile's."""
    spool: bool = False
    """Of a queue: publishers hear "done" when the gateway has stored the message, which is then
    sent on."""
    on_rejected: Annotated[str, Field(pattern=ON_REJECTED)] = "dead-letter"
    """What becomes of a message that the upstream rejects and whose publisher did not ask: to the
    local queue gateway.rejected (dead-letter); to a queue at an upstream (queue:NAME), of which
    what is rejected again goes to gateway.rejected; an exception to its publisher (exception); or
    dropped, and counted (drop)."""
    max_redeliveries: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    """Released or modified that often, a message to these nodes is taken to be rejected. Unset: as
    the upstream has it."""
    paused: bool = False
    """Send nothing to its nodes for now; publishers wait, or their messages are spooled."""
    create: bool = False
    """Make the node at the upstream when it is missing, where the profile can."""
    settled: bool = False
    """Of a queue: have the upstream settle what goes to consumers without acceptance (accept-mode
    none, snd-settle-mode settled) as it sends it. Faster, and at most once: what it has handed to
    a consumer's link, up to 50 messages, it may drop when that link ends, because the consumer
    leaves or the connection or the gateway does. False: nothing is lost so."""
    shadow: ShadowSection | None = None
    """Of a queue, a local one, too: send copies of what is published to it to another upstream.
    Neither publishers nor consumers notice, whatever becomes of them."""

    @property
    def kind(self) -> str:
        """Which of the two the rule is for."""
        return "exchange" if self.queue is None else "queue"

    @property
    def pattern(self) -> str:
        """The names it is for."""
        return self.queue or self.exchange or ""

    @property
    def exact(self) -> bool:
        """Whether it is for one name."""
        return "*" not in self.pattern
