"""What operators read of an upstream's errors."""

import pytest

from gateway.amqp_1_0._spec import Error
from gateway.faces.upstream_1_0.errors import TEXT_MAX, text_of


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (None, "no reason given"),
        (Error(condition="amqp:not-found"), "amqp:not-found"),
        (Error(condition="amqp:not-found", description="gone"), "amqp:not-found: gone"),
        (
            Error(condition="amqp:internal-error", description="{error,\n   [{file, 1}]}\r\n"),
            "amqp:internal-error: {error, [{file, 1}]}",
        ),
    ],
)
def test_an_error_is_one_line(error: Error | None, text: str) -> None:
    assert text_of(error) == text


def test_a_long_description_is_cut() -> None:
    assert len(text_of(Error(condition="a", description="x" * 10_000))) == TEXT_MAX
