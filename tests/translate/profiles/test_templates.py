"""Templates make addresses, and every address has one reading."""

import string

import hypothesis.strategies as st
import pytest
from hypothesis import given

from gateway.errors import ConfigurationError
from gateway.translate.profiles.templates import Template, Wildcards

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
PLAIN_NAMES = st.text(string.ascii_letters + "./%é", min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("text", "given", "address"),
    [
        ("{queue}", {"queue": "a/b c"}, "a/b c"),
        ("/queues/{queue|percent}", {"queue": "a/b é.~"}, "/queues/a%2Fb%20%C3%A9.~"),
        ("{exchange|word}.{key|percent}", {"exchange": "amq.topic", "key": "a.*"},
         "amq%2Etopic.a.%2A"),
        ("{exchange|plain}/{key}", {"exchange": "x", "key": "a/b"}, "x/a/b"),
        ("{exchange|plain}/{key}", {"exchange": "x", "key": ""}, "x/"),
        ("{exchange|plain}/Subscriptions/{name|plain}", {"exchange": "t", "name": "s"},
         "t/Subscriptions/s"),
        ("topic({key})", {"key": "a)"}, "topic(a))"),
    ],
)  # fmt: skip
def test_an_address_is_made_and_read_back(text: str, given: dict[str, str], address: str) -> None:
    template = Template(text)
    assert template.make(**given) == address  # type: ignore[arg-type]  # all are text
    assert template.read(address) == given


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("{queue}", {}),
        ("{exchange|plain}/{key}", {"key": "k"}),
        ("{exchange|plain}/{key}", {"exchange": "a/b", "key": "k"}),
        ("/q/{queue|plain}", {"queue": "a/b"}),
    ],
)
def test_a_name_may_have_no_address(text: str, given: dict[str, str]) -> None:
    assert Template(text).make(**given) == ""  # type: ignore[arg-type]  # all are text


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("/queues/{queue|percent}", "/exchanges/x"),
        ("/queues/{queue|percent}", "/queues/"),
        ("/queues/{queue|percent}", "/queues/a/b"),
        ("/queues/{queue|percent}", "/queues/%FF"),
        ("{exchange|word}.{key}", "noword"),
        ("{exchange|plain}/{key|plain}", "x/a/b"),
        ("{exchange|plain}/to/{key}", "x/from/k"),
        ("({key})", "(k"),
        ("fixed", "fixed and more"),
    ],
)
def test_an_address_may_be_none_of_a_template(text: str, address: str) -> None:
    assert Template(text).read(address) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        ("{queue", "no part"),
        ("queue}", "without"),
        ("{colour}", "no part"),
        ("{queue|rot13}", "no part"),
        ("{key}/{key}", "twice"),
        ("{exchange}/{key}", "percent"),
        ("{exchange}{key}", "between"),
        ("{exchange|percent}.{key}", 'may have "."'),
        ("{exchange|word}-{key}", 'may have "-"'),
        ("{exchange|plain}.{key}", 'may have "."'),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        Template(text)


@given(NAMES, NAMES)
def test_encoded_parts_always_come_back(exchange: str, key: str) -> None:
    for text in ("/e/{exchange|percent}/{key|percent}", "{exchange|word}.{key|percent}"):
        template = Template(text)
        address = template.make(exchange=exchange, key=key)
        assert template.read(address) == {"exchange": exchange, "key": key}


@given(PLAIN_NAMES, PLAIN_NAMES)
def test_a_plain_part_comes_back_or_has_no_address(exchange: str, key: str) -> None:
    template = Template("{exchange|plain}/{key}")
    address = template.make(exchange=exchange, key=key)
    assert bool(address) == ("/" not in exchange)
    if address:
        assert template.read(address) == {"exchange": exchange, "key": key}


@pytest.mark.parametrize(
    ("left", "right", "meet"),
    [
        ("{queue}", "topic://{exchange}", True),
        ("queue://{queue}", "topic://{exchange}", False),
        ("/queues/{queue|percent}", "/exchanges/{exchange|percent}/{key|percent}", False),
        ("{queue|percent}", "{exchange|percent}/{key}", False),
        ("{queue|plain}", "{exchange|percent}/{key}", False),
        ("{queue|word}", "{exchange|word}.{key}", False),
        ("{queue|percent}", "{exchange|word}.{key}", True),
        ("{exchange|plain}/Subscriptions/{name}", "{exchange|plain}/{key}", True),
        ("fixed", "fixed", True),
        ("fixed", "fixed-not", False),
    ],
)
def test_templates_that_may_make_one_address_are_found(left: str, right: str, meet: bool) -> None:
    assert Template(left).may_meet(Template(right)) is meet
    assert Template(right).may_meet(Template(left)) is meet


@pytest.mark.parametrize(
    ("key", "wildcards", "address"),
    [
        ("a.*.#", Wildcards(), "x.a.*.#"),
        ("a.*.#", Wildcards("*", ">", True), "x.a.*.>"),
        ("#.a", Wildcards("*", ">", True), ""),
        ("a*.b#", Wildcards(), "x.a%2A.b%23"),
        ("a.#", Wildcards("+", ""), ""),
        ("a.*", Wildcards("", "#"), ""),
        ("", Wildcards(), "x."),
    ],
)
def test_wildcard_words_are_spelled_as_the_broker_spells_them(
    key: str, wildcards: Wildcards, address: str
) -> None:
    template = Template("{exchange|word}.{key|percent}")
    assert template.make(exchange="x", key=key, wildcards=wildcards) == address


def test_a_word_that_the_broker_would_take_for_a_wildcard_has_no_pattern() -> None:
    template = Template("{exchange|plain}/{key}")
    assert template.make(exchange="x", key="a.>", wildcards=Wildcards("*", ">")) == ""


def test_only_the_bare_name_is_an_identity() -> None:
    assert Template("{queue}").identity
    assert not Template("{queue|percent}").identity
    assert not Template("/{queue}").identity
