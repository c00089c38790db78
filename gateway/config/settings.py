"""Every key of the configuration: its type, default, range and help text.

This table is the only place where a key is described: the loader, `amqp-gateway check`, the JSON
schema that the Helm chart embeds and the documentation are all made from it.
"""

from __future__ import annotations

import os
import pathlib
import platform
from typing import Annotated, Literal

from pydantic import Field, PrivateAttr

from gateway.bridge.limits import NO_QUOTA, BridgeLimits
from gateway.config.audit import AuditSettings
from gateway.config.section import Count, Section
from gateway.config.topology import BindingSection, ExchangeSection, QueueSection
from gateway.config.tracing import TracingSettings
from gateway.config.units import Address, Host, address, duration, host, size
from gateway.config.upstreams import NodeSection, UpstreamSection
from gateway.files.own import default_data_directory
from gateway.wire.limits import Limits
from gateway.wire.scram import ITERATIONS_MAX

Scram = Literal["SCRAM-SHA-256", "SCRAM-SHA-512"]
Legacy = Literal["DIGEST-MD5", "CRAM-MD5-HASHED", "CRAM-MD5"]
ListenAddress = Annotated[Address, *address()]


class Listen(Section):
    """Where clients connect; both protocols on every port."""

    amqp: ListenAddress | None = Address("127.0.0.1", 5672)
    """Plain AMQP 0-10 and 1.0, and 1.0 that asks for TLS by its header; null for none."""
    amqps: ListenAddress | None = None
    """TLS first, then either protocol; needs `tls`."""
    proxy_protocol: list[Literal["amqp", "amqps"]] = Field(default_factory=list)
    """Those of them to which only load balancers connect, which tell the clients' addresses by the
    PROXY protocol, version 2; whatever comes without its header is refused there."""


class Tls(Section):
    """The gateway's certificate, and which client certificates it believes."""

    certificate: pathlib.Path
    """PEM file: the certificate, then any intermediate ones."""
    key: pathlib.Path
    """PEM file: the certificate's private key, not encrypted."""
    client_ca: pathlib.Path | None = None
    """PEM file: authorities of client certificates. Clients that show one may use SASL EXTERNAL."""
    client_crl: pathlib.Path | None = None
    """PEM file: revocation lists of those authorities, of each that has issued client certificates;
    read again at a reload. A list that is out of date lets nobody in whom it would speak of."""
    require_client_certificate: bool = False
    """Refuse TLS clients that show no certificate; needs `client_ca`."""


class GssapiSettings(Section):
    """Logins by Kerberos, SASL GSSAPI. Needs the extra `gssapi`."""

    keytab: pathlib.Path
    """File with the keys of the gateway's service principals, such as amqp/host.example@EXAMPLE;
    new keys count from the next login."""
    realm: Annotated[str, Field(min_length=1, max_length=255)]
    """The realm whose principals are users."""
    strip_realm: bool = True
    """alice@EXAMPLE is the user alice, the same as in `users_file`; else alice@EXAMPLE."""
    users: dict[str, Annotated[str, Field(min_length=1)]] = Field(default_factory=dict)
    """Principals in full, of any realm, that are other users: by name."""


class HostSettings(Section):
    """One virtual host: a set of exchanges and queues of its own."""

    name: Annotated[str, Field(min_length=1, max_length=255)]
    """Its name: what a 0-10 client gives as virtual-host, a 1.0 client as `vhost:NAME`."""
    hostnames: list[str] = Field(default_factory=list)
    """Hostnames in a 1.0 open that mean this virtual host, in upper or lower case."""
    exchanges: list[ExchangeSection] = Field(default_factory=list)
    """Exchanges that are made at start; those that are there stay as they are."""
    queues: list[QueueSection] = Field(default_factory=list)
    """Queues that are made at start; those that are there stay as they are."""
    bindings: list[BindingSection] = Field(default_factory=list)
    """Bindings that are made at start, of these queues."""


