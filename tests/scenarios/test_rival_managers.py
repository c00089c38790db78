"""Two transaction managers decide about one branch at once: one is heard, the other is told."""

import itertools

import pytest
from support.qpidd_lines import xid
from support.talk_0_10 import Gateway
from support.xa_model import Model
from support.xa_talk import COMMANDS, Talks

DECISIONS: dict[str, tuple[str, dict[str, bool]]] = {
    "prepare": ("prepare", {}),
    "commit": ("commit", {}),
    "commit in one phase": ("commit", {"one_phase": True}),
    "rollback": ("rollback", {}),
    "forget": ("forget", {}),
}


def worked(prepared: bool) -> tuple[Talks, Model]:
    """A branch that takes a message and publishes another, as the gateway and the model have it."""
    gateway = Gateway()
    gateway.world.queue("q", durable=True)
    talks, model = Talks(gateway), Model(gateway.world.now_ms)
    assert talks.publishes("worker", "old", "q", kept=True) == model.says(
        "worker", "publish", "old", "q"
    )
    for verb, *arguments in (("select",), ("start", "x")):
        assert talks.says("worker", verb, *arguments) == model.says("worker", verb, *arguments)
    came = talks.takes("worker", "q")
    assert came is not None
    copy = model.takes("worker", came.body, "q")
    talks.settles("worker", "accept", came.number)
    model.says("worker", "accept", copy)
    talks.publishes("worker", "new", "q", kept=True)
    model.says("worker", "publish", "new", "q")
    for verb in ("end", "prepare") if prepared else ("end",):
        assert talks.says("worker", verb, "x") == model.says("worker", verb, "x") == "xa-ok"
    return talks, model


@pytest.mark.parametrize("prepared", [False, True], ids=["not prepared", "prepared"])
@pytest.mark.parametrize("rivals", [*itertools.product(DECISIONS, repeat=2)], ids=" and ".join)
def test_of_two_in_one_turn_the_second_is_answered_as_if_the_first_had_been_done(
    rivals: tuple[str, str], prepared: bool
) -> None:
    talks, model = worked(prepared)
    expected = []
    for who, rival in zip("ab", rivals, strict=True):
        verb, flags = DECISIONS[rival]
        talks.sends(who, COMMANDS[verb](xid=xid("x"), **flags))
        expected.append(model.says(who, verb, "x", **flags))
    assert [talks.hears(who) for who in "ab"] == expected
    assert talks.browses("q") == [copy.body for copy in model.ready("q")]
    assert talks.says("c", "recover") == model.says("c", "recover")
    assert talks.says("c", "rollback", "x") == model.says("c", "rollback", "x")
    talks.gateway.world.check()
