"""One client at the other end of a connection: who it is, and what its sessions have in common.

Owned by the connection, which fills in what it learns as the protocol tells it, and handed to
sessions and links, which so need not know the connection. The same for every server face.
"""

from __future__ import annotations

from typing import Final, final

from gateway.audit.schema import Reason
from gateway.bridge.bridge import Bridge
from gateway.bridge.host import VirtualHost
from gateway.bridge.unwritten import Author
from gateway.faces.access.client_access import ClientAccess, Reviewed
from gateway.faces.access.making import Making
from gateway.faces.access.publish_access import PublishAccess
from gateway.faces.doubt import Doubt, Slowed
from gateway.faces.face import Face, FaceSettings, Logins, Peer, PeerStatus, Turns
from gateway.faces.feature_uses import FeatureUses
from gateway.faces.host_nodes import HostNodes
from gateway.faces.leaving import GONE, AbsentStatus
from gateway.faces.room import Room
from gateway.faces.visit import Visit
from gateway.message import Condition, Encoding, Refusal
from gateway.translate.context import Context
from gateway.translate.facts import Arrival
from gateway.wire.accounts import Account
from gateway.wire.places import Place
from gateway.wire.sasl import ANONYMOUS
from gateway.wire.work import ABSENT, WORK

NO_COMMAND: Final = "no command, but the octets of one, or of an answer"