class ElsewhereSettings(Section):
    """Other containers, as the clients of one virtual host are told of them."""

    redirect: Annotated[Host, *host()] | None = None
    """Where who opens the virtual host is sent instead, to this host and port: clients of 0-10 that
    do not insist, and all of 1.0. Null: they may stay."""
    known_hosts: list[Annotated[Host, *host()]] = Field(default_factory=list)
    """Where they may go when they lose this gateway; told in the answer to their open."""


class LimitSettings(Section):
    """What one client may ask for. Each is answered with the error that the protocol names."""

    connections: Count = 10_000
    """Connections at a time, all clients together; fewer where the process may not have so many
    files open (ulimit -n), of which some are kept for the store, the log and the admin port."""
    connections_per_address: Count = 1_000
    """Connections at a time from one IP address (of IPv6: one prefix of 64 bits). One that is cut
    off gives its place back at once; with those whose end waits for its turn there may be twice as
    many."""
    logins_per_address: Count = 64
    """Those of them that have not opened yet and are heard; others wait for their turn."""
    max_frame_size: Annotated[int, *size(4096, 65535)] = 65535
    """Largest frame accepted and offered."""
    channel_max: Annotated[int, Field(ge=1, le=65535)] = 1023
    """Highest channel number offered."""
    sessions: Annotated[int, Field(ge=1, le=65535)] = 256
    """Sessions of one connection."""
    links: Count = 1024
    """Links (1.0) or subscriptions (0-10) of one session."""
    unsettled: Count = 10_000
    """Deliveries of one session that the client has not settled yet, or in a transaction that has
    not ended."""
    commands_in_doubt: Count = 65_536
    """0-10 commands of one session not completed after a turn; at half of it reading pauses."""
    octets_in_doubt: Annotated[int, *size("64KiB", "2GiB")] = 16 * 1024 * 1024
    """Octets of one connection's publishes that wait to be confirmed; then it is slowed down."""
    message_size: Annotated[int, *size(1024, "2GiB")] = 64 * 1024 * 1024
    """Largest message."""
    depth: Annotated[int, Field(ge=4, le=100)] = 32
    """Nesting of maps, lists and arrays."""
    table_size: Annotated[int, *size(1024, "64MiB")] = 1024 * 1024
    """Encoded size of one header table."""
    handshake_timeout: Annotated[int, *duration("100ms", "10m")] = 10_000
    """From accepting a connection to its open, TLS and authentication included."""
    heartbeat: Annotated[int, *duration("0s", "18h")] = 120_000
    """0-10 heartbeat offered, in whole seconds; 0s offers none."""
    heartbeat_minimum: Annotated[int, *duration("0s", "18h")] = 0
    """The least that a 0-10 client must choose of it; 0s lets it choose none, as many do."""
    idle_timeout: Annotated[int, *duration("0s", "24h")] = 120_000
    """1.0 idle-timeout asked of clients; 0s asks for none."""
    session_window: Annotated[int, Field(ge=1, le=2**31 - 1)] = 2048
    """1.0 incoming window: transfer frames that one session may have under way."""
    link_credit: Annotated[int, Field(ge=1, le=2**31 - 1)] = 500
    """1.0 credit granted to a sender."""
    batch: Count = 5_000
    """Messages that one 1.0 delivery of a batch's message-format may hold; all are taken at once,
    and others wait so long (5,000: about 20 ms)."""
    transactions: Count = 100
    """1.0 transactions of one connection that are not discharged."""
    elements: Annotated[int, Field(ge=100, le=10_000_000)] = 10_000
    """Values in the lists, maps and arrays of one command or message, together, an entry of a map
    counted once: a command with more is refused, a body with more crosses unread, a counted loss.
    Each takes a microsecond or two to translate."""
    connection_size: Annotated[int, *size("1MiB", "4GiB")] = 128 * 1024 * 1024
    """Octets that are kept for one connection: what has come of frames, commands and messages that
    are not whole, what waits, what is known of sessions and links; at least two messages."""
    user_size: Annotated[int, *size("1MiB", "1TiB")] = 512 * 1024 * 1024
    """The same of all connections of one user, or to one upstream."""
    host_size: Annotated[int, *size("1MiB", "1TiB")] = 1024 * 1024 * 1024
    """The same of all connections to one virtual host; an eighth of it is for users who have a
    sixty-fourth of it at most."""
    login_size: Annotated[int, *size(4096, "1MiB")] = 64 * 1024
    """Octets of one connection before its open."""
    answers: Annotated[int, *size("16KiB", "64MiB")] = 256 * 1024
    """Octets of answers that a peer does not read, above which nothing more is read of it."""
    unread: Annotated[int, *size("64KiB", "64MiB")] = 1024 * 1024
    """Octets of deliveries that a client is given ahead of what its transport takes, and what is
    left of the last; 64KiB once half of what may be kept for its user or virtual host is."""
    session_timeout: Annotated[int, *duration("0s", "24h")] = 60_000
    """Longest time, in whole seconds, for which what a 0-10 session holds is kept when its
    connection is lost, of sessions that ask for that (session.request-timeout), and what is
    unsettled of a 1.0 link that asks for that (the source's timeout); 0s grants none."""
    staging_size: Annotated[int, *size(0, "1TiB")] = 256 * 1024 * 1024
    """Octets that the files of one user which a virtual host has staged, or is to have, may take:
    those of 0-10's class file that are opened and not published, and 1 KiB more for each. All of
    them together may take half of queues.size_high, one user half of what others leave of that."""
    staging_timeout: Annotated[int, *duration("1s", "30d")] = 3_600_000
    """How long what is staged of a file is kept when nothing more of it comes."""
    escrow: Annotated[int, *size(0, "64KiB")] = 16 * 1024
    """Most escrow that one message may carry; above it the mapping row's policy applies."""

    def as_limits(self) -> Limits:
        """The same, as the plain values that the protocol packages are given."""
        return Limits(
            max_frame_size=self.max_frame_size,
            channel_max=self.channel_max,
            sessions_max=self.sessions,
            links_max=self.links,
            unsettled_max=self.unsettled,
            commands_in_doubt_max=self.commands_in_doubt,
            octets_in_doubt_max=self.octets_in_doubt,
            message_size_max=self.message_size,
            depth_max=self.depth,
            table_size_max=self.table_size,
            handshake_timeout_ms=self.handshake_timeout,
            heartbeat_s=self.heartbeat // 1000,
            heartbeat_min_s=self.heartbeat_minimum // 1000,
            idle_timeout_ms=self.idle_timeout,
            session_window=self.session_window,
            link_credit=self.link_credit,
            batch_max=self.batch,
            escrow_max=self.escrow,
            transactions_max=self.transactions,
            kept_max=max(self.connection_size, 2 * self.message_size),
            login_octets_max=self.login_size,
            answers_max=self.answers,
            unread_max=self.unread,
            session_timeout_s=self.session_timeout // 1000,
        )


