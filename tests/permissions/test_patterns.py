import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.permissions.patterns import fits_key, fits_name


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("orders", "orders", True),
        ("orders", "orders.1", False),
        ("*", "", True),
        ("orders.*", "orders.", True),
        ("orders.*", "order", False),
        ("*.dead", "orders.dead", True),
        ("a*b*c", "a.x.b.y.c", True),
        ("a*b*c", "acb", False),
        ("a*a", "a", False),
    ],
)
def test_a_star_stands_for_any_run_of_characters_of_a_name(pattern: str, name: str, fits: bool):
    assert fits_name(pattern.split("*"), name) is fits


@pytest.mark.parametrize(
    ("pattern", "key", "fits"),
    [
        ("a.b", "a.b", True),
        ("a.*", "a.b", True),
        ("a.*", "a", False),
        ("a.#", "a", True),
        ("a.#", "a.b.c", True),
        ("#.z", "x.y.z", True),
        ("#", "", True),
        ("*", "", True),
        ("#.b.#.c", "a.b.x.b.c", True),
        ("#.b.*.c", "a.b.c", False),
        ("a.b*", "a.bc", False),
    ],
)
def test_words_of_a_key_fit_as_at_a_topic_exchange(pattern: str, key: str, fits: bool):
    assert fits_key(pattern.split("."), key) is fits


def slowly(pattern: list[str], key: list[str]) -> bool:
    """The rule, word by word."""
    if not pattern:
        return not key
    if pattern[0] == "#":
        return any(slowly(pattern[1:], key[at:]) for at in range(len(key) + 1))
    return bool(key) and pattern[0] in ("*", key[0]) and slowly(pattern[1:], key[1:])


@given(
    st.lists(st.sampled_from(["a", "b", "*", "#"]), min_size=1, max_size=6),
    st.lists(st.sampled_from(["a", "b", ""]), min_size=1, max_size=7),
)
def test_every_pattern_fits_the_keys_that_the_rule_says(pattern: list[str], key: list[str]):
    assert fits_key(pattern, ".".join(key)) is slowly(pattern, key)
