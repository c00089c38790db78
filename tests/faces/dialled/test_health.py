from support.bridge_world import World

from gateway.faces.dialled.health import UpstreamHealth, UpstreamState


def fresh():
    bridge = World().bridge
    return bridge, UpstreamHealth(bridge)


def test_it_turns_when_it_is_connected_and_when_it_is_not_any_more():
    bridge, health = fresh()
    begun = bridge.now_ms
    bridge.now_ms += 10
    health.change(UpstreamState.CONNECTING)
    assert (health.turned_ms, health.state_since_ms, health.connected) == (begun, begun + 10, False)
    bridge.now_ms += 10
    health.change(UpstreamState.UP)
    assert (health.turned_ms, health.state_since_ms, health.connected) == (
        begun + 20,
        begun + 20,
        True,
    )
    bridge.now_ms += 10
    health.change(UpstreamState.DOWN)
    bridge.now_ms += 10
    health.change(UpstreamState.DOWN)
    assert (health.turned_ms, health.state_since_ms) == (begun + 30, begun + 30)


def test_a_problem_is_told_and_dated_and_so_is_its_end():
    bridge, health = fresh()
    told = []
    health.on_change = lambda: told.append((health.last_error, health.solved))
    bridge.now_ms += 5
    health.note_problem("no credit")
    assert health.last_error_ms == bridge.now_ms
    health.note_solved("no credit")
    assert told == [("no credit", ""), ("", "no credit")]
    assert health.solved == ""


def test_the_end_of_one_problem_leaves_another_as_the_last():
    _, health = fresh()
    health.note_problem("first")
    health.note_problem("second")
    health.note_solved("first")
    assert health.last_error == "second"


def test_why_a_connection_ended_is_told_with_the_change_that_follows():
    _, health = fresh()
    told = []
    health.on_change = lambda: told.append(health.last_error)
    health.fail("the transport was closed")
    assert told == []
    health.change(UpstreamState.DOWN)
    assert told == ["the transport was closed"]
