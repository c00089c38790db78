"""What every face is told of the settings, as plain values."""

from __future__ import annotations

from gateway import __version__
from gateway.config import Settings
from gateway.config.access import LoadedRules
from gateway.config.units import Host
from gateway.faces.accounts import Accounts
from gateway.faces.face import FaceSettings
from gateway.net.clock import GatewayClock
from gateway.net.data_directory import identity
from gateway.net.listening.authenticate import Authentication
from gateway.net.listening.decisions import DecisionLog
from gateway.net.listening.journal import ConnectionLog
from gateway.wire.places import Elsewhere, Place
from gateway.wire.work import WORK


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
