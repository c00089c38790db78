"""The selector language, by what selectors accept (JMS 2.0, 3.8.1)."""

import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.bridge_world import Headers
from support.work import grows_linearly, units_of

from gateway.message import Condition, Kind, Message, Refusal
from gateway.selectors.selector import DEPTH_MAX, LENGTH_MAX, PARTS_MAX, Selector, read_selector
from gateway.wire.tagged import Tagged
from gateway.wire.work import CHARACTERS_SEARCHED, PART, VERB, WORK

# What a selector may look at beyond its limit: all its parts, and one text of a million characters.
LOOKED_AT_LAST = PARTS_MAX * PART + 1_000_000 // CHARACTERS_SEARCHED

HEADERS = {
    "colour": Tagged(Kind.STRING, "red"),
    "five": Tagged(Kind.INTEGER, 5),
    "half": Tagged(Kind.REAL, 0.5),
    "whole": Tagged(Kind.REAL, 5.0),
    "yes": Tagged(Kind.BOOLEAN, True),
    "no": Tagged(Kind.BOOLEAN, False),
    "at": Tagged(Kind.TIMESTAMP, 1000),
    "octets": Tagged(Kind.BINARY, b"\xff\xfe"),
    "red": Tagged(Kind.BINARY, "röd".encode()),
    "nan": Tagged(Kind.REAL, float("nan")),
    "big": Tagged(Kind.INTEGER, 2**64 - 1),
    "phone": Tagged(Kind.STRING, "12x3"),
    "percent": Tagged(Kind.STRING, "100%"),
    "empty": Tagged(Kind.STRING, ""),
    "lines": Tagged(Kind.STRING, "a\nb"),
    "a-b": Tagged(Kind.INTEGER, 1),
}


def message(headers: dict[str, Tagged]) -> Message:
    reader = Headers()
    reader.given[1] = headers
    return Message(1, 0, b"", 0, 0, False, -1, -1, 0, 1, "", "q", 0, 0, 1, 0, 0, reader)


MESSAGE = message(HEADERS)


def accepts(text: str) -> bool:
    selector = read_selector(text)
    assert isinstance(selector, Selector), selector.description
    return selector.accepts(MESSAGE)


def refused(text: str) -> str:
    refusal = read_selector(text)
    assert isinstance(refusal, Refusal), text
    assert refusal.condition == Condition.INVALID_ARGUMENT
    return refusal.description


