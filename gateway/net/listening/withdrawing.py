"""Ends the connections of clients that could not log in any more as they did.

After a reload: of users that were removed or have another password, of certificates that are not
believed any more - those, too, that were shown beside another login, since a listener that asks for
certificates would not speak with who shows such a one -, and of clients without a login where one
is needed. Whose rights have changed is the access rules' affair.
"""

from __future__ import annotations

from typing import Final

from twisted.logger import Logger

from gateway.audit.schema import Reason
from gateway.faces.face import Ending, endpoint
from gateway.net.listening.listen import Door
from gateway.net.tls.files import is_believed

REASON: Final = Reason.RULES_CHANGED
log: Final = Logger(namespace="gateway.net.withdrawing")


def end_withdrawn(door: Door) -> int:
    """Close them; how many there were. Who has not opened a connection yet is asked again there."""
    ended = 0
    for number, login in list(door.logins.items()):
        pump = door.pumps[number]
        status = pump.face.status()
        if status is None:
            continue
        why = login.withdrawn()
        asked = pump.certificate_name and door.authentication.certificates
        shown = login.by_certificate() or asked
        if not why and shown and not is_believed(door.tls_context, pump.transport):
            why = "the certificate is not believed any more"
        if why:
            ended += 1
            log.info(
                "connection {connection} of {user} from {address} ends: {why}",
                connection=number,
                user=status.user or "a client without a login",
                address=endpoint(pump.address, pump.port),
                why=why,
            )
            door.end(pump, Ending(why, REASON, withdrawn=True))
    return ended
