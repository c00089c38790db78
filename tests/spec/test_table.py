"""The table of rules cannot rot, and names nothing that is not there."""

import ast

import pytest
from spec import table
from support.rules import PROTOCOLS, rule, rules

LEVELS = {"must", "should", "may"}
BOUND = {
    "0-10": {"both", "server", "client"},
    "1.0": {
        "both", "server", "client", "sender", "receiver", "intermediary", "resource", "controller",
    },
}  # fmt: skip


def test_the_table_is_what_the_rules_and_the_tests_yield() -> None:
    assert table.main(["--check"]) == 0, "run: PYTHONPATH=tests python tests/spec/table.py"


def test_every_marked_rule_is_in_its_table() -> None:
    for protocol, where, name in table.collect():
        assert (where, name) in rules(protocol), (protocol, where, name)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_rule_says_how_strong_it_is_and_whom_it_binds(protocol: str) -> None:
    for one in rules(protocol).values():
        assert one.level in LEVELS and one.binds in BOUND[protocol], one


def test_a_rule_that_does_not_apply_has_no_test_and_one_departed_from_has() -> None:
    found = table.collect()
    for protocol in PROTOCOLS:
        for one in rules(protocol).values():
            tested = (protocol, one.where, one.name) in found
            assert not ((one.not_applicable or one.not_kept) and tested), one
            assert tested or not one.departs, one
            assert one.departs or not one.strict, one


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_rule_is_decided(protocol: str) -> None:
    found = table.collect()
    for one in rules(protocol).values():
        excused = one.not_applicable or one.not_kept
        assert excused or (protocol, one.where, one.name) in found, one


def test_an_unknown_rule_cannot_be_marked() -> None:
    with pytest.raises(LookupError, match="no rule 'duplicate'"):
        rule("0-10", "exchange.bind", "duplicate")


def test_rules_are_found_on_tests_on_parameters_and_in_tables() -> None:
    source = """
ROWS = [pytest.param(1, marks=rule("1.0", "2.2", "c"))]

@rule("1.0", "2.2", "a")
@pytest.mark.parametrize("x", [pytest.param(1, marks=rule("1.0", "2.2", "b"))])
def test_first(x): pass

@pytest.mark.parametrize("x", ROWS)
def test_second(x): pass
"""
    assert list(table.in_module(ast.parse(source))) == [
        ("test_first", ("1.0", "2.2", "a")),
        ("test_first", ("1.0", "2.2", "b")),
        ("test_second", ("1.0", "2.2", "c")),
    ]
