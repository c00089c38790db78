"""dtx over 0-10: work in branches, and what their managers are answered."""

import pytest
from support.branches_0_10 import (
    OK,
    READ_ONLY,
    ROLLED_BACK,
    TIMED_OUT,
    accept,
    asks,
    branch_of,
    commit,
    end,
    forget,
    persistent,
    prepare,
    recovers,
    rollback,
    selected,
    start,
    works,
    xid,
)
from support.own_rules import own_rules
from support.rules import rule
from support.talk_0_10 import Gateway
from support.transactions_0_10 import check, gateway_with

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.types import Command
from gateway.audit.schema import Kind
from gateway.bridge.limits import BridgeLimits
from gateway.permissions.actions import Action

# Publishing.


@rule("0-10", "dtx", "transactionality")
def test_what_is_published_between_start_and_end_enters_at_the_commit() -> None:
    gateway = gateway_with()
    client = selected(gateway)
    works(client, b"1", b"2")
    client.publishes(b"outside")
    client.hears()
    assert gateway.world.depth() == 1
    assert asks(client, commit(one_phase=True)) == OK
    assert gateway.world.depth() == 3
    assert branch_of(gateway) is None
    check(gateway)


def test_a_prepared_branch_shows_nothing_of_itself_until_its_commit() -> None:
    gateway = gateway_with()
    client = selected(gateway)
    works(client, b"1")
    assert asks(client, prepare()) == OK
    assert recovers(gateway) == ["x"]
    assert gateway.world.depth() == 0
    check(gateway)
    assert asks(client, commit()) == OK
    assert gateway.world.depth() == 1
    assert recovers(gateway) == []
    check(gateway)


@pytest.mark.parametrize("prepared", [False, True])
def test_a_rollback_drops_what_was_published(prepared: bool) -> None:
    gateway = gateway_with()
    client = selected(gateway)
    works(client, b"1", b"2")
    if prepared:
        assert asks(client, prepare()) == OK
    assert asks(client, rollback()) == OK
    assert gateway.world.depth() == 0
    assert branch_of(gateway) is None
    assert gateway.world.bridge.pressure.octets == 0
    assert gateway.world.bridge.pressure.messages == 0
    check(gateway)


# Accepting.


@pytest.mark.parametrize("prepared", [False, True])
def test_what_was_accepted_is_gone_with_the_commit(prepared: bool) -> None:
    gateway = gateway_with(b"1", b"2")
    client = selected(gateway)
    client.subscribes()
    client.hears()
    assert asks(client, start(), accept((0, 0)), end()) == OK
    assert gateway.world.depth() == 2
    if prepared:
        assert asks(client, prepare()) == OK
    check(gateway)
    assert asks(client, commit(one_phase=not prepared)) == OK
    assert gateway.world.depth() == 1
    check(gateway)


@pytest.mark.parametrize("prepared", [False, True])
def test_what_was_accepted_comes_again_after_a_rollback(prepared: bool) -> None:
    gateway = gateway_with(b"1", b"2", b"3")
    client = selected(gateway)
    client.subscribes(credit=3)
    client.hears()
    assert asks(client, start(), accept((2, 2)), accept((0, 1)), end()) == OK
    if prepared:
        assert asks(client, prepare()) == OK
    assert asks(client, rollback()) == OK
    consumer, _ = gateway.world.subscribe()
    gateway.world.turn()
    assert consumer.bodies() == [b"1", b"2", b"3"]
    assert [each.delivery_count for each in consumer.deliveries] == [1, 1, 1]
    check(gateway)


def test_what_was_accepted_is_no_longer_the_sessions() -> None:
    gateway = gateway_with(b"1")
    client = selected(gateway)
    client.subscribes()
    client.hears()
    assert asks(client, start(), accept((0, 0)), end()) == OK
    client.does(spec.MessageRelease(transfers=[(0, 0)]))
    client.loses_transport()
    consumer, _ = gateway.world.subscribe()
    gateway.world.turn()
    assert consumer.bodies() == []
    assert asks(gateway.session(), commit(one_phase=True)) == OK
    assert gateway.world.depth() == 0
    check(gateway)


def test_what_is_not_accepted_stays_with_the_session() -> None:
    gateway = gateway_with(b"1", b"2")
    client = selected(gateway)
    client.subscribes()
    client.hears()
    assert asks(client, start(), accept((0, 0)), end(), rollback()) == OK
    client.does(accept((1, 1)))
    gateway.world.turn()
    check(gateway)
    assert gateway.world.depth() == 1