TRUE = [
    # Comparison.
    "colour = 'red'",
    "colour <> 'blue'",
    "five = 5",
    "five = 5.0",
    "five = whole",
    "five <> 4",
    "five > 4 AND five >= 5 AND five < 5.5 AND five <= 5",
    "half < five",
    "yes = TRUE",
    "yes <> FALSE",
    "yes <> no",
    "at = 1000",
    "big = 0xFFFFFFFFFFFFFFFF",
    "nan <> nan",
    "5 = five",
    '"a-b" = 1',
    # Truth values by themselves.
    "yes",
    "NOT no",
    "TRUE",
    "yes AND NOT (no OR FALSE)",
    # Precedence.
    "TRUE OR FALSE AND FALSE",
    "NOT FALSE AND TRUE",
    "NOT five = 4",
    "five + 2 * 3 = 11",
    "(five + 2) * 3 = 21",
    "10 - 3 - 2 = five",
    "20 / 2 / 2 = five",
    "-five = -5",
    "- -five = 5",
    "+five = 5",
    "2 * -five = -10",
    "-five + 10 = 5",
    # Arithmetic.
    "7 / 2 = 3",
    "-7 / 2 = -3",
    "7 / 2.0 = 3.5",
    "half * 2 = 1",
    "1.5 + half = 2 AND 1.5 - half = 1",
    # BETWEEN.
    "five BETWEEN 5 AND 5",
    "five BETWEEN 4 AND 6 AND yes",
    "five NOT BETWEEN 6 AND 7",
    "five NOT BETWEEN 6 AND missing",
    "five + 1 BETWEEN 2 * 3 AND 2 * 3",
    # IN.
    "colour IN ('blue', 'red')",
    "colour NOT IN ('blue')",
    # LIKE.
    "phone LIKE '12%3'",
    "phone LIKE '%'",
    "phone LIKE '____'",
    "phone LIKE '12_3'",
    "phone LIKE '%2_%'",
    "phone LIKE '%%3'",
    "phone NOT LIKE '12'",
    "phone NOT LIKE '12%12x3'",
    "phone NOT LIKE '_'",
    "percent LIKE '100\\%' ESCAPE '\\'",
    "percent LIKE '%!%' ESCAPE '!'",
    "phone NOT LIKE '12!_3' ESCAPE '!'",
    "empty LIKE ''",
    "empty LIKE '%'",
    "lines LIKE 'a_b'",
    "lines LIKE 'a%'",
    # Octets that are text.
    "red = 'röd'",
    "red LIKE 'r_d'",
    "red IN ('röd')",
    "red <> 'red'",
    "red IS NOT NULL",
    # NULL.
    "missing IS NULL",
    "colour IS NOT NULL",
    "octets IS NULL",
    "five / 0 IS NULL",
    "half / 0 IS NULL",
    "big * big IS NULL",
    "-big - big IS NULL",
    "colour + 1 IS NULL",
    "NULL IS NULL",
    # Letters of words do not matter, those of identifiers do.
    "colour like 'r%' and not (Colour is not null)",
]
NOT_TRUE = [
    "colour = 'blue'",
    "colour = 'Red'",
    "colour <> 'red'",
    "five = 4",
    "yes = FALSE",
    "no",
    "nan = nan",
    "nan < 1",
    "nan >= 1",
    # Values of unlike type are neither equal nor unequal, and texts have no order.
    "five = '5'",
    "five <> '5'",
    "colour < 'z'",
    "colour > 'a'",
    "yes < no",
    "yes = 'TRUE'",
    "five LIKE '5'",
    "five IN ('5')",
    # Unknown is not true.
    "missing = 1",
    "missing <> 1",
    "NOT missing = 1",
    "missing",
    "NOT missing",
    "colour",
    "five",
    "NULL",
    "missing LIKE '%'",
    "missing NOT LIKE '%'",
    "missing IN ('a')",
    "missing NOT IN ('a')",
    "missing BETWEEN 1 AND 2",
    "missing NOT BETWEEN 1 AND 2",
    "five BETWEEN missing AND 6",
    "five BETWEEN 4 AND missing",
    "five BETWEEN 6 AND 4",
    "octets = 'red'",
    "phone LIKE '12'",
    "phone LIKE '12x3_'",
    "phone LIKE '%4%'",
    "phone LIKE '12x%x3'",
    "phone LIKE '_2y%'",
    "percent LIKE '10!%' ESCAPE '!'",
    "empty LIKE '_'",
]


@pytest.mark.parametrize("text", TRUE)
def test_a_condition_that_is_true_accepts(text: str) -> None:
    assert accepts(text)


@pytest.mark.parametrize("text", NOT_TRUE)
def test_a_condition_that_is_false_or_unknown_does_not(text: str) -> None:
    assert not accepts(text)


VALUES = {"TRUE": True, "FALSE": False, "NULL": None}
AND = {True: 2, None: 1, False: 0}


@pytest.mark.parametrize("left", VALUES)
@pytest.mark.parametrize("right", VALUES)
def test_the_truth_tables_are_those_of_three_valued_logic(left: str, right: str) -> None:
    ranks = [AND[VALUES[left]], AND[VALUES[right]]]
    for word, rank in (("AND", min(ranks)), ("OR", max(ranks))):
        text = f"{left} {word} {right}".replace("NULL", "missing = 1")
        assert accepts(text) == (rank == 2)
        assert accepts(f"NOT ({text})") == (rank == 0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "at character 1: an identifier, a literal or ( expected"),
        ("   ", "at character 4: an identifier, a literal or ( expected"),
        ("a =", "at character 4: an identifier, a literal or ( expected"),
        ("a = 1 b", "at character 7: an operator or the end expected"),
        ("a = 1 = 2", "at character 7: an operator or the end expected"),
        ("(a = 1", "at character 7: ) expected"),
        ("a = 1)", "at character 6: an operator or the end expected"),
        ("5", "at character 1: a condition expected"),
        ("'text'", "at character 1: a condition expected"),
        ("a + 1", "at character 1: a condition expected"),
        ("a = 1 AND b + 1", "at character 11: a condition expected"),
        ("1 OR a", "at character 1: a condition expected"),
        ("NOT 5", "at character 5: a condition expected"),
        ("a NOT 5", "at character 7: BETWEEN, LIKE or IN expected"),
        ("a IS 5", "at character 6: NULL expected"),
        ("a BETWEEN 1 OR 2", "at character 13: AND expected"),
        ("a LIKE b", "at character 8: a text in single quotes expected"),
        ("a LIKE 'x' ESCAPE 'xy'", "at character 19: a text of one character expected"),
        ("a LIKE 'x!' ESCAPE '!'", "at character 8: a character behind the last escape expected"),
        ("a IN ()", "at character 7: a text in single quotes expected"),
        ("a IN (1)", "at character 7: a text in single quotes expected"),
        ("a IN 'x'", "at character 6: ( expected"),
        ("a IN ('x'", "at character 10: ) expected"),
        ("a == 1", "at character 4: an identifier, a literal or ( expected"),
        ("AND", "at character 1: an identifier, a literal or ( expected"),
    ],
)
def test_what_is_no_selector_is_refused_with_place_and_expectation(text: str, said: str) -> None:
    assert refused(text) == f"the selector cannot be understood: {said}"


