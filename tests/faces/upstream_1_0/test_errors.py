"""What operators read of an upstream's errors."""

import pytest
from support.bridge_world import World

from gateway.amqp_1_0._spec import Error
from gateway.faces.dialled.health import UpstreamHealth
from gateway.faces.upstream_1_0.errors import TEXT_MAX, note, text_of


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


def test_an_error_is_told_with_whose_it_is_and_none_is_no_news() -> None:
    health = UpstreamHealth(World().bridge)
    note(health, None, "from q")
    assert health.last_error == ""
    error = Error(condition="amqp:not-found", description="no such node")
    note(health, error, "from q")
    assert health.last_error == "from q: amqp:not-found: no such node"
    note(health, error)
    assert health.last_error == "amqp:not-found: no such node"