@final
class Client:
    """What sessions ask of their connection, and what is counted and recorded of it.

    Attributes:
        sessions, links: how many it has now; of 0-10, subscriptions.
        access, publish_access, making: what it may do, publish and declare.
        host, nodes: the virtual host that it has opened, and its names; the default one before.
        identity: its user.
        authenticated: it has proved who it is.
        container: its 1.0 container-id.
        java: it is a Java client of 0-10.
        session_flow: it takes producer flow, by 0-10.
        draining: the gateway stops: no new deliveries, credit, sessions or links.
        visit: what is told of it in the audit log and in the log's lines.
        account: what is kept on its behalf.
        room: how much it may be given ahead of what its transport takes.
    """

    __slots__ = (
        "_context",
        "_face",
        "_protocol",
        "_touched",
        "_turns",
        "access",
        "account",
        "authenticated",
        "author",
        "bridge",
        "container",
        "doubt",
        "draining",
        "host",
        "identity",
        "java",
        "links",
        "making",
        "nodes",
        "peer",
        "publish_access",
        "room",
        "session_flow",
        "sessions",
        "settings",
        "uses",
        "visit",
    )

    def __init__(
        self,
        bridge: Bridge,
        turns: Turns,
        peer: Peer,
        settings: FaceSettings,
        protocol: Encoding,
        account: Account,
        *,
        face: Face | None,
        slowed: Slowed,
        reviewed: Reviewed,
    ) -> None:
        self.bridge = bridge
        self.peer = peer
        self.settings = settings
        self.host: VirtualHost = bridge.default_host
        self.nodes = HostNodes(bridge.default_host)
        self.identity = ""
        self.authenticated = False
        self.container = ""
        self.java = False
        self.sessions = 0
        self.links = 0
        self.session_flow = False
        self.draining = False
        self.account = account
        account.join(settings.accounts.everybody)
        self.author = Author(self)
        self.room = Room(account, settings.accounts, settings.limits, self)
        self.uses = FeatureUses(
            bridge, settings.uses, settings.counts, peer.connection_id, peer.address
        )
        in_force = settings.access.in_force
        self.access = ClientAccess(
            in_force, settings.counts, bridge, peer.connection_id, peer.address, reviewed
        )
        self.publish_access = PublishAccess(in_force, self.access)
        self.making = Making(in_force, self.access)
        limits = settings.limits
        self.doubt = Doubt(
            limits.octets_in_doubt_max,
            slowed,
            bridge.pressure,
            publishes_max=limits.commands_in_doubt_max // 4,  # at half of them reading pauses
        )
        self._turns = turns
        self._face = face
        self._protocol = int(protocol)
        self._context: Context | None = None
        name = "AMQP 1.0" if protocol == Encoding.AMQP_1_0 else "AMQP 0-10"
        self.visit = Visit(settings.journal, peer.connection_id, peer.endpoint(), name)
        self._touched = False  # since `on_flushed`

    def act(self, now_ms: int) -> None:
        """What the bridge is asked from now on is asked for this client."""
        visit = self.visit
        self.bridge.act(now_ms, self.author, visit.number, visit.actor)

    def absent(self, reviewed: Reviewed) -> Client:
        """Who stands for it when it has no connection; `reviewed` hears of other access rules.

        What is kept is on an account of its own, which is its user's as well. Nothing is sent.
        """
        WORK.units += ABSENT
        peer = Peer(self.peer.connection_id, self.peer.address, port=self.peer.port)
        account = Account(self.settings.limits.kept_max)
        absent = Client(
            self.bridge,
            self._turns,
            peer,
            self.settings,
            Encoding.AMQP_1_0 if self._protocol else Encoding.AMQP_0_10,
            account,
            face=None,
            slowed=GONE,
            reviewed=reviewed,
        )
        absent.host = self.host
        absent.nodes = self.nodes
        absent.identity = self.identity
        absent.authenticated = self.authenticated
        absent.container = self.container
        absent.draining = True
        absent.visit.actor = self.visit.actor
        absent.visit.opened = True
        user = self.settings.accounts.user(self.identity)
        account.join(user)
        account.join(self.settings.accounts.host(self.host.name), user)
        absent.access.identify(self.identity, self.user(), self.host)
        self.settings.access.remember(absent.access)
        return absent

    # What sessions and links ask.

    def touch(self) -> None:
        """There is something to send, or may be."""
        if not self._touched:
            self._touched = True
            face = self._face
            if face is not None:
                self._turns.touch(face)

    def user(self) -> str:
        """Who it has proved to be; "": a client without a login."""
        return self.identity if self.authenticated else ""

    def ask_for(self, host: VirtualHost) -> Refusal | None:
        """It wants to open a virtual host; why it may not."""
        return self.settings.access.admit(self.access, self.identity, self.user(), host)

    def doing(self, what: str) -> str:
        """Who it is, and what has been done for it, for people."""
        if not self.visit.opened:
            return f"before it has opened: {what}"
        return f"user {self.identity!r}: {what}"

    def may_claim(self, arrival: Arrival) -> bool:
        """Whether a message may carry its user-ids: the user's own, with or without its realm."""
        if arrival.user_id is None:  # nor has it more of them
            return True
        for claimed in (arrival.user_id, *(arrival.more_user_ids or ())):
            if claimed and not self._is_own(claimed):
                self.publish_access.deny_claim(claimed.decode("utf-8", "replace"))
                return False
        if not self.authenticated:
            self._count_unchecked(arrival)
        return True

    def _count_unchecked(self, arrival: Arrival) -> None:
        """Without a login nobody can check a user-id, other than what it is called itself."""
        own = (b"", self.identity.encode())
        claims = (arrival.user_id, *(arrival.more_user_ids or ()))
        if any([claimed not in own for claimed in claims]):
            self.settings.counts.user_ids_unchecked += 1

    def _is_own(self, user_id: bytes) -> bool:
        """Where users log in, without a login one is none of them."""
        claimed = user_id.decode("utf-8", "replace")
        logins = self.settings.logins
        if self.authenticated:
            return is_own(claimed, self.identity, self.settings.access.in_force.realm, logins)
        return logins is None or not (logins.has(claimed) or logins.has(claimed.partition("@")[0]))

    def context(self) -> Context:
        """The context of a translation that happens now."""
        context = self._context
        if context is None:
            context = self._new_context()
            self._context = context
        context.now_ms = self.bridge.now_ms
        return context

    def _new_context(self) -> Context:
        settings = self.settings
        return Context(
            self.nodes,
            settings.replies_of(self.host.name),
            settings.translated,
            escrow=settings.escrow,
            escrow_max=settings.limits.escrow_max,
            depth_max=settings.limits.depth_max,
            text_body_value=settings.text_body_value,
            timestamp=settings.timestamp,
            java=self.java,
            gateway=settings.container_id,
            traces=settings.traces,
        )

    def on_link(self, *, opened: bool) -> None:
        """A link, or a subscription of 0-10, came or went."""
        counts = self.settings.counts
        (counts.links_opened if opened else counts.links_closed)[self._protocol] += 1
        self.links += 1 if opened else -1

    def record_link(self, number: int, *, node: int, flags: int) -> None:
        """Put the begin of a link or subscription into the audit log; `node`: its node's number."""
        self.visit.step(f"link {number} is attached")
        self.bridge.audit.link_attached(
            self.bridge.now_ms,
            number,
            connection=self.peer.connection_id,
            node=node,
            flags=flags,
        )

    def record_link_end(self, number: int, reason: Reason = Reason.NONE) -> None:
        """The same of its end, when nothing of it is unsettled."""
        self.visit.step(f"link {number} is detached")
        self.bridge.audit.link_detached(
            self.bridge.now_ms, number, connection=self.peer.connection_id, reason=reason
        )

    def status(self) -> PeerStatus | None:
        """Who it is, for operators; `None` before it has opened a virtual host."""
        if not self.visit.opened:
            return None
        return PeerStatus(
            protocol=self.visit.protocol.removeprefix("AMQP "),
            user=self.user(),
            mechanism=self.visit.mechanism,
            product=self.uses.client.removesuffix(f"from {self.peer.address}").rstrip(),
            virtual_host=self.host.name,
            sessions=self.sessions,
            links=self.links,
        )

    def absence(self, status: AbsentStatus) -> AbsentStatus:
        """The same of what it has left: whose that is."""
        status.host = self.host.name
        status.user = self.user()
        status.container = self.container
        status.connection = self.peer.connection_id
        status.address = self.peer.endpoint()
        return status

    # What the connection tells.

    def on_flushed(self) -> bool:
        """What there was to send is taken; whether who waits for room may go on."""
        self._touched = False
        return self.room.on_flushed()

    def unread_too_much(self) -> bool:
        """It does not read what it is answered: then nothing is read of it, either."""
        return self.room.unread_too_much(self.settings.limits.answers_max)

    def on_authenticated(self, identity: str | None) -> None:
        """Who it is; `None`: it could not prove that."""
        if identity is None:
            self.settings.counts.authentication_failures[self._protocol] += 1
            self.visit.because(Reason.LOGIN_FAILED, "its login failed")
        else:
            self.identity = identity
            self.uses.identity = identity
            self.authenticated = self.visit.mechanism != ANONYMOUS

    def on_opened(self, host: VirtualHost) -> None:
        """It has opened a virtual host."""
        self.host = host
        self.nodes = HostNodes(host)
        self.peer.entered(self.identity)
        self.bridge.pressure.join(self.peer.connection_id, self.identity, host.name)
        accounts = self.settings.accounts
        user = accounts.user(self.identity)
        self.account.join(user)
        self.room.join(user)
        self.account.join(accounts.host(host.name), user)
        self.settings.counts.connections_opened[self._protocol] += 1
        visit = self.visit
        visit.user = self.identity
        visit.product = self.uses.client
        visit.open(self.bridge.audit, self.bridge.now_ms, host.name)
        self.act(self.bridge.now_ms)

    def on_redirected(self, place: Place) -> None:
        """It has logged in, and is sent to another gateway."""
        self.settings.counts.connections_redirected[self._protocol] += 1
        self.visit.user = self.identity
        self.visit.because(Reason.REDIRECTED, f"it is sent to {place}")

    def on_violation(self, problem: str) -> None:
        """It has broken the rules of its protocol, and is over for that.

        `problem`: how; "" where that is told otherwise.
        """
        self.settings.counts.protocol_errors[self._protocol] += 1
        if problem and self.visit.timed:  # that it is silent its last line tells
            self.visit.because(Reason.TIMED_OUT, problem)
        elif problem:
            self.visit.broke("", problem)
            self.visit.because(Reason.BROKE_PROTOCOL, problem)

    def on_error(self, problem: str, link: str | None = None) -> None:
        """A session, or a link of that name, has ended for an error of its; the rest goes on."""
        counts = self.settings.counts
        ended = counts.sessions_failed if link is None else counts.links_failed
        ended[self._protocol] += 1
        self.visit.broke("session" if link is None else f"link {link!r}", problem)

    def on_session_refused(self, condition: Condition) -> None:
        """The gateway ends a session of its for what it asked, or what happened."""
        self.settings.counts.sessions_ended_for[self._protocol][condition] += 1

    def on_link_refused(self, condition: Condition) -> None:
        """The same of a link, also of one that is refused at once."""
        self.settings.counts.links_ended_for[self._protocol][condition] += 1

    def on_session_attached(self, session: int) -> None:
        """A session of that name in the audit log has begun."""
        self.sessions += 1
        self.settings.counts.sessions_opened[self._protocol] += 1
        self.visit.step("a session is attached")
        self.bridge.audit.session_attached(
            self.bridge.now_ms, self.peer.connection_id, session=session
        )

    def on_session_ended(self) -> None:
        """One has ended."""
        self.sessions -= 1
        self.settings.counts.sessions_closed[self._protocol] += 1

    def record_session_end(self, session: int, reason: Reason) -> None:
        """Put the end of a session into the audit log."""
        self.visit.step(f"a session has ended: {reason.name.lower()}")
        self.bridge.audit.session_detached(
            self.bridge.now_ms, self.peer.connection_id, session=session, reason=reason
        )

    def on_closed(self, reason: Reason) -> None:
        """The connection is over, in good order where there is no `reason`."""
        self.uses.end()
        self.settings.access.dismiss(self.access)
        self.account.close()
        self.room.close()
        self.bridge.pressure.quotas.leave(self.peer.connection_id)
        visit = self.visit
        if visit.opened:
            self.settings.counts.connections_closed[self._protocol] += 1
        elif not visit.product:
            visit.product = self.uses.client
        visit.end(self.bridge.audit, self.bridge.now_ms, reason)

    def leave(self) -> None:
        """The transport is gone too, and all that came by it has been done.

        Whatever tells the connection of something holds it no longer, nor does the connection
        itself: it is free when the pump lets go, and not when cycles are looked for.
        """
        self._face = None
        self.author.connection = GONE
        self.room.leave()
        self.doubt.leave()
        self.access.leave()


def is_own(claimed: str, identity: str, realm: str, logins: Logins | None) -> bool:
    """Whether a user-id is the connection's user, with its realm or without any.

    A user who has no realm may say `realm`, as clients of brokers do that give everybody one. What
    is another user's name is nobody else's, with or without.
    """
    if claimed == identity:
        return True
    other = identity.partition("@")[0] if "@" in identity else f"{identity}@{realm}"
    return claimed == other and (logins is None or not logins.has(claimed))
