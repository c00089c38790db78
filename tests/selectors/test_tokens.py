"""The words of a selector."""

import pytest

from gateway.message import Kind
from gateway.selectors.tokens import SelectorError, Sort, tokens_of


def literal(text: str) -> tuple[int, object]:
    token, end = tokens_of(text)
    assert token.sort == Sort.LITERAL and token.value is not None and end.sort == Sort.END
    return token.value.code, token.value.value


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("57", Kind.INTEGER, 57),
        ("57L", Kind.INTEGER, 57),
        ("0", Kind.INTEGER, 0),
        ("017", Kind.INTEGER, 15),
        ("0x1F", Kind.INTEGER, 31),
        ("0Xffffffffffffffffl", Kind.INTEGER, 2**64 - 1),
        ("18446744073709551615", Kind.INTEGER, 2**64 - 1),
        ("7E3", Kind.REAL, 7000.0),
        ("57.9e-2", Kind.REAL, 0.579),
        ("7.", Kind.REAL, 7.0),
        (".5", Kind.REAL, 0.5),
        ("5f", Kind.REAL, 5.0),
        ("5.0D", Kind.REAL, 5.0),
        ("'text'", Kind.STRING, "text"),
        ("'joe''s'", Kind.STRING, "joe's"),
        ("''", Kind.STRING, ""),
        ("''''", Kind.STRING, "'"),
    ],
)
def test_a_literal_is_what_it_says(text: str, kind: Kind, value: object) -> None:
    assert literal(text) == (kind, value)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a", "a"),
        ("_a1", "_a1"),
        ("$a$", "$a$"),
        ("amqp.correlation_id", "amqp.correlation_id"),
        ("größe", "größe"),
        ("Nullable", "Nullable"),
        ('"a-b"', "a-b"),
        ('"a""b"', 'a"b'),
        ('"NULL"', "NULL"),
    ],
)
def test_an_identifier_keeps_its_letters(text: str, name: str) -> None:
    token, _ = tokens_of(text)
    assert (token.sort, token.text) == (Sort.NAME, name)


def test_reserved_words_are_known_in_any_letters() -> None:
    words = "null TRUE False nOt and Or BETWEEN like in is escape"
    tokens = tokens_of(words)[:-1]
    assert {token.sort for token in tokens} == {Sort.WORD}
    assert [token.text for token in tokens] == words.upper().split()


def test_signs_need_no_space_around_them() -> None:
    tokens = tokens_of("a<>1<=b>=2<3>(4,5)*6/7+8-9=c")
    signs = [token.text for token in tokens if token.sort == Sort.SIGN]
    assert signs == ["<>", "<=", ">=", "<", ">", "(", ",", ")", "*", "/", "+", "-", "="]


def test_a_token_knows_its_place() -> None:
    assert [token.at for token in tokens_of("  a =\t\n'b' ")] == [2, 4, 7, 11]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("'open", "at character 6: a closing ' expected"),
        ('"open', 'at character 6: a closing " expected'),
        ("a # b", "at character 3: an identifier, a literal or an operator expected"),
        ("089", "at character 1: an octal number expected"),
        ("1a", "at character 1: a number expected"),
        ("1.5.2", "at character 1: a number expected"),
        ("18446744073709551616", "at character 1: a number of 64 bits expected"),
        ("1" * 5000, "at character 1: a number of 64 bits expected"),
        ("1e999", "at character 1: a number of 64 bits expected"),
    ],
)
def test_what_is_no_word_is_told_with_its_place(text: str, said: str) -> None:
    with pytest.raises(SelectorError, match="expected") as raised:
        tokens_of(text)
    assert str(raised.value) == said