class QueueSettings(Section):
    """What all queues together may hold, and how many there may be.

    Above a high mark publishers wait for their confirmation until the low mark is reached; above
    the maximum, which only those reach who do not wait, publishing is refused. Octets are those of
    messages, and 768 for each copy, the most that a small one takes: so a user's and a virtual
    host's share are of octets alone, and `messages_high` and `messages_max` are for all together.
    """

    size_high: Annotated[int, *size("64KiB", "1TiB")] = 512 * 1024 * 1024
    """Octets in all queues above which publishers wait ..."""
    size_low: Annotated[int, *size(0, "1TiB")] = 384 * 1024 * 1024
    """... until no more than this is left."""
    size_max: Annotated[int, *size("64KiB", "2TiB")] = 1024 * 1024 * 1024
    """Octets above which publishing is refused."""
    memory: Annotated[int, *size(0, "1TiB")] = 256 * 1024 * 1024
    """Octets in all queues above which those wanted last are on disk, in the data directory, until
    somebody comes near to them: these count 16 octets each for the marks here, and nothing else. Of
    no use above `size_high`. 0: everything stays in memory."""
    paged_size: Annotated[int, *size("1MiB", "16TiB")] = 4 * 1024 * 1024 * 1024
    """Octets of disk that they may take; when those are used up queues grow in memory."""
    index_memory: Annotated[int, *size("64KiB", "1TiB")] = 256 * 1024 * 1024
    """Octets of those marks of one queue above which its own publishers wait, until three quarters
    are left: of sixteen million messages."""
    messages_high: Count = 2_000_000
    """Messages in all queues above which publishers wait ..."""
    messages_low: Annotated[int, Field(ge=0, le=2**31 - 1)] = 1_500_000
    """... until no more than this is left."""
    messages_max: Count = 4_000_000
    """Messages above which publishing is refused."""
    user_size: Annotated[int, *size(0, "1TiB")] = 0
    """Octets of one user's messages in all queues above which its publishers wait, until no more
    than three quarters of it are left; twice as much is refused. 0: where there are users, three
    quarters of `size_high`."""
    host_size: Annotated[int, *size(0, "1TiB")] = 0
    """The same of one virtual host. 0: where there are several, three quarters of `size_high`."""
    queue_size: Annotated[int, *size(0, "1TiB")] = 0
    """Size limit of a queue that was declared without one; 0 is none."""
    queues: Count = 100_000
    """Queues of one virtual host."""
    exchanges: Count = 10_000
    """Exchanges of one virtual host."""
    bindings: Count = 1_000_000
    """Bindings of one virtual host."""
    subscriptions: Count = 100_000
    """Subscriptions of one queue."""
    name_length: Annotated[int, Field(ge=16, le=255)] = 255
    """Octets of a queue's or exchange's name."""
    key_length: Annotated[int, Field(ge=16, le=65535)] = 4096
    """Octets of a binding key."""
    route_cache: Annotated[int, Field(ge=0, le=10_000_000)] = 10_000
    """Routing keys of a topic exchange whose queues are remembered."""
    route_cache_size: Annotated[int, *size("64KiB", "1GiB")] = 16 * 1024 * 1024
    """Octets of memory that those take, of all topic exchanges of a virtual host."""
    topology_size: Annotated[int, *size("1MiB", "64GiB")] = 512 * 1024 * 1024
    """Octets of memory that a virtual host's queues, exchanges and bindings take, with their names,
    keys and arguments; a declare or bind beyond it is refused."""
    transaction_size: Annotated[int, *size("64KiB", "2GiB")] = 64 * 1024 * 1024
    """Octets of the messages that one transaction of a client holds until its commit; 256 more
    are counted for each copy, and only these of those that go to an upstream; and 256 for each
    message that a branch of a distributed one has accepted."""
    branches: Count = 10_000
    """Branches of distributed transactions of one virtual host, prepared ones included; one user
    may have half of them."""
    turn_deliveries: Annotated[int, Field(ge=1, le=100_000)] = 500
    """Messages sent in one turn of the event loop before it reads again."""

    def as_limits(
        self,
        backlog_octets_max: int,
        staged: LimitSettings,
        *,
        users: bool = False,
        hosts: bool = False,
        grouped: bool = False,
    ) -> BridgeLimits:
        """The same, as the plain values that the bridge is given.

        `staged`: the limits of what is staged are there. `users`, `hosts`: there are several.
        `grouped`: there are other gateways, so that nothing may live in this one.
        """
        usual = self.size_high * 3 // 4
        return BridgeLimits(
            backlog_octets_max=backlog_octets_max,
            user_octets=self.user_size or (usual if users else NO_QUOTA),
            host_octets=self.host_size or (usual if hosts else NO_QUOTA),
            octets_high=self.size_high,
            octets_low=self.size_low,
            octets_max=self.size_max,
            memory_octets=self.memory,
            index_octets=self.index_memory,
            messages_high=self.messages_high,
            messages_low=self.messages_low,
            messages_max=self.messages_max,
            queue_size_default=self.queue_size,
            queues_max=self.queues,
            exchanges_max=self.exchanges,
            bindings_max=self.bindings,
            subscriptions_max=self.subscriptions,
            name_max=self.name_length,
            key_max=self.key_length,
            route_cache_max=self.route_cache,
            route_cache_octets_max=self.route_cache_size,
            topology_octets_max=self.topology_size,
            transaction_octets_max=self.transaction_size,
            staging_octets_max=staged.staging_size,
            staging_timeout_ms=staged.staging_timeout,
            branches_max=self.branches,
            turn_deliveries=self.turn_deliveries,
            local_nodes=not grouped,
        )


