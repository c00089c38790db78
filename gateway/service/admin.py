"""What the admin port shows and does of one gateway: metrics, health, control."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twisted.web.server import Site

from gateway import __version__
from gateway.metrics import METRICS, OBJECT_METRICS, Collector, Reader
from gateway.net.admin.answers import Answers
from gateway.net.admin.by_queue import ByQueue
from gateway.net.admin.census import Census
from gateway.net.admin.control import Control
from gateway.net.admin.disk import Disk
from gateway.net.admin.expiring import UpstreamCertificates
from gateway.net.admin.http import admin_site
from gateway.net.admin.measures import Sources, start_readers
from gateway.net.admin.pieces import Pieces
from gateway.net.admin.products import Products
from gateway.net.data_directory import AUDIT_FOLDER
from gateway.net.tls.layer import SHOWN_MAX, Terms
from gateway.net.turn_shares import TurnShare
from gateway.service.form import form
from gateway.wire.accounts import Account

if TYPE_CHECKING:
    from gateway.service.service import Service


def measured(service: Service) -> Sources:
    """Everything of it that counts, from now on."""
    return Sources(
        bridge=service.bridge,
        faces=service.faces.counts,
        accounts=service.faces.accounts,
        sessions=service.faces.kept,
        translated=service.faces.translated,
        replies=service.faces.replies,
        store=service.store.counts,
        spill=service.spill,
        disk=Disk(
            service.settings.data_directory,
            AUDIT_FOLDER,
            in_thread=service.threads.beside,
            clock=service.reactor,
        ),
        net=service.counts,
        admin=service.tokens.counts,
        authentication=service.authentication,
        clock=service.clock,
        ready=service.ready,
        version=__version__,
        form=form(),
        started_ms=service.clock.now_ms(),
        upstreams=service.upstreams,
        moves=service.moves,
        census=Census(service.bridge),
        products=Products(service.door),
        certificates=UpstreamCertificates(
            lambda: service.reloading.settings.upstreams, service.threads.beside
        ),
        settings=service.settings,
        head=lambda: service.segments.head,
        head_failures=lambda: service.segments.head_failures,
        kept=service.letting_go,
        tracing=service.tracing,
        certificate_expires_s=lambda: service.named.certificate_expires_s,
    )


def site_of_start(service: Service) -> Site:
    """What its admin port answers with until all is back: that it lives, and how far it is."""
    sources: dict[str, Reader] = {
        "gateway_build_info": lambda: [((__version__, form()), 1.0)],
        "gateway_ready": lambda: [((), 0.0)],
        **start_readers(service.counts),
    }
    rows = [row for row in METRICS if row.name in sources]
    pieces, requests = (Pieces(service.reactor, service.turns.stalls) for _ in range(2))
    kept = Account()
    return admin_site(
        Collector(rows, sources),
        Collector((), {}),
        service.ready,
        in_thread=service.threads.beside,
        tokens=service.tokens,
        pieces=pieces,
        answers=Answers(requests, kept),
        requests=requests,
        kept=kept,
        reactor=service.reactor,
        connections_max=service.admin_connections,
    )


def site_of(service: Service, collector: Collector) -> Site:
    """What its admin port answers with."""
    by_queue = ByQueue(service.bridge, service.clock.now_ms)
    objects = Collector(OBJECT_METRICS, by_queue.readers(), by_queue.count)
    kept = service.faces.accounts.everybody
    pieces, requests = (Pieces(service.reactor, service.turns.stalls) for _ in range(2))
    answers = Answers(requests, kept)
    return admin_site(
        collector,
        objects,
        service.ready,
        control_of(service, pieces, answers),
        in_thread=service.threads.beside,  # the reactor's own may all wait for names
        tokens=service.tokens,
        pieces=pieces,
        answers=answers,
        requests=requests,
        kept=kept,
        head=lambda: service.segments.head,
        reactor=service.reactor,
        connections_max=service.admin_connections,
    )


def control_of(service: Service, pieces: Pieces, answers: Answers) -> Control:
    """What an operator may ask of it."""
    return Control(
        service.reloading,
        service.upstreams,
        service.bridge,
        service.tokens,
        service.read_settings,
        service.clock.now_ms,
        service.door,
        service.backup,
        kept=service.faces.kept,
        let_go=service.letting_go.ask,
        moves=service.moves,
        later=service.reactor,
        pieces=pieces,
        answers=answers,
    )


def terms_of_start(service: Service) -> Terms:
    """On which terms it speaks TLS until all is back."""
    return _terms(service, Account())


def tls_of(service: Service) -> Terms:
    """On which terms it speaks TLS."""
    return _terms(service, service.faces.accounts.everybody)


def _terms(service: Service, kept: Account) -> Terms:
    """The admin port's connections have one share, as those without a login."""
    share = TurnShare(service.turns.strangers)
    return Terms(
        service.turns,
        kept,
        service.settings.limits.login_size,
        service.clock.now_ms,
        share=lambda _channel: share,
        who=lambda channel: f"a connection to the admin port from {channel.address}",
        shown_max=SHOWN_MAX,
        lost=lambda channel: channel.on_transport_lost(),
    )
