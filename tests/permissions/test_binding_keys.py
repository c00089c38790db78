"""Binding keys and patterns, compared with all the keys that they let in, written out."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.permissions.binding_keys import covers, is_pattern, meets
from gateway.permissions.patterns import fits_key
from gateway.wire.work import STEP, WORDS_MAX, WORK

OTHER = "z"  # a word that no pattern names
WORDS = ["a", "b", "*", "#"]


@pytest.mark.parametrize(
    ("key", "pattern", "covered", "met"),
    [
        ("a.#", "a.*", False, True),
        ("a.*", "a.#", True, True),
        ("a.*", "a.*", True, True),
        ("news.*", "news.secret", False, True),
        ("news.secret.#", "news.secret", False, True),
        ("news.de.#", "news.secret", False, False),
        ("#", "*.#", True, True),
        ("#.a", "#.*", True, True),
        ("#.*", "*.#", True, True),
        ("#", "#.#", True, True),
        ("#", "*", False, True),
        ("*.#.*", "*.*.#", True, True),
        ("a.#.b", "a.*.#.b", False, True),
        ("#.a.#.a.#.a.#", "#.a.*.#.a.#", True, True),
        ("#.a.#.a.#", "#.a.*.#.a.#", False, True),
        ("a.#.b", "#.a.b.#", False, True),
        ("a.b", "b.a", False, False),
        ("", "*", True, True),
        ("a*", "a*", True, True),
        ("a*", "ab", False, False),
    ],
)
def test_a_binding_key_is_compared_as_a_pattern(key: str, pattern: str, covered: bool, met: bool):
    words = pattern.split(".")
    assert (covers(words, key), meets(words, key)) == (covered, met)


def test_what_may_let_in_more_than_one_key_is_a_pattern():
    assert [is_pattern(key) for key in ("", "a.b", "a.*", "#")] == [False, False, True, True]


def test_short_ones_decide_as_the_keys_say_that_there_are():
    keys = [
        ".".join(key) for count in range(1, 8) for key in itertools.product("abz", repeat=count)
    ]
    patterns = [
        list(words) for count in (1, 2, 3) for words in itertools.product(WORDS, repeat=count)
    ]
    fitting = [
        sum(1 << at for at, key in enumerate(keys) if fits_key(words, key)) for words in patterns
    ]
    for bound, of_bound in zip(patterns, fitting, strict=True):
        for words, of_rule in zip(patterns, fitting, strict=True):
            key = ".".join(bound)
            assert covers(words, key) is (of_bound & ~of_rule == 0), (words, key)
            assert meets(words, key) is (of_bound & of_rule != 0), (words, key)


def hardest(bound: list[str], longest: int) -> list[str]:
    """Keys that a binding key lets in, with words for its wildcards that no pattern names."""
    counts = [range(longest + 1) if word == "#" else [1] for word in bound]
    keys = []
    for each in itertools.product(*counts):
        words = [OTHER if word in ("*", "#") else word for word in bound]
        key = [word for word, times in zip(words, each, strict=True) for _ in range(times)]
        if key:
            keys.append(".".join(key))
    return keys


@given(
    st.lists(st.sampled_from([*WORDS, "#"]), min_size=1, max_size=8).filter(
        lambda words: words.count("#") <= 3
    ),
    st.lists(st.sampled_from([*WORDS, "#"]), min_size=1, max_size=8),
)
def test_longer_ones_are_covered_as_their_hardest_keys_say(bound: list[str], words: list[str]):
    keys = hardest(bound, len(words) + 1)
    assert covers(words, ".".join(bound)) is all(fits_key(words, key) for key in keys)


@given(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=8),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=8),
)
def test_to_meet_goes_both_ways_and_what_is_covered_is_met(bound: list[str], words: list[str]):
    key, pattern = ".".join(bound), ".".join(words)
    assert meets(words, key) is meets(bound, pattern)
    assert not covers(words, key) or meets(words, key)


@pytest.mark.parametrize("compare", [covers, meets])
def test_each_word_is_tried_with_each_of_the_pattern_at_most(compare: object):
    pattern = ["#", *["w"] * 100, "x", "#"]
    for words in (["w"] * WORDS_MAX, ["w", "#"] * (WORDS_MAX // 2), ["#"] * WORDS_MAX):
        units = WORK.units
        compare(pattern, ".".join(words))  # type: ignore[operator]  # one of the two
        spent = WORK.units - units
        assert STEP * len(words) <= spent <= 2 * STEP * (len(words) + 1) * (len(pattern) + 1)
