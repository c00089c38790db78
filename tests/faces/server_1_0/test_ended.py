"""Sessions and links of 1.0 clients are let go behind all that came with their end."""

from support.face_1_0 import Hub
from support.work import units_of

from gateway.amqp_1_0 import _spec
from gateway.faces.server_1_0.ended import Ended
from gateway.wire.work import LINK


def test_to_let_go_of_many_sessions_and_links_is_work() -> None:
    hub = Hub()
    client = hub.client()
    session = client.session()
    ended = Ended()
    for _ in range(30):
        ended.add_session(session)
    for _ in range(70):
        ended.add_link(session.attach("l", _spec.RECEIVER))
    assert units_of(ended.let_go) == 100 * LINK
    assert units_of(ended.let_go) == 0
    assert session.context is None
