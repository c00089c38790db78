"""Clients whose certificate is not believed: a line of the log, a count and an audit record.

Their handshake fails, so that no face ever hears of them.
"""

from __future__ import annotations

from typing import Protocol, final

from gateway.audit.records.log import AuditLog
from gateway.audit.schema import Reason
from gateway.faces.face import Peer
from gateway.faces.visit import Journal, Visit
from gateway.net.listening.authenticate import Authentication
from gateway.net.tls.files import Doubt
from gateway.net.turns import TurnLoop
from gateway.wire.sasl import EXTERNAL

PROTOCOL = "TLS"


class RecordingBridge(Protocol):
    """What is needed of the bridge."""

    audit: AuditLog


@final
class DoubtedClients:
    """Tells of them; lines of the log are as rare as those of other failed logins."""

    def __init__(
        self,
        bridge: RecordingBridge,
        turns: TurnLoop,
        authentication: Authentication,
        journal: Journal,
    ) -> None:
        self._bridge = bridge
        self._turns = turns
        self._authentication = authentication
        self._journal = journal

    def tell(self, peer: Peer, doubt: Doubt, now_ms: int) -> None:
        """A handshake has failed for this."""
        authentication = self._authentication
        authentication.refused[EXTERNAL] += 1
        authentication.tell_refusal(peer, EXTERNAL, doubt.name, doubt.problem)
        visit = Visit(self._journal, peer.connection_id, peer.endpoint(), PROTOCOL)
        visit.mechanism = EXTERNAL
        visit.user = doubt.name
        visit.product = doubt.problem
        visit.because(Reason.LOGIN_FAILED, doubt.problem)
        visit.end(self._bridge.audit, now_ms, Reason.NONE)
        self._turns.schedule()
