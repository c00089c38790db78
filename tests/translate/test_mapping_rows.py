"""Every mapping row is exercised in each of its directions, and its loss is told."""

from typing import Any

import pytest
from translate import bodies_cases, contents_cases, ends_cases, fields_cases, values_cases
from translate.cases import (
    CASES,
    LOSSES,
)
from translate.messages import (
    context,
)

from gateway.errors import ConfigurationError
from gateway.translate import mapping_rows
from gateway.translate import message as translation

CASE_MODULES = (fields_cases, values_cases, bodies_cases, contents_cases, ends_cases)


@pytest.mark.parametrize("case", sorted(CASES), ids=" ".join)
def test_a_row_does_what_it_says(case: tuple[str, str]) -> None:
    CASES[case]()


def test_every_row_is_exercised_in_each_of_its_directions() -> None:
    promised = {
        (found.id, direction) for found in mapping_rows.ALL for direction in found.directions
    }
    assert set(CASES) == promised


# Their values move to another row's value, or back by the content type alone, without escrow too.
NEVER_ALONE = {"body.jms-map", "body.jms-stream", "body.java-object"}


@pytest.mark.parametrize("row_id", sorted(set(LOSSES) - NEVER_ALONE))
def test_without_escrow_the_value_is_one_loss_by_the_rows_policy(row_id: str) -> None:
    message = LOSSES[row_id]()
    ctx = context(escrow=False)
    if message.encoding:
        losses = translation.to_0_10(message, ctx).losses
    else:
        losses = translation.to_1_0(message, ctx).losses
    assert [(loss.row, loss.policy) for loss in losses] == [
        (row_id, mapping_rows.ROWS[row_id].otherwise)
    ]
    assert ctx.counts.lost[mapping_rows.ROWS[row_id].number] == 1
    assert sum(ctx.counts.escrowed) == 0


@pytest.mark.parametrize("row_id", sorted(LOSSES))
def test_with_escrow_the_same_value_is_no_loss(row_id: str) -> None:
    message = LOSSES[row_id]()
    ctx = context(escrow_max=80_000)
    if message.encoding:
        losses = translation.to_0_10(message, ctx).losses
    else:
        losses = translation.to_1_0(message, ctx).losses
    too_large = len(message.payload) > 65_000
    assert [loss.row for loss in losses] == ([row_id] if too_large else [])
    assert too_large or sum(ctx.counts.escrowed) > 0


def test_every_escrow_row_has_a_value_that_only_escrow_can_carry() -> None:
    wanted = {found.id for found in mapping_rows.ALL if found.policy == "escrow"}
    assert wanted - set(LOSSES) == {"body.java-object"}


def test_code_declares_the_rows_that_the_data_has() -> None:
    assert mapping_rows.declared == set(mapping_rows.ROWS)


def test_a_broken_row_is_reported_with_its_place(tmp_path: Any) -> None:
    for name in mapping_rows.FILES:
        (tmp_path / f"{name}.yaml").write_text("[]")
    (tmp_path / "bodies.yaml").write_text("- {id: a, number: 0, policy: exact}\n- {id: b}\n")
    with pytest.raises(ConfigurationError) as caught:
        mapping_rows.load(tmp_path)
    assert [place for place, _ in caught.value.problems] == [
        "mappings/bodies.yaml[0]",
        "mappings/bodies.yaml[1]",
    ]
