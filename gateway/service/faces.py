"""How clients come in, and what every face is told of the settings, as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway import __version__
from gateway.config import Settings
from gateway.config.access import LoadedRules
from gateway.config.units import Host
from gateway.faces.accounts import Accounts
from gateway.faces.face import Authenticator, Face, FaceSettings, Peer
from gateway.faces.server_0_10 import connection as server_0_10
from gateway.faces.server_1_0 import connection as server_1_0
from gateway.net.clock import GatewayClock
from gateway.net.data_directory import identity
from gateway.net.listening.authenticate import Authentication
from gateway.net.listening.decisions import DecisionLog
from gateway.net.listening.doubted import DoubtedClients
from gateway.net.listening.first_octets import Ask
from gateway.net.listening.journal import ConnectionLog
from gateway.net.listening.listen import Door
from gateway.service.files import (
    digest_hosts,
    load_kerberos,
    load_passwords,
    nobodys_names,
    takes_certificates,
)
from gateway.translate.replies import ReplyTable
from gateway.translate.view import View
from gateway.wire.places import Elsewhere, Place
from gateway.wire.work import WORK

if TYPE_CHECKING:
    from gateway.service.service import Service


def authentication_of(service: Service) -> Authentication:
    """Who clients are is asked of it."""
    settings = service.settings
    return Authentication(
        service.reactor,
        service.clock.now_ms,
        anonymous_allowed=settings.anonymous_allowed,
        passwords=load_passwords(settings),
        threads=service.threads,
        require_tls_for=tuple(settings.require_tls_for),
        legacy=tuple(settings.legacy_mechanisms),
        digest_hosts=digest_hosts(settings),
        kerberos=load_kerberos(settings),
        certificates=takes_certificates(settings),
        nobodys_names=nobodys_names(settings),
    )


def faces_of(service: Service) -> FaceSettings:
    """What they are told, with the tables of replies that they have together."""
    settings = service.settings
    faces = face_settings(settings, service.clock, service.authentication, service.named.access)
    scheme = "https" if settings.admin_tls else "http"
    faces.traces = None if service.tracing is None else service.tracing.traces
    faces.admin_address = f"{scheme}://{service.addresses['admin']}"
    for name, host in service.bridge.hosts.items():  # before relays, which keep what they find
        replies = ReplyTable(keep_new=True)
        faces.replies[name] = replies
        host.reader = View(replies)  # whoever asked selects by what is known of the request
    return faces


def door_of(service: Service) -> Door:
    """What lets clients in, to the faces of both protocols."""
    bridge, turns, faces = service.bridge, service.turns, service.faces
    limits = service.settings.limits

    def serve_0_10(authenticator: Authenticator, peer: Peer, now_ms: int) -> Face:
        return server_0_10.ServerConnection(bridge, turns, authenticator, peer, faces, now_ms)

    def serve_1_0(authenticator: Authenticator, peer: Peer, now_ms: int) -> Face:
        return server_1_0.ServerConnection(bridge, turns, authenticator, peer, faces, now_ms)

    door = Door(
        service.reactor,
        service.clock.now_ms,
        turns,
        service.authentication,
        service.counts,
        {Ask.SERVE_0_10: serve_0_10, Ask.SERVE_1_0: serve_1_0},
        connections_max=limits.connections,
        connections_per_address_max=limits.connections_per_address,
        entering_per_address_max=limits.logins_per_address,
        login_octets_max=limits.login_size,
        handshake_timeout_ms=limits.handshake_timeout,
        tls_context=service.named.tls,
        account=faces.accounts.everybody,
    )
    doubted = DoubtedClients(bridge, turns, service.authentication, faces.journal)
    door.on_doubted = doubted.tell
    door.on_vacated = faces.access.vacate
    return door


def elsewhere(settings: Settings) -> dict[str, Elsewhere]:
    """Where else clients may go, or are sent, by virtual host."""
    return {
        name: Elsewhere(
            None if told.redirect is None else _place(told.redirect),
            [_place(each) for each in told.known_hosts],
        )
        for name, told in settings.elsewhere.items()
    }


def _place(host: Host) -> Place:
    return Place(host.tls, host.host, host.port)


def face_settings(
    settings: Settings, clock: GatewayClock, authentication: Authentication, access: LoadedRules
) -> FaceSettings:
    """Those of a gateway, with nothing counted and nobody attached yet."""
    WORK.elements_max = settings.limits.elements
    faces = FaceSettings(
        limits=settings.limits.as_limits(),
        container_id=settings.name,
        federation_tag=identity(settings.data_directory),
        version=__version__,
        hostnames={
            hostname: host.name for host in settings.virtual_hosts for hostname in host.hostnames
        },
        anonymous_name=authentication.anonymous_name,
        journal=ConnectionLog(clock.now_ms),
        anonymous_allowed=settings.anonymous_allowed,
        strict=settings.strict,
        accounts=Accounts(settings.limits.user_size, settings.limits.host_size),
        escrow=settings.translation.escrow,
        text_body_value=settings.translation.text_body == "value",
        timestamp=settings.translation.timestamp,
    )
    faces.logins = authentication
    faces.elsewhere = elsewhere(settings)
    in_force = faces.access.in_force
    in_force.rules = access.rules
    in_force.file = str(access.file or "")
    in_force.realm = settings.access.qpidd_realm
    in_force.teller = DecisionLog(clock.now_ms)
    return faces
