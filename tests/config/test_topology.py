"""Exchanges, queues and bindings in the configuration: every problem at once, and what they are."""

from __future__ import annotations

import pytest
import yaml

from gateway.bridge.queues.discipline import Discipline, Policy
from gateway.bridge.seams import QueueSettings
from gateway.config import Settings, load
from gateway.config.topology import queue_settings
from gateway.errors import ConfigurationError


def host(**keys: object) -> str:
    return "virtual_hosts=" + yaml.safe_dump([{"name": "main", **keys}], default_flow_style=True)


def problems(*changes: str) -> dict[str, str]:
    with pytest.raises(ConfigurationError) as caught:
        load(None, list(changes))
    return dict(caught.value.problems)


def test_every_problem_is_told_at_once():
    told = problems(
        host(
            exchanges=[
                {"name": "amq.mine", "type": "topic"},
                {
                    "name": "x",
                    "type": "headers",
                    "alternate_exchange": "nowhere",
                    "arguments": {"qpid.ive": 1, "qpid.filter": "a = 1"},
                },
            ],
            queues=[
                {"name": "q", "arguments": {"qpid.max_count": -1}},
                {"name": "r", "arguments": {"x-own": 1}},
                {
                    "name": "s",
                    "arguments": {"qpid.priorities": 3, "qpid.last_value_queue_key": "k"},
                },
                {"name": "t", "alternate_exchange": "nowhere"},
            ],
            bindings=[
                {"exchange": "y", "queue": "u"},
                {"exchange": "x", "queue": "q"},
            ],
        )
    )
    at = "virtual_hosts.0"
    assert told == {
        f"{at}.exchanges.0.name": "'amq.mine' is reserved",
        f"{at}.exchanges.1.alternate_exchange": "there is no exchange 'nowhere'",
        f"{at}.exchanges.1.arguments": "qpid.filter has no effect",
        f"{at}.queues.0.arguments": (
            "qpid.max_count is no number of 0 or more, or too large a one"
        ),
        f"{at}.queues.1.arguments": "x-own has no effect",
        f"{at}.queues.2.arguments": "last values do not go with priorities",
        f"{at}.queues.3.alternate_exchange": "there is no exchange 'nowhere'",
        f"{at}.bindings.0.exchange": "there is no exchange 'y'",
        f"{at}.bindings.0.queue": "there is no queue 'u' here",
        f"{at}.bindings.1.arguments": "a headers binding needs x-match: all or any",
    }


def test_two_of_one_name_are_refused():
    told = problems(
        host(
            exchanges=[{"name": "x", "type": "topic"}, {"name": "x", "type": "fanout"}],
            queues=[{"name": "q"}, {"name": "q"}],
        )
    )
    assert told == {
        "virtual_hosts.0.exchanges": "two exchanges have the same name",
        "virtual_hosts.0.queues": "two queues have the same name",
    }


def test_what_is_of_a_wrong_type_hides_nothing_and_makes_nothing_else_a_problem():
    told = problems(
        host(
            exchanges=[{"name": "x", "type": "fanout", "durable": "perhaps"}],
            queues=[
                {"name": "q", "arguments": {"qpid.max_count": 1.5, "qpid.priorities": -1}},
                {"name": "r", "durable": "perhaps", "arguments": {"no-local": "perhaps"}},
            ],
            bindings=[{"exchange": "x", "queue": "q"}, {"exchange": "amq.match", "queue": "r"}],
        )
    )
    at = "virtual_hosts.0"
    assert told == {
        f"{at}.exchanges.0.durable": "must be true or false",
        f"{at}.queues.0.arguments.qpid.max_count": (
            "must be true, false, a whole number or a text"
        ),
        f"{at}.queues.0.arguments": (
            "qpid.priorities is no number of 0 or more, or too large a one"
        ),
        f"{at}.queues.1.durable": "must be true or false",
        f"{at}.queues.1.arguments": "no-local is neither true nor false",
        f"{at}.bindings.1.arguments": "a headers binding needs x-match: all or any",
    }


def test_a_queue_is_made_with_what_its_arguments_say():
    arguments = {"qpid.policy_type": "ring", "qpid.max_count": "5", "qpid.browse-only": True}
    settings = load(None, [host(queues=[{"name": "q", "durable": False, "arguments": arguments}])])
    assert isinstance(settings, Settings)
    [section] = settings.virtual_hosts[0].queues
    made = queue_settings(section)
    assert isinstance(made, QueueSettings)
    assert made.discipline == Discipline(policy=Policy.RING, browse_only=True)
    assert (made.max_count, made.durable) == (5, False)