class TranslationSettings(Section):
    """How messages cross between the protocols, where there is a choice."""

    escrow: bool = True
    """Send along what the other protocol has no place for, so that it comes back; else it is lost,
    and counted."""
    text_body: Literal["data", "value"] = "data"
    """A 0-10 text body as a 1.0 data section, or as an amqp-value string."""
    timestamp: bool = False
    """Write the time of arrival into messages that have none."""


class AccessSettings(Section):
    """Who may do what; without a file everybody may everything. Read again at each reload."""

    file: pathlib.Path | None = None
    """The gateway's own rules, in YAML (docs/access.md)."""
    qpidd_file: pathlib.Path | None = None
    """The ACL file of a qpidd, which decides as it does there; instead of `file`."""
    qpidd_realm: Annotated[str, Field(min_length=1, max_length=255)] = "QPID"
    """What a user without a realm has behind the "@" in that file, and may have in a user-id."""


Severity = Literal["debug", "info", "warn", "error", "critical"]
Subsystem = Literal["clients", "logins", "upstreams", "admin", "store", "audit", "event_loop"]


class LoggingSettings(Section):
    """Log lines, on standard error."""

    level: Severity = "info"
    """The least severe level that is written."""
    levels: dict[Subsystem, Severity] = Field(default_factory=dict)
    """The same of some subsystems alone."""
    format: Literal["text", "json"] = "text"
    """Lines for people, or one JSON object a line."""


