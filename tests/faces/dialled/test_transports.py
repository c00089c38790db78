from support.upstream_world import UpstreamWorld

from gateway.faces.dialled.transports import Transports


class Turns:
    def __init__(self):
        self.touched = []

    def touch(self, face):
        self.touched.append(face)


def face():
    """A face, of which no more is asked than to be there."""
    w = UpstreamWorld()
    _ = w.world
    return w.upstream.connect(w.now_ms)


def test_all_are_touched_the_upstreams_own_connection_first():
    turns = Turns()
    transports = Transports(turns)
    first, second, own = face(), face(), face()
    transports.add(first, own=False)
    transports.add(second, own=False)
    transports.add(own, own=True)
    transports.touch()
    assert turns.touched == [own, first, second]


def test_one_that_is_over_is_touched_no_more_and_may_be_over_twice():
    turns = Turns()
    transports = Transports(turns)
    one = face()
    transports.add(one, own=True)
    transports.remove(one)
    transports.remove(one)
    transports.touch()
    assert turns.touched == []
