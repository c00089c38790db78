"""Which exceptions may have left half of what a turn records."""

from gateway.audit.records.log import AuditLog
from gateway.net.past_mending import past_mending
from gateway.store.writes import TurnWriter


def raised(call: object) -> BaseException:
    assert callable(call)
    try:
        call()
    except Exception as error:
        return error
    raise AssertionError


def test_an_exception_that_has_passed_what_records_a_turn_is_one() -> None:
    audit = AuditLog(1)
    writes = TurnWriter()
    assert past_mending(raised(lambda: audit.unroutable(1, 1, exchange=99, reason=1)))
    assert past_mending(raised(lambda: writes.dequeue(2**70, 1)))
    assert past_mending(MemoryError())


def test_another_one_is_none() -> None:
    assert not past_mending(raised(lambda: 1 // 0))
    assert not past_mending(ValueError())
