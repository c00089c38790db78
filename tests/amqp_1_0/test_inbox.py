from hypothesis import given
from hypothesis import strategies as st

from gateway.amqp_1_0.inbox import Inbox


def test_nothing_comes_out_before_there_is_enough():
    inbox = Inbox()
    inbox.keep(b"ab", 0, 5)
    assert inbox.take(b"c") == b""
    assert inbox.take(b"d") == b""
    assert inbox.held() == 4
    assert inbox.take(b"e") == b"abcde"
    assert inbox.held() == 0


def test_what_has_been_read_is_not_kept():
    inbox = Inbox()
    inbox.keep(b"abc", 3, 8)
    assert inbox.held() == 0
    assert inbox.take(b"x") == b"x"


@given(st.lists(st.binary(max_size=5)), st.integers(1, 9))
def test_every_octet_comes_out_once_and_in_order(pieces, needed):
    inbox = Inbox()
    out = b""
    for piece in pieces:
        got = inbox.take(piece)
        whole = len(got) // needed * needed
        out += got[:whole]
        if got:
            inbox.keep(got, whole, needed)
    joined = b"".join(pieces)
    assert joined.startswith(out)
    assert len(joined) - len(out) < needed
    assert len(joined) - len(out) == inbox.held()
