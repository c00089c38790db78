"""A TLS connection that is over leaves nothing behind that was put aside while it stood.

What `service.collecting` puts aside is looked at once in ten minutes: whatever holds it till then
is memory that is on no account. Twisted's own cycles are cut too.
"""

from __future__ import annotations

import gc
import pathlib
import weakref
from collections.abc import Callable

import pytest
from support.certificates import Authority
from support.garbage import by_hand
from support.net import Net
from support.tls_visit import Visit

from gateway.net.listening.first_octets import HEADER_1_0_SASL
from gateway.net.tls.files import tls_context

__all__ = ["by_hand"]  # a fixture


def knocked(visit: Visit) -> None:
    """It says nothing."""


def stood(visit: Visit) -> None:
    visit.shakes_hands()


def spoke(visit: Visit) -> None:
    visit.shakes_hands()
    visit.says(HEADER_1_0_SASL)


@pytest.mark.parametrize("does", [knocked, stood, spoke])
def test_a_connection_with_tls(
    by_hand: None, tmp_path: pathlib.Path, does: Callable[[Visit], None]
) -> None:
    certificate, key = Authority(tmp_path).issue("gateway")
    net = Net(tls_context=tls_context(certificate, key, None, require_client_certificate=False))
    visit = Visit(net)
    does(visit)
    of_it = [visit.pump, visit.server, visit.server.protocol, visit.server.protocol.getHandle()]
    alive = [weakref.ref(each) for each in of_it]
    of_it.clear()
    gc.collect()
    gc.freeze()
    visit.goes()
    del visit
    net.turn()
    net.faces.clear()  # which the test has
    gc.collect()  # of what has come since: Twisted's failure holds itself by its frames
    assert [each() for each in alive if each() is not None] == []