def test_a_deleted_queue_keeps_what_a_prepared_branch_has_of_it() -> None:
    gateway = gateway_with(b"1")
    client = selected(gateway)
    client.subscribes()
    client.hears()
    assert asks(client, start(), accept((0, 0)), end(), prepare()) == OK
    assert asks(gateway.session(), spec.QueueDelete(queue="q")) == "done"
    check(gateway)
    assert asks(gateway.session(), commit()) == OK
    settled = [each for each in gateway.world.blocks.raw() if each["kind"] == Kind.SETTLED]
    assert len(settled) == 1
    check(gateway)


def test_a_prepared_branch_has_its_room_in_a_queue_with_limits() -> None:
    gateway = gateway_with(max_count=1)
    client = selected(gateway)
    works(client, b"1")
    assert asks(client, prepare()) == OK
    assert asks(gateway.session(), spec.QueueQuery(queue="q")) == "done"
    other = gateway.session()
    other.publishes(b"2")
    assert asks(other) == 506
    assert asks(client, commit()) == OK
    assert gateway.world.depth() == 1
    check(gateway)


@pytest.mark.parametrize("command", [prepare(), commit(one_phase=True)])
def test_what_a_queue_has_no_room_for_rolls_the_branch_back(command: Command) -> None:
    gateway = gateway_with(b"0", max_count=3)
    client = selected(gateway)
    client.subscribes(credit=1)
    client.hears()
    assert asks(client, start(), accept((0, 0))) == OK
    for body in (b"1", b"2", b"3"):
        client.publishes(body)
    assert asks(client, end()) == OK
    assert asks(client, command) == ROLLED_BACK
    assert gateway.world.depth() == 1
    assert gateway.world.bridge.pressure.messages == 1
    check(gateway)
    client.publishes(b"4")
    client.publishes(b"5")
    client.hears()
    assert gateway.world.depth() == 3


def test_copies_for_a_queue_that_was_deleted_after_prepare_end() -> None:
    gateway = gateway_with()
    client = selected(gateway)
    works(client, b"1")
    assert asks(client, prepare()) == OK
    assert asks(gateway.session(), spec.QueueDelete(queue="q")) == "done"
    assert asks(client, commit()) == OK
    assert check(gateway).kinds[Kind.REFUSED] == 1


def test_a_branch_that_holds_too_much_refuses_more() -> None:
    gateway = Gateway(bridge_limits=BridgeLimits(transaction_octets_max=600))
    gateway.world.queue()
    gateway.world.send(b"1", b"2", b"3")
    client = selected(gateway)
    client.subscribes()
    client.hears()
    assert asks(client, start(), accept((0, 1))) == OK
    assert asks(client, accept((2, 2))) == 506
    assert asks(gateway.session(), prepare()) == ROLLED_BACK


def test_there_are_no_more_branches_than_may_be() -> None:
    gateway = Gateway(bridge_limits=BridgeLimits(branches_max=1))
    client = selected(gateway)
    works(client, name="x")
    assert asks(client, start("y")) == 506


# Several turns.


def test_very_much_is_done_over_several_turns_as_one() -> None:
    gateway = gateway_with(durable=True)
    client = selected(gateway)
    count = 6_000
    works(client, *[b"m"] * count, durable=True)
    assert asks(client, prepare()) == OK
    assert gateway.world.depth() == 0
    assert asks(client, commit()) == OK
    assert gateway.world.depth() == count
    check(gateway)
    works(client, *[b"m"] * count)
    assert asks(client, prepare()) == OK
    assert asks(client, rollback()) == OK
    assert gateway.world.depth() == count
    check(gateway)


# Answers.