@pytest.mark.parametrize(
    "text",
    [
        "a = 1 OR " * (LENGTH_MAX // 8) + "b",
        "(" * (DEPTH_MAX + 1) + "a" + ")" * (DEPTH_MAX + 1),
        "NOT " * (DEPTH_MAX + 1) + "a",
        "a = " + "-" * (DEPTH_MAX + 1) + "1",
        "a=" + "1+" * PARTS_MAX + "1",
        "a IN (" + "''," * PARTS_MAX + "'')",
        "a LIKE '" + "x" * 2000 + "'",
    ],
)
def test_what_would_cost_too_much_is_refused(text: str) -> None:
    assert refused(text)


def test_what_the_limits_let_through_is_evaluated() -> None:
    assert accepts("(" * DEPTH_MAX + "yes" + ")" * DEPTH_MAX)
    assert accepts("0 < " + "1+" * (PARTS_MAX - 3) + "1")
    assert accepts("colour IN (" + "''," * (PARTS_MAX - 2) + "'red')")


LITERALS = ["missing", "'red'", "'%'", "5", "0.5", "1e3", "0x1", "TRUE", "FALSE", "NULL", '"x"']
OPERATORS = ["NOT", "AND", "OR", "BETWEEN", "LIKE", "IN", "IS", "ESCAPE", "(", ")", ",", "+", "-"]
OTHERS = ["*", "/", "=", "<>", "<", "<=", ">", ">=", "''", "'_'", "\0", "'", '"', "."]
WORDS = [*HEADERS, *LITERALS, *OPERATORS, *OTHERS]


@given(st.text(max_size=200))
def test_any_text_is_a_selector_or_is_refused(text: str) -> None:
    selector = read_selector(text)
    if isinstance(selector, Selector):
        assert selector.accepts(MESSAGE) in (True, False)


@given(st.lists(st.sampled_from(WORDS), max_size=30))
def test_any_words_are_a_selector_or_are_refused(words: list[str]) -> None:
    selector = read_selector(" ".join(words))
    if isinstance(selector, Selector):
        assert selector.accepts(MESSAGE) in (True, False)


_values = st.one_of(
    st.builds(lambda value: Tagged(Kind.INTEGER, value), st.integers(-(2**63), 2**64 - 1)),
    st.builds(lambda value: Tagged(Kind.REAL, value), st.floats()),
    st.builds(lambda value: Tagged(Kind.STRING, value), st.text(max_size=5)),
    st.builds(lambda value: Tagged(Kind.BOOLEAN, value), st.booleans()),
)
_operands = st.sampled_from(["a", "b", "1", "0", "2.5", "'x'", "TRUE", "NULL", "1e308"])
_sums = st.recursive(
    _operands,
    lambda inner: st.tuples(inner, st.sampled_from("+-*/"), inner).map(
        lambda parts: f"({' '.join(parts)})"
    ),
    max_leaves=8,
)
_conditions = st.recursive(
    st.one_of(
        st.tuples(_sums, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), _sums).map(" ".join),
        st.tuples(_sums, _sums, _sums).map(lambda p: f"{p[0]} BETWEEN {p[1]} AND {p[2]}"),
        _sums.map(lambda operand: f"{operand} IS NULL"),
        _sums.map(lambda operand: f"{operand} LIKE 'x%'"),
    ),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(
            lambda parts: f"({' '.join(parts)})"
        ),
        inner.map(lambda one: f"NOT ({one})"),
    ),
    max_leaves=8,
)


@given(_conditions, _values, _values)
def test_a_condition_and_its_contrary_are_never_both_true(text: str, a: Tagged, b: Tagged) -> None:
    one = message({"a": a, "b": b})
    is_true, is_false = read_selector(text), read_selector(f"NOT ({text})")
    assert isinstance(is_true, Selector) and isinstance(is_false, Selector), text
    assert not (is_true.accepts(one) and is_false.accepts(one))


