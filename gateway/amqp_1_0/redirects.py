"""Where a peer sends us instead, or we send it: connection and link redirects (2.8.16, 2.8.18)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from gateway.amqp_1_0 import types
from gateway.amqp_1_0._spec import Error
from gateway.amqp_1_0._spec_conditions import CONNECTION_REDIRECT, LINK_REDIRECT
from gateway.amqp_1_0.primitives.fields import Fields
from gateway.wire.places import Place
from gateway.wire.tagged import Tagged

_INTEGERS: Final = (
    types.UBYTE,
    types.USHORT,
    types.UINT,
    types.ULONG,
    types.BYTE,
    types.SHORT,
    types.INT,
    types.LONG,
)
_TEXTS: Final = (types.STRING, types.SYMBOL)
_LINK: Final = ("hostname", "network-host", "port", "address")
HOST_MAX: Final = 255  # octets of a name in the DNS, with its dots


@final
@dataclass(init=False, slots=True)
class Redirect:
    """What the peer told of the other place; `None` what it did not tell, or not as it should.

    Attributes:
        hostname: for open and sasl-init, and TLS.
        network_host, port: what to connect to.
        address: of a link only: the terminus at it.
    """

    hostname: str | None
    network_host: str | None
    port: int | None
    address: str | None

    def __init__(
        self,
        *,
        hostname: str | None = None,
        network_host: str | None = None,
        port: int | None = None,
        address: str | None = None,
    ) -> None:
        self.hostname = hostname
        self.network_host = network_host
        self.port = port
        self.address = address


def redirect_error(hostname: str, place: Place, text: str) -> Error:
    """What a close says to whoever is to connect to `place`, and to name `hostname` in its open."""
    info: Fields = {
        "hostname": Tagged(types.STRING, hostname),
        "network-host": Tagged(types.STRING, place.host),
        "port": Tagged(types.USHORT, place.port),
    }
    return Error(condition=CONNECTION_REDIRECT, description=text, info=info)


def redirect_of(error: Error | None) -> Redirect | None:
    """The redirect that a close or a detach carries; `None`: it is no redirect."""
    if error is None or error.condition not in (CONNECTION_REDIRECT, LINK_REDIRECT):
        return None
    return _read(error.info or {})


def link_redirect_of(error: Error | None) -> Redirect | None:
    """The redirect of a link, if all that it tells is told as it should be, and is enough."""
    if error is None or error.condition != LINK_REDIRECT:
        return None
    info: Fields = error.info or {}
    redirect = _read(info)
    told = (redirect.hostname, redirect.network_host, redirect.port, redirect.address)
    for key, value in zip(_LINK, told, strict=True):
        given = info.get(key)
        if given is not None and given.code != types.NULL and value is None:
            return None
    for host in (redirect.hostname, redirect.network_host):
        if host is not None and not _is_host(host):
            return None
    if redirect.address == "" or (redirect.network_host is None and redirect.address is None):
        return None
    return redirect


def _read(info: Fields) -> Redirect:
    return Redirect(
        hostname=_text(info, "hostname"),
        network_host=_text(info, "network-host"),
        port=_port(info),
        address=_text(info, "address"),
    )


def _is_host(text: str) -> bool:
    return 0 < len(text) <= HOST_MAX and text.isprintable() and " " not in text


def _text(info: Fields, key: str) -> str | None:
    value = info.get(key)
    return None if value is None or value.code not in _TEXTS else str(value.value)


def _port(info: Fields) -> int | None:
    value = info.get("port")
    if value is None or value.code not in _INTEGERS:
        return None
    port = value.value
    return port if isinstance(port, int) and 0 < port < 65536 else None