CODES = [
    pytest.param([start()], 409, marks=rule("0-10", "dtx.start", "illegal-state")),
    pytest.param([end()], 409, marks=rule("0-10", "dtx.end", "illegal-state")),
    pytest.param([prepare()], 404, marks=rule("0-10", "dtx.prepare.xid", "unknown-xid")),
    pytest.param([commit()], 404, marks=rule("0-10", "dtx.commit.xid", "unknown-xid")),
    pytest.param([rollback()], 404, marks=rule("0-10", "dtx.rollback.xid", "unknown-xid")),
    pytest.param([forget()], 404, marks=rule("0-10", "dtx.forget.xid", "unknown-xid")),
    pytest.param(
        [spec.DtxGetTimeout(xid=xid())],
        404,
        marks=rule("0-10", "dtx.get-timeout.xid", "unknown-xid"),
    ),
    pytest.param(
        [spec.DtxSetTimeout(xid=xid(), timeout=1)],
        404,
        marks=rule("0-10", "dtx.set-timeout.xid", "unknown-xid"),
    ),
    ([spec.DtxRecover()], []),
]


@pytest.mark.parametrize(("commands", "answer"), CODES)
def test_without_select_only_demarcation_is_illegal(
    commands: list[Command], answer: object
) -> None:
    assert asks(gateway_with().session(), *commands) == answer


SELECTED = [
    pytest.param(
        [start(join=True, resume=True)], 530, marks=rule("0-10", "dtx.start", "join-and-resume")
    ),
    pytest.param(
        [start(), end(), start()],
        530,
        marks=[
            rule("0-10", "dtx.start", "already-known"),
            rule("0-10", "dtx.start.xid", "unknown-xid"),
        ],
    ),
    ([start(join=True)], 404),
    ([start(resume=True)], 404),
    ([start(), end(), start(resume=True)], 409),
    ([start(), end(suspend=True), start(join=True)], 409),
    ([start(), start("y")], 409),
    pytest.param(
        [start(), end(fail=True, suspend=True)],
        530,
        marks=rule("0-10", "dtx.end", "suspend-and-fail"),
    ),
    pytest.param([start(), end("y")], 409, marks=rule("0-10", "dtx.end.xid", "not-associated")),
    ([start(), end(), end()], 409),
    ([start(), end(suspend=True), end()], 409),
    pytest.param(
        [start(), prepare()], 409, marks=rule("0-10", "dtx.prepare.xid", "not-disassociated")
    ),
    pytest.param(
        [start(), commit(one_phase=True)],
        409,
        marks=rule("0-10", "dtx.commit.xid", "not-disassociated"),
    ),
    pytest.param(
        [start(), rollback()], 409, marks=rule("0-10", "dtx.rollback.xid", "not-disassociated")
    ),
    pytest.param(
        [start(), forget()], 409, marks=rule("0-10", "dtx.forget.xid", "not-disassociated")
    ),
    ([start(), end(suspend=True), prepare()], 409),
    pytest.param(
        [start(), end(suspend=True), rollback()],
        409,
        marks=rule("0-10", "dtx.rollback", "illegal-state"),
    ),
    pytest.param(
        [start(), end(), forget()], 409, marks=rule("0-10", "dtx.forget", "illegal-state")
    ),
    pytest.param(
        [start(), end(), commit()],
        409,
        marks=[
            rule("0-10", "dtx.commit.one-phase", "one-phase"),
            rule("0-10", "dtx.commit", "illegal-state"),
        ],
    ),
    ([start(), end(), prepare()], READ_ONLY),
    ([start(), end(), prepare(), commit()], 404),
    pytest.param(
        [start(), end(), commit(one_phase=True)], OK, marks=rule("0-10", "dtx.end", "success")
    ),
    ([start(), end(), rollback()], OK),
    pytest.param(
        [start(), end(fail=True)], ROLLED_BACK, marks=rule("0-10", "dtx.end.fail", "failure")
    ),
    ([start(), end(fail=True), prepare()], ROLLED_BACK),
    ([start(), end(fail=True), prepare(), rollback()], OK),
    ([start(), end(fail=True), commit(one_phase=True)], ROLLED_BACK),
    ([start(), end(fail=True), commit(one_phase=True), rollback()], 404),
    ([start(), end(fail=True), rollback()], OK),
    pytest.param(
        [start(), end(suspend=True), start(resume=True), end(), rollback()],
        OK,
        marks=rule("0-10", "dtx.end.suspend", "resume"),
    ),
    ([start(), end(), start(join=True), end()], OK),
    ([start(), spec.DtxGetTimeout(xid=xid())], 60),
    pytest.param(
        [start(), spec.DtxSetTimeout(xid=xid(), timeout=9), spec.DtxGetTimeout(xid=xid())],
        9,
        marks=rule("0-10", "dtx.set-timeout", "effective"),
    ),
    pytest.param(
        [
            start(),
            spec.DtxSetTimeout(xid=xid(), timeout=9),
            spec.DtxSetTimeout(xid=xid(), timeout=0),
            spec.DtxGetTimeout(xid=xid()),
        ],
        60,
        marks=rule("0-10", "dtx.set-timeout", "reset"),
    ),
    ([start(), spec.DtxSetTimeout(xid=xid(), timeout=3600)], "done"),
    ([start(), spec.DtxSetTimeout(xid=xid(), timeout=3601)], 542),
    ([spec.DtxSelect(), start()], OK),
    ([spec.DtxStart()], 542),
    ([spec.DtxPrepare()], 542),
    ([spec.TxSelect(), start()], 409),
    pytest.param([start(), spec.TxSelect()], 409, marks=rule("0-10", "tx.select", "no-dtx")),
    ([spec.TxSelect()], "done"),
]