def cost(text: str, content: str) -> int:
    selector = read_selector(text)
    assert isinstance(selector, Selector)
    subject = message({"a": Tagged(Kind.STRING, content), "b": Tagged(Kind.STRING, content)})
    return units_of(lambda: selector.accepts(subject))


@pytest.mark.parametrize(
    "text",
    [
        "a LIKE '%x%'",
        "a LIKE '%x_y%'",
        "a LIKE '%a_a_b%'",
        "a LIKE '%" + "a" * 500 + "b%'",
        "a = b",
        "a NOT IN ('x', 'y')",
        "a LIKE '%x' OR b LIKE '%y%' OR a LIKE '%z%z%'",
    ],
)
def test_what_a_selector_costs_follows_the_length_of_the_text(text: str) -> None:
    assert grows_linearly(cost(text, "a" * 10_000), cost(text, "a" * 100_000), 10)


def test_a_pattern_that_nearly_matches_everywhere_is_found_out_in_one_pass() -> None:
    assert cost("a LIKE '" + "%a" * 500 + "%b'", "a" * 60_000) < 60_000 / CHARACTERS_SEARCHED * 2


@pytest.mark.parametrize(
    "text",
    [
        "a LIKE '%" + "a_" * 500 + "b%a%'",
        " OR ".join(["a LIKE '%x%'"] * 500),
        " AND ".join(["a = b"] * 600),
    ],
)
def test_a_selector_that_looks_at_too_much_is_given_up_and_accepts_nothing(text: str) -> None:
    given_up = WORK.given_up
    selector = read_selector(text)
    assert isinstance(selector, Selector)
    large = Tagged(Kind.STRING, "a" * 500_000 + "b" + "a" * 500_000)
    subject = message({"a": large, "b": large})
    assert units_of(lambda: selector.accepts(subject)) <= VERB + LOOKED_AT_LAST
    assert not selector.accepts(subject)
    assert WORK.given_up == given_up + 2
    small = Tagged(Kind.STRING, "ax")
    assert selector.accepts(message({"a": small, "b": small})) == ("_" not in text)


def naive(text: str, pattern: str) -> bool:
    if not pattern:
        return not text
    if pattern[0] == "%":
        return any(naive(text[at:], pattern[1:]) for at in range(len(text) + 1))
    return bool(text) and pattern[0] in ("_", text[0]) and naive(text[1:], pattern[1:])


@given(st.text("ab", max_size=7), st.text("ab_%", max_size=7))
def test_like_is_what_a_naive_matcher_says(text: str, pattern: str) -> None:
    selector = read_selector(f"a LIKE '{pattern}'")
    assert isinstance(selector, Selector)
    assert selector.accepts(message({"a": Tagged(Kind.STRING, text)})) == naive(text, pattern)


@pytest.mark.parametrize(
    ("text", "factor"),
    [
        (f"s = '{'a' * 16_000}'", 3),
        (f"s = '{chr(0x1F600) * 16_000}'", 3),
        (" OR ".join([f"a = {'-' * 39}1"] * 330), 3),
        (" OR ".join([f"{'NOT ' * 39}a"] * 90), 4),
        (" OR ".join([f"a{at} = '{at}'" for at in range(600)]), 4),
        ("b = " + "+".join(["a*2"] * 900), 4),
        (f"a IN ({','.join([repr(str(at)) for at in range(1900)])})", 4),
        (" OR ".join([f"{'(' * 30}a IS NULL{')' * 30}"] * 60), 10),
        (" OR ".join([f"a LIKE '{'%ab' * 300}'"] * 15), 4),
        (" OR ".join([f"a LIKE '_%{chr(0x400 + at)}'" for at in range(900)]), 4),
        ("a LIKE '" + "%".join(["_" + chr(0x400 + at) for at in range(340)]) + "'", 4),
    ],
    ids=range(11),
)
def test_a_selector_is_priced_at_what_it_takes_and_a_little(text: str, factor: int) -> None:
    read_selector(text)  # what is made once, at the first one
    re.purge()
    tracemalloc.start()
    selector = read_selector(text)
    re.purge()
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert isinstance(selector, Selector)
    assert taken <= selector.octets + len(text.encode()) <= factor * taken + len(text.encode())


def test_signs_and_nots_are_looked_at_like_other_parts() -> None:
    few, many = read_selector("a = -1"), read_selector(f"a = {'-' * 39}1")
    assert isinstance(few, Selector)
    assert isinstance(many, Selector)
    extra = units_of(lambda: many.accepts(MESSAGE)) - units_of(lambda: few.accepts(MESSAGE))
    assert extra == 38 * PART
