import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rules import rule

from gateway.amqp_1_0 import _spec, types
from gateway.amqp_1_0.transfers.dispositions import Dispositions, fit
from gateway.wire.tagged import Tagged

ACCEPTED, RELEASED = _spec.Accepted(), _spec.Released()


def taken(dispositions):
    return dispositions.take()


def test_accepts_become_ranges_in_whatever_order_they_come():
    dispositions = Dispositions()
    for number in (5, 1, 2, 9, 3):
        dispositions.add(True, number, True, ACCEPTED)
    found = [(d.first, d.last) for d in taken(dispositions)]
    assert found == [(1, 3), (5, None), (9, None)]
    assert taken(dispositions) == []


@rule("1.0", "2.8.10", "serial-numbers-wrap")
def test_ranges_go_over_the_end_of_the_numbers():
    dispositions = Dispositions()
    for number in (2**32 - 1, 0, 1):
        dispositions.add(True, number, True, ACCEPTED)
        dispositions.add(False, number, True, ACCEPTED)
    assert sorted((d.role, d.first, d.last) for d in taken(dispositions)) == [
        (False, 2**32 - 1, 1),
        (True, 2**32 - 1, 1),
    ]


def test_another_role_state_or_settlement_begins_another_range():
    dispositions = Dispositions()
    dispositions.add(True, 0, True, RELEASED)
    dispositions.add(True, 1, True, _spec.Released())
    dispositions.add(True, 2, False, RELEASED)
    dispositions.add(False, 3, False, RELEASED)
    dispositions.add(False, 4, False, None)
    found = [(d.role, d.first, d.last, d.settled, d.state) for d in taken(dispositions)]
    assert found == [
        (True, 0, 1, True, RELEASED),
        (True, 2, None, False, RELEASED),
        (False, 3, None, False, RELEASED),
        (False, 4, None, False, None),
    ]


@given(
    st.lists(
        st.tuples(st.booleans(), st.booleans(), st.sampled_from([ACCEPTED, RELEASED, None])),
        max_size=40,
    )
)
def test_what_is_said_of_each_delivery_is_what_was_added(said):
    dispositions = Dispositions()
    for number, (role, settled, state) in enumerate(said):
        dispositions.add(role, number, settled, state)
    heard = {}
    for d in taken(dispositions):
        for number in range(d.first, (d.first if d.last is None else d.last) + 1):
            assert number not in heard
            heard[number] = (d.role, d.settled, d.state)
    assert heard == dict(enumerate(said))


def rejected(text):
    return _spec.Rejected(error=_spec.Error(condition="amqp:not-allowed", description=text))


@pytest.mark.parametrize(
    ("state", "shorter"),
    [
        (rejected("x" * 600), rejected("x" * 200)),
        (rejected("\N{SNOWMAN}" * 300), rejected("\N{SNOWMAN}" * 66)),
        (
            _spec.Modified(
                delivery_failed=True,
                message_annotations={"x-opt-a": Tagged(types.STRING, "x" * 600)},
            ),
            _spec.Modified(delivery_failed=True),
        ),
        (
            _spec.TransactionalState(txn_id=b"1", outcome=rejected("x" * 600)),
            _spec.TransactionalState(txn_id=b"1", outcome=rejected("x" * 200)),
        ),
    ],
)
def test_an_outcome_that_no_frame_holds_is_told_in_short(state, shorter):
    for maximum, told in ((512, shorter), (4096, state)):
        disposition = _spec.Disposition(role=True, first=0, settled=True, state=state)
        assert fit(disposition, maximum) == (maximum == 512)
        assert disposition.state == told