@pytest.mark.parametrize(("commands", "answer"), SELECTED)
def test_the_answer_to_the_last_of(commands: list[Command], answer: object) -> None:
    client = selected(gateway_with())
    for command in commands[:-1]:
        assert asks(client, command) is not None
    assert asks(client, commands[-1]) == answer


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        (prepare(), OK),
        pytest.param(
            commit(one_phase=True), 409, marks=rule("0-10", "dtx.commit.one-phase", "two-phase")
        ),
        (forget(), 409),
        (start(), 530),
        (start(join=True), 409),
        (start(resume=True), 409),
        (spec.DtxSetTimeout(xid=xid(), timeout=1), "done"),
    ],
)
def test_a_prepared_branch_answers_and_stays_prepared(command: Command, answer: object) -> None:
    gateway = gateway_with()
    client = selected(gateway)
    works(client, b"1")
    assert asks(client, prepare()) == OK
    assert asks(client, command) == answer
    gateway.world.pass_time(4_000_000)
    assert recovers(gateway) == ["x"]
    assert asks(gateway.session(), commit()) == OK
    assert gateway.world.depth() == 1


# Several sessions, and their ends.


def test_several_sessions_work_in_one_branch() -> None:
    gateway = gateway_with()
    one, two = selected(gateway), selected(gateway)
    asks(one, start())
    assert asks(two, start(join=True)) == OK
    one.publishes(b"1")
    two.publishes(b"2")
    assert asks(one, end()) == OK
    assert asks(gateway.session(), prepare()) == 409
    assert asks(two, end()) == OK
    assert asks(one, prepare()) == OK
    assert asks(one, commit()) == OK
    assert gateway.world.depth() == 2
    check(gateway)


@rule("0-10", "dtx.end", "session-closed")
@pytest.mark.parametrize("suspended", [False, True])
def test_the_end_of_a_session_in_a_branch_dooms_it(suspended: bool) -> None:
    gateway = gateway_with(b"0")
    client = selected(gateway)
    client.subscribes()
    client.hears()
    asks(client, start(), accept((0, 0)))
    client.publishes(b"1")
    if suspended:
        assert asks(client, end(suspend=True)) == OK
    client.loses_transport()
    consumer, _ = gateway.world.subscribe()
    gateway.world.turn()
    assert consumer.bodies() == [b"0"]
    manager = gateway.session()
    assert asks(manager, prepare()) == ROLLED_BACK
    assert asks(manager, rollback()) == OK
    assert gateway.world.depth() == 1
    check(gateway)


def test_an_exception_dooms_the_branch_and_what_others_still_do_in_it() -> None:
    gateway = gateway_with()
    one, two = selected(gateway), selected(gateway)
    asks(one, start())
    asks(two, start(join=True))
    one.publishes(b"1")
    assert asks(one, spec.MessageCancel(destination="none")) == 404
    two.publishes(b"2")
    assert asks(two, end()) == OK
    assert asks(two, commit(one_phase=True)) == ROLLED_BACK
    assert gateway.world.depth() == 0
    assert gateway.world.bridge.pressure.messages == 0
    check(gateway)


def test_a_session_that_ends_when_it_has_ended_its_work_leaves_the_branch() -> None:
    gateway = gateway_with()
    client = selected(gateway)
    works(client, b"1")
    client.loses_transport()
    assert asks(gateway.session(), commit(one_phase=True)) == OK
    assert gateway.world.depth() == 1


# Time.


