"""No text of YAML breaks its reader, or holds it up; what is wrong has its line."""

from contextlib import suppress
from datetime import date
from typing import Any

import hypothesis.strategies as st
import pytest
import yaml
from hypothesis import example, given

from gateway.errors import ConfigurationError
from gateway.files.yaml_text import ALIASED_MAX, DEPTH_MAX, BodyLoader, decoded, load_yaml, said

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 9)}]\n" for at in range(1, 30)
)
MERGED = "a0: &a0 {x: 1}\n" + "".join(
    f"a{at}: &a{at} {{<<: [*a{at - 1}, *a{at - 1}]}}\n" for at in range(1, 40)
)

UNREADABLE = {
    "[" * 5000: f"nested deeper than {DEPTH_MAX} at line 1, column {DEPTH_MAX + 1}",
    "- " * 5000: f"nested deeper than {DEPTH_MAX} at line 1",
    "{a: " * 3000: f"nested deeper than {DEPTH_MAX} at line 1",
    "? " * 5000: f"nested deeper than {DEPTH_MAX} at line 1",
    BOMB: f"aliases stand for more than {ALIASED_MAX} values at line 5",
    MERGED: f"aliases stand for more than {ALIASED_MAX} values at line 1",
    "a: &a\n  b: *a\n": "an alias within what it means at line 2, column 6",
    "a: &a [*a]": "an alias within what it means at line 1, column 8",
    "a: *b": "found undefined alias 'b' at line 1, column 4",
    "a: 1\n? [b]\n: c": "a key must be a word at line 2, column 3",
    "? {a: b}\n: c": "a key must be a word at line 1",
    "- 1:1" + ":59" * 100_000: "too long for a value of int at line 1, column 3",
    "- " + "9" * 5000: "too long for a value of int at line 1, column 3",
    "- 2001-99-99": "no value of timestamp at line 1, column 3",
    "- 2001-01-01 00:00:00 +99:99": "no value of timestamp",
    "- 0x_": "no value of int",
    "- 0b_": "no value of int",
    "- !!int x": "no value of int",
    "- !!int ''": "no value of int",
    "- !!float x": "no value of float",
    "- !!bool x": "no value of bool",
    "- !!timestamp x": "no value of timestamp",
    "- !!binary é": "failed to convert base64 data",
    "- !!map x": "no mapping at line 1, column 3",
    "- !!map [a]": "no mapping",
    "- !!seq x": "expected a sequence node",
    "- !!set {[a]}": "at line 1",
    "- !!python/object:os.system x": "could not determine a constructor",
    "- =": "could not determine a constructor",
    "<<: 5": "expected a mapping",
    '- "\\ud800"': "half a character (a lone surrogate) at line 1, column 3",
    '? "\\udfff"\n: x': "half a character",
    '- "\\0"': "a NUL character at line 1, column 3",
    "a: 1\n\tb: 2": "at line 2",
    "a: 1\nb: \0": "the character U+0000 is not allowed, at line 2, column 4",
    "a: \udcff": "the character U+DCFF is not allowed, at line 1, column 4",
    "a: \x1b": "the character U+001B is not allowed",
    "a\n---\nb": "expected a single document",
    "%YAML 9.9\n---\na": "found incompatible YAML document",
}


@pytest.mark.parametrize("text", UNREADABLE, ids=lambda text: text[:20])
def test_what_cannot_be_read_is_told_with_its_line(text: str):
    with pytest.raises(yaml.YAMLError) as raised:
        load_yaml(text)
    assert UNREADABLE[text] in said(raised.value)
    assert "\n" not in said(raised.value)


@pytest.mark.parametrize(
    ("octets", "problem"),
    [
        (b"a: 1\nb: \xff", "is no UTF-8, at line 2, column 4"),
        (b"\xef\xbb\xbfa: \xed\xa0\x80", "is no UTF-8, at line 1"),
        (b"\xff\xfea", "is no UTF-16, at line 1, column 1"),
        (b"\x00" * 9, "the character U+0000 is not allowed, at line 1, column 1"),
    ],
)
def test_octets_that_are_no_text_are_told_with_their_line(octets: bytes, problem: str):
    with pytest.raises(yaml.YAMLError) as raised:
        load_yaml(octets)
    assert problem in said(raised.value)


@pytest.mark.parametrize(
    ("given_", "value"),
    [
        (b"\xef\xbb\xbfa: b", {"a": "b"}),
        ("a: b".encode("utf-16"), {"a": "b"}),
        ("", None),
        ("# nothing", None),
        ("a: &x {b: 1}\nc: {<<: *x, d: 2}", {"a": {"b": 1}, "c": {"b": 1, "d": 2}}),
        ("a: &x {b: 1}\nc: {<<: *x, b: 2}\nd: *x", {"a": {"b": 1}, "c": {"b": 2}, "d": {"b": 1}}),
        ("a: 2001-01-01", {"a": date(2001, 1, 1)}),
        ("a: " + "9" * 60, {"a": int("9" * 60)}),
        ("5: 2\nnull: 3\ntrue: 4", {5: 2, None: 3, True: 4}),
        ("[" * (DEPTH_MAX - 1) + "]" * (DEPTH_MAX - 1), None),
        ("a: " + "x" * 100_000, {"a": "x" * 100_000}),
    ],
)
def test_what_can_be_read_means_what_it_meant(given_: str | bytes, value: Any):
    text = decoded(given_) if isinstance(given_, bytes) else given_
    assert load_yaml(given_) == yaml.safe_load(text)
    assert value is None or load_yaml(given_) == value


def test_all_keys_that_stand_twice_are_told_at_once():
    with pytest.raises(ConfigurationError) as raised:
        load_yaml("a: 1\nb: {c: 1, c: 2}\na: 2")
    assert raised.value.problems == [
        ("a", "stands twice (line 3)"),
        ("c", "stands twice (line 2)"),
    ]


def test_bodies_of_messages_may_have_any_character():
    assert load_yaml('["\\0"]', BodyLoader) == ["\0"]


SIGNS = [
    *"[]{}:,-?&*!|>%@`'\"#\\ \n\t\0\ud800\x85é",
    "&a ",
    "*a",
    "<<: ",
    "- ",
    ": ",
    "? ",
    "---\n",
]
KINDS = [
    "int",
    "map",
    "set",
    "binary",
    "omap",
    "timestamp",
    "float",
    "bool",
    "pairs",
    "python/name:x",
]
VALUES = ["a", "0x_", "1:1", ".nan", ".inf", "2001-99-99", "null"]
WORDS = st.sampled_from([*SIGNS, *VALUES, *(f"!!{kind} " for kind in KINDS)])


@given(st.lists(WORDS, max_size=30).map("".join))
@example("!!omap [a: b, c]")
def test_any_text_is_read_or_refused(text: str):
    try:
        load_yaml(text)
    except yaml.YAMLError as error:
        assert said(error)
    except ConfigurationError as error:
        assert error.problems


@given(st.binary(max_size=60))
def test_any_octets_are_read_or_refused(octets: bytes):
    with suppress(yaml.YAMLError, ConfigurationError):
        load_yaml(octets)