class Settings(Section):
    """The whole configuration."""

    name: Annotated[str, Field(min_length=1, max_length=255)] = Field(
        default_factory=lambda: f"amqp-gateway@{platform.node() or 'localhost'}"
    )
    """The container-id that clients are told."""
    group: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")] | None = None
    """Several gateways are one: the name of all of them, by which they share subscriptions at
    upstreams; nothing lives in any of them. At upstreams the container-id is this, "-" and the
    pod's number. Unset: this gateway is the only one."""
    pod: Annotated[str, Field(min_length=1, max_length=255)] | None = Field(
        default_factory=lambda: os.environ.get("AMQP_GATEWAY_POD") or None
    )
    """The name of the pod that it runs in, with "-" and its number at the end. Any but the first is
    refused without a `group`."""
    listen: Listen = Listen()
    tls: Tls | None = None
    admin: ListenAddress = Address("127.0.0.1", 9672)
    """Metrics and health over HTTP."""
    admin_token_file: pathlib.Path | None = None
    """File with the token that `amqp-gateway ctl` shows to look at this gateway and to change it;
    read again each time. Unset: there is no such access."""
    metrics_token_file: pathlib.Path | None = None
    """File with the token that Prometheus has to show for /metrics (as a bearer token; the admin
    token is as good); read again each time. Unset: whoever reaches the port may see them."""
    admin_tls: bool = False
    """The admin port speaks HTTPS, with the certificate of `tls`."""
    admin_connections: Annotated[int, Field(ge=10, le=10_000)] = 100
    """Connections to the admin port at a time; then the longest idle one gives way."""
    data_directory: pathlib.Path = Field(default_factory=default_data_directory)
    """Messages, topology and the audit log. One gateway at a time."""
    store_reserve: Annotated[int, *size(0, "1TiB")] = 64 * 1024 * 1024
    """Room on the data directory's disk that is set aside at start, at most a sixteenth of that
    disk. When it is full, this is what settlements and audit records are written to, while
    publishers wait until there is room again; 0 is none."""
    store_backlog: Annotated[int, *size("64KiB", "1TiB")] = 64 * 1024 * 1024
    """Octets that may wait for the disk, when it refuses to write or is slow; above it nothing is
    delivered, and nothing read from clients, until it has written some."""
    former_data_directory: pathlib.Path | None = None
    """Where that was before: what lies there is used where it is, while `data_directory` has
    nothing."""
    users_file: pathlib.Path | None = None
    """Users and their SCRAM verifiers, as `amqp-gateway user add` writes them."""
    access: AccessSettings = AccessSettings()
    require_tls_for: list[Scram | Legacy | Literal["PLAIN", "GSSAPI"]] = Field(default_factory=list)
    """SASL mechanisms that clients are offered inside TLS only. PLAIN shows the password."""
    legacy_mechanisms: list[Legacy] = Field(default_factory=list)
    """SASL mechanisms from before SCRAM, for clients that have no better one: each is offered if
    some user has a verifier for it (`amqp-gateway user password --legacy`), which is worth as much
    as the password to whoever reads the users file. CRAM-MD5-HASHED is of Qpid's Java client."""
    gssapi: GssapiSettings | None = None
    digest_hosts: list[str] = Field(default_factory=list)
    """What clients of DIGEST-MD5 may call the gateway, in its digest-uri: with names here, what
    was said to another server is refused. Empty: anything."""
    scram_iterations: Annotated[int, Field(ge=4096, le=ITERATIONS_MAX)] = 65_536
    """SCRAM is offered only if no user's verifier takes more iterations than this: clients with
    Cyrus SASL (Proton, qpid's of C++) refuse more than 65,536, and do not try PLAIN then."""
    anonymous: bool | None = None
    """Let clients in without a login; then no user may be called `anonymous`, as they are. Unset:
    only where neither users nor client certificates nor `gssapi` are configured."""
    virtual_hosts: Annotated[list[HostSettings], Field(min_length=1)] = Field(
        default_factory=lambda: [HostSettings(name="default")]
    )
    """The first one is the default."""
    elsewhere: dict[str, ElsewhereSettings] = Field(default_factory=dict)
    """Where else clients may go, or are sent, by the name of the virtual host that they open."""
    upstreams: dict[str, UpstreamSection] = Field(default_factory=dict)
    """The containers that the gateway dials, by name."""
    nodes: list[NodeSection] = Field(default_factory=list)
    """Which queues and exchanges live at upstreams; whatever no rule fits is local."""
    limits: LimitSettings = LimitSettings()
    queues: QueueSettings = QueueSettings()
    audit: AuditSettings = AuditSettings()
    translation: TranslationSettings = TranslationSettings()
    tracing: TracingSettings | None = None
    logging: LoggingSettings = LoggingSettings()
    reload_interval: Annotated[int, *duration("0s", "1h")] = 0
    """How often the files are looked at that a reload reads: this one, certificates, users, access
    rules and keys. When two looks have found the same, and not what counts, there is a reload. 0s:
    only when it is asked for."""
    drain_timeout: Annotated[int, *duration("0s", "1h")] = 25_000
    """On SIGTERM: how long clients may settle what they have before connections are closed."""
    drain_idle: Annotated[int, *duration("100ms", "1h")] = 10_000
    """... and how long one of them may settle nothing of it, and discharge no transaction: then its
    connection is closed at once, and what it had comes back marked redelivered."""
    switch_timeout: Annotated[int, *duration("0s", "1h")] = 30_000
    """When nodes move to another upstream: how long what is in flight may take to settle. Then
    clients' deliveries go back, and what the old upstream has not answered is sent again, marked.
    """
    strict: bool = False
    """Keep the letter of the specifications in some things where deployed clients do not."""

    _file: pathlib.Path | None = PrivateAttr(default=None)

    @property
    def file(self) -> pathlib.Path | None:
        """Where they stand; `None`: nowhere."""
        return self._file

    def read_from(self, file: pathlib.Path | None) -> Settings:
        """The same settings, which now know where they stand."""
        settings = self.model_copy()
        settings._file = file
        return settings

    @property
    def anonymous_allowed(self) -> bool:
        """What `anonymous` comes to."""
        if self.anonymous is not None:
            return self.anonymous
        if self.users_file is not None or self.gssapi is not None:
            return False
        return self.tls is None or self.tls.client_ca is None