def test_a_branch_whose_time_is_over_is_rolled_back_and_says_so() -> None:
    gateway = gateway_with(b"0")
    client = selected(gateway)
    client.subscribes(credit=1)
    client.hears()
    asks(client, start(), accept((0, 0)))
    client.publishes(b"1")
    asks(client, end())
    gateway.world.pass_time(59_999)
    assert gateway.world.bridge.pressure.messages == 2
    gateway.world.pass_time(1)
    assert gateway.world.bridge.pressure.messages == 1
    check(gateway)
    assert asks(client, start(join=True)) == TIMED_OUT
    assert asks(client, prepare()) == TIMED_OUT
    assert asks(client, rollback()) == 404


@pytest.mark.parametrize("command", [commit(), commit(one_phase=True), rollback()])
def test_what_ends_a_branch_whose_time_is_over_is_told_so(command: Command) -> None:
    gateway = gateway_with()
    client = selected(gateway)
    works(client, b"1")
    asks(client, spec.DtxSetTimeout(xid=xid(), timeout=1))
    gateway.world.pass_time(1_000)
    assert asks(client, command) == TIMED_OUT
    assert branch_of(gateway) is None


@pytest.mark.parametrize("suspended", [False, True])
def test_the_time_of_a_branch_may_be_over_while_a_session_is_in_it(suspended: bool) -> None:
    gateway = gateway_with(b"0")
    client = selected(gateway)
    client.subscribes(credit=1)
    client.hears()
    asks(client, start())
    if suspended:
        asks(client, end(suspend=True))
    gateway.world.pass_time(60_000)
    if suspended:
        assert asks(client, start(resume=True)) == TIMED_OUT
    else:
        client.publishes(b"1")
        assert asks(client, accept((0, 0)), end()) == TIMED_OUT
        assert gateway.world.depth() == 1
    assert asks(gateway.session(), prepare()) == TIMED_OUT
    check(gateway)


@pytest.mark.parametrize("fails", [False, True])
def test_what_was_accepted_before_the_branch_was_doomed_comes_again_when_the_work_ends(
    fails: bool,
) -> None:
    gateway = gateway_with(b"0")
    client = selected(gateway)
    client.subscribes(credit=1)
    client.hears()
    asks(client, start(), accept((0, 0)))
    if fails:
        other = selected(gateway)
        asks(other, start(join=True), end(fail=True))
    else:
        gateway.world.pass_time(60_000)
    assert asks(client, end()) == (OK if fails else TIMED_OUT)
    consumer, _ = gateway.world.subscribe()
    gateway.world.turn()
    assert consumer.bodies() == [b"0"]
    check(gateway)


def test_a_branch_is_forgotten_long_after_its_time() -> None:
    gateway = gateway_with()
    works(selected(gateway), b"1")
    gateway.world.pass_time(60_000)
    gateway.world.pass_time(30 * 60_000 - 1)
    assert branch_of(gateway) is not None
    gateway.world.pass_time(1)
    assert branch_of(gateway) is None


# Whose they are.


def ruled(*rules: str) -> Gateway:
    """A gateway with such access rules, and a branch of Ann's that is prepared."""
    gateway = gateway_with()
    gateway.settings.access.in_force.rules = own_rules(*rules, "allow: publish")
    client = selected(gateway, "ann")
    works(client, b"1")
    assert asks(client, prepare()) == OK
    return gateway


@pytest.mark.parametrize(
    "command",
    [
        prepare(),
        commit(),
        rollback(),
        forget(),
        spec.DtxGetTimeout(xid=xid()),
        spec.DtxSetTimeout(xid=xid(), timeout=1),
        start(join=True),
    ],
)
def test_the_branches_of_others_are_for_who_may_decide(command: Command) -> None:
    gateway = ruled("allow: decide, users: tm")
    assert asks(selected(gateway, "joe"), command) == 403
    assert asks(selected(gateway, "joe"), spec.DtxRecover()) == []
    assert asks(selected(gateway, "tm"), spec.DtxRecover()) == ["x"]
    assert asks(selected(gateway, "ann"), spec.DtxRecover()) == ["x"]
    assert asks(selected(gateway, "tm"), command) != 403
    assert gateway.settings.counts.access_refused[Action.DECIDE] == 1


def test_without_rules_everybody_decides_about_all_of_them() -> None:
    gateway = gateway_with()
    works(selected(gateway, "ann"), b"1")
    assert asks(gateway.session("joe"), commit(one_phase=True)) == OK


