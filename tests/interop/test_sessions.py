"""A foreign session layer of 0-10 goes on with its session on another connection."""

from interop.foreign import Client, python27_sessions


def test_what_it_sent_and_what_it_was_sent_comes_once_over_a_connection_that_breaks(
    qpid_python: Client, port: int
) -> None:
    told = python27_sessions(port)
    assert told[0] == {"event": "granted", "seconds": 60}
    assert [each["body"] for each in told if each["event"] == "received"] == list("012345")
    [attached] = [each for each in told if each["event"] == "attached again"]
    assert attached["again"] == 3, "what went nowhere"
    assert told[-2] == {"event": "in doubt", "count": 0, "unread": 0}
    assert told[-1] == {"event": "granted", "seconds": 0}