def test_what_may_not_be_published_any_more_when_its_work_ends_is_not() -> None:
    gateway = ruled()
    client = selected(gateway, "ann")
    asks(client, start("y"))
    client.publishes(b"2")
    client.hears()
    gateway.settings.access.in_force.rules = own_rules()
    client.face.client.access.renew()
    assert asks(client, end("y")) == 403
    assert gateway.world.depth() == 0


@pytest.mark.parametrize("command", [prepare(), commit(one_phase=True)])
@pytest.mark.parametrize("user", ["ann", "tm"])
def test_nor_is_what_may_not_be_when_it_is_prepared_or_committed(
    command: Command, user: str
) -> None:
    gateway = ruled("allow: decide, users: tm")
    works(selected(gateway, "ann"), b"2", name="y")
    manager = selected(gateway, user)
    command.xid = xid("y")
    gateway.settings.access.in_force.rules = own_rules("allow: decide, users: tm")
    manager.face.client.access.renew()
    assert asks(manager, command) == ROLLED_BACK
    assert asks(manager, commit()) == OK  # that was prepared before
    assert gateway.world.depth() == 1


def test_what_may_be_published_by_other_rules_is_prepared() -> None:
    gateway = ruled()
    works(selected(gateway, "ann"), b"2", name="y")
    manager = selected(gateway, "ann")
    gateway.settings.access.in_force.rules = own_rules("allow: publish")
    manager.face.client.access.renew()
    assert asks(manager, prepare("y")) == OK


# The disk.


@rule("0-10", "dtx.prepare", "obligation-1")
def test_a_branch_is_prepared_when_all_of_it_is_on_disk() -> None:
    gateway = gateway_with(durable=True)
    client = selected(gateway)
    works(client, b"1", durable=True)
    gateway.world.auto_commit = False
    assert asks(client, prepare()) == "done"
    gateway.world.commit()
    assert asks(client) == OK


@rule("0-10", "dtx.prepare", "obligation-2")
@pytest.mark.parametrize("decision", [commit(), rollback()])
@pytest.mark.parametrize("crash", [False, True])
def test_a_prepared_branch_outlives_the_gateway(decision: Command, crash: bool) -> None:
    gateway = gateway_with(durable=True)
    gateway.world.send(b"0", b"1", durable=True)
    client = selected(gateway)
    client.subscribes(credit=2)
    client.hears()
    asks(client, start(), accept((0, 1)))
    client.publishes(b"2", delivery=persistent())
    client.publishes(b"3")
    asks(client, end())
    assert asks(client, prepare()) == OK
    world = gateway.world
    for _ in range(2):
        world.crash() if crash else world.restart()
        check(gateway)
    gateway = Gateway(world=world)
    consumer, _ = world.subscribe()
    world.turn()
    assert consumer.bodies() == []
    manager = gateway.session()
    assert asks(manager, spec.DtxRecover()) == ["x"]
    assert asks(manager, decision) == OK
    world.turn()
    committed = isinstance(decision, spec.DtxCommit)
    assert [body[-1:] for body in consumer.bodies()] == ([b"2"] if committed else [b"0", b"1"])
    check(gateway)
    world.crash()
    check(gateway)
    assert world.depth() == (1 if committed else 2)
    assert recovers(Gateway(world=world)) == []


def test_what_is_rolled_back_before_it_is_prepared_is_not_there_after_a_crash() -> None:
    gateway = gateway_with(durable=True)
    works(selected(gateway), b"1", durable=True)
    gateway.world.crash()
    assert gateway.world.depth() == 0
    assert recovers(Gateway(world=gateway.world)) == []
    check(gateway)


@pytest.mark.parametrize("crash", [False, True])
def test_what_was_accepted_comes_as_redelivered_where_the_gateway_stops_before_the_end(
    crash: bool,
) -> None:
    gateway = gateway_with(durable=True)
    world = gateway.world
    world.send(b"1", durable=True)
    client = selected(gateway)
    client.subscribes()
    client.hears()
    asks(client, start(), accept((0, 0)), end())
    client.loses_transport()
    world.crash() if crash else world.restart()
    consumer, _ = world.subscribe()
    world.turn()
    assert [each.delivery_count > 0 for each in consumer.deliveries] == [True]
    check(gateway)
