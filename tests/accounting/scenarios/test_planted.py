"""Each break that can be planted in a log is found once, by its name and with its message.

The logs are packed by hand. Each break is in a queue, outlet, exchange or transaction of its own;
beside it the same happens as it should, and is not called one.
"""

import pytest
from support.hand_log import HandLog

from gateway.accounting.reconcile import Result, reconcile
from gateway.accounting.steps.ages import DAY_MS, Bounds
from gateway.accounting.telling.report import html_page, summary

LINK = 7
MINUTE_MS = 60_000


class Steps(HandLog):
    """Whole steps, as the contract has them."""

    def enter(self, queue, message, exchange="amq.topic", flags="", transaction=0, id_digest=0):
        """A message comes, and is in a queue; its position is its number."""
        self.receive(message, exchange, transaction, id_digest, flags)
        self.copy(queue, message, exchange, flags, transaction)

    def receive(self, message, exchange="amq.topic", transaction=0, id_digest=0, flags=""):
        said = {"exchange": exchange, "copies": 1, "link": 1, "transaction": transaction}
        said |= {"id_digest": id_digest, "flags": flags}
        self.add("RECEIVED", message=message, **said)

    def copy(self, queue, message, exchange="amq.topic", flags="", transaction=0):
        said = {"node": queue, "exchange": exchange, "flags": flags, "transaction": transaction}
        self.add("ENTERED", message=message, position=message, **said)

    def send(self, queue, message, link=LINK, flags=""):
        self.add("SENT", message=message, position=message, node=queue, link=link, flags=flags)

    def settle(self, queue, message, outcome="ACCEPTED", link=LINK, flags="REMOVED", **said):
        said |= {"outcome": outcome, "flags": flags}
        self.add("SETTLED", message=message, position=message, node=queue, link=link, **said)

    def leave(self, queue, message, kind, reason):
        self.add(kind, message=message, position=message, node=queue, reason=reason)

    def topology(self, queue, reason):
        self.add("TOPOLOGY", node=queue, reason=reason)

    def route(self, routed):
        """A whole checkpoint, but that nothing else is left to be said of."""
        self.checkpoint({}, {"amq.topic": {"routed": routed}})


def deleted_queues(log: Steps) -> None:
    """A run that was killed, and one that ended in order: messages 11 to 13 are lost."""
    log.start()
    for queue in ("temporary", "again", "late"):
        log.topology(queue, "QUEUE_DECLARED")
    for message in (11, 12):
        log.enter("temporary", message)
    log.enter("again", 14)
    log.enter("late", 15)
    log.checkpoint(
        {"temporary": {"copies": [(12, 12)]}, "again": {"copies": [(14, 14)]}},
        {"amq.topic": {"routed": 4}},
    )
    for queue in ("temporary", "again", "late"):
        log.topology(queue, "QUEUE_DELETED")
    log.topology("again", "QUEUE_DECLARED")
    log.leave("again", 14, "PURGED", "QUEUE_DELETED")
    log.enter("again", 16)
    # One whole checkpoint has begun between these two; what is behind it, nobody knows yet.
    log.route(5)
    held = {"late": {"copies": [(15, 15)]}, "again": {"copies": [(16, 16)]}}
    log.checkpoint(held, {"amq.topic": {"routed": 5}})
    log.end(stopped=False)
    log.start()
    for queue in ("short", "held"):
        log.topology(queue, "QUEUE_DECLARED")
    for message, queue in ((13, "short"), (17, "short"), (18, "held"), (19, "held")):
        log.enter(queue, message)
    for queue, message in (("short", 17), ("held", 18)):
        log.send(queue, message)
    log.settle("short", 17)
    log.topology("short", "QUEUE_DELETED")
    log.topology("held", "QUEUE_DELETED")
    log.leave("held", 19, "PURGED", "QUEUE_DELETED")
    log.checkpoint({"held": {"copies": [(18, 18)], "unsettled": 1}}, {"amq.topic": {"routed": 4}})
    log.settle("held", 18)


def counted(log: Steps) -> None:
    """One message that nobody recorded; one routed, one sent; one copy that somebody keeps."""
    for queue in ("counted", "sent", "kept"):
        log.topology(queue, "QUEUE_DECLARED")
    log.enter("counted", 21, "counted")
    log.enter("sent", 22, "counted")
    log.enter("kept", 23, "counted")
    for link, queue, message in ((21, "counted", 21), (22, "sent", 22), (23, "kept", 23)):
        log.send(queue, message, link)
    log.settle("counted", 21, link=21)
    log.settle("sent", 22, link=22)
    log.settle("kept", 23, "RELEASED", 23, flags="")
    log.checkpoint(
        {
            "counted": {"entered": 2},
            "sent": {"entered": 1},
            "kept": {"entered": 1, "copies": [(23, 23)], "unsettled": 1},
        },
        {"counted": {"routed": 4}, "routed": {"routed": 1}},
        l21={"node": "counted", "sent": 2},
        l22={"node": "sent", "sent": 2},
        l23={"node": "kept", "sent": 1},
    )
    log.leave("kept", 23, "EXPIRED", "TTL")


def onward(log: Steps) -> None:
    """Dead letters and moves: 31 and 32 go nowhere, 33 goes where it says."""
    for message, kind in ((31, "DEAD_LETTERED"), (32, "MOVED"), (33, "DEAD_LETTERED")):
        log.enter("left", message, "onward")
        log.leave("left", message, kind, "QUEUE_DELETED")
        if message == 33:
            log.add("ROUTED", message=33, exchange="dead", copies=1)
            log.copy("dead", 33, "dead", "REROUTED")


def transactions(log: Steps) -> None:
    """Half of 1 is rolled back although it is committed, half of 2 is done; 3 and 4 are whole."""
    for number, ended in (
        (1, "COMMITTED"),
        (2, "ROLLED_BACK"),
        (3, "COMMITTED"),
        (4, "ROLLED_BACK"),
    ):
        for message in (40 + number, 50 + number):
            log.receive(message, "halves", number, flags="DURABLE")
            if (ended == "COMMITTED" and message != 51) or message == 52:
                log.copy("halves", message, "halves", "DURABLE", number)
                continue
            said = {"node": "halves", "exchange": "halves", "transaction": number}
            log.add("ROLLED_BACK", message=message, **said)
        log.add("TRANSACTION", outcome=ended, transaction=number)
    log.checkpoint({"halves": {"copies": [(each, each) for each in (41, 43, 53, 52)]}}, {})


def restarted(log: Steps) -> None:
    """Of three durable ones one is gone at a checkpoint, and is not there after the restart."""
    for message in (61, 62, 63):
        log.enter("durable", message, "durable", "DURABLE")
    log.checkpoint({"durable": {"copies": [(61, 61), (63, 63)]}}, {})


def aged(log: Steps) -> None:
    """71 is in its queue for 31 days, 72 for 29; 73 is settled in time, 74 is not."""
    log.enter("aged", 71, "aged", "DURABLE")
    log.now_ms += 2 * DAY_MS
    log.enter("aged", 72, "aged", "DURABLE")
    for message in (73, 74):
        log.enter("slow", message, "aged")
        log.send("slow", message)
    log.now_ms += MINUTE_MS - 100
    log.settle("slow", 73)
    log.now_ms += 100
    log.settle("slow", 74)


def ordered(log: Steps) -> None:
    """82 is sent behind 83; what was given back, or is chosen, is sent when it can be."""
    for message in range(81, 90):
        log.enter("order" if message < 84 else "no order", message, "order")
    for message in (81, 83, 82):
        log.send("order", message, 81, "SETTLED")
    log.send("no order", 84, 82)
    log.send("no order", 85, 82)
    log.settle("no order", 84, "RELEASED", 82, "")
    log.send("no order", 84, 82)
    for outlet, message in ((83, 87), (84, 87), (84, 86)):  # which gives it back; who wants more
        log.send("no order", message, outlet)
        if outlet == 83:
            log.settle("no order", message, "RELEASED", outlet, "")
    for message in (88, 89):  # browsed in order, acquired in another
        log.send("no order", message, 85, "COPY")
    for message in (89, 88):
        log.settle("no order", message, "RELEASED", 85, "COPY")
        log.send("no order", message, 85)


def published_again(log: Steps) -> None:
    """Of four messages three have one id; what has none, or comes from an upstream, is no other."""
    for message, number in ((91, 5), (92, 5), (93, 6), (94, 0), (95, 0), (96, 5)):
        log.enter("ids", message, "ids", id_digest=number)
    log.enter("ids", 97, "upstream far", id_digest=6)


@pytest.fixture(scope="module")
def result(spark, tmp_path_factory) -> Result:
    log = Steps(tmp_path_factory.mktemp("planted") / "log")
    deleted_queues(log)
    aged(log)
    counted(log)
    onward(log)
    transactions(log)
    restarted(log)
    ordered(log)
    published_again(log)
    log.route(4)
    log.add("CONNECTION_CLOSED")  # so that this is not the checkpoint of the stop, which is whole
    log.end()
    log.now_ms += 29 * DAY_MS
    log.start()
    back = dict.fromkeys((41, 43, 52, 53), "halves") | dict.fromkeys((61, 63), "durable")
    back |= dict.fromkeys((71, 72), "aged")
    for message, queue in back.items():
        log.add("RECOVERED", message=message, position=message, node=queue, flags="DURABLE")
    log.add("CLOCK")
    out = tmp_path_factory.mktemp("out")
    return reconcile(spark, log.end(), out, bounds=Bounds(late_ms=MINUTE_MS))


def found(result: Result, *nodes: str) -> list[tuple]:
    """Class, message, link and count of what was found in these queues or exchanges."""
    rows = [row for row in result.breaks if row["node"] in nodes]
    assert all(row["proven"] for row in rows)
    return sorted(
        ((row["class"], row["message"], row["link"], row["count"]) for row in rows), key=str
    )


def test_what_a_queue_held_that_was_deleted_is_lost_and_named(result):
    assert found(result, "short") == [("LOST", 13, None, 1)]


def test_lost_twice_in_a_queue_that_is_then_deleted_are_two(result):
    assert found(result, "temporary") == [("LOST", 11, None, 1), ("LOST", 12, None, 1)]


def test_what_left_a_deleted_queue_or_may_still_be_there_is_not_lost(result):
    assert found(result, "again", "late", "held") == []


def test_a_message_without_any_record_is_one_break_by_the_counter_of_its_queue(result):
    assert found(result, "counted") == [("LOST", None, None, 1)]
    (row,) = [row for row in result.breaks if row["node"] == "counted"]
    assert row["detail"] == "1 more entered by the counter of the checkpoint than by the log"


def test_what_was_routed_without_any_record_is_told_beyond_what_entered_so(result):
    assert found(result, "routed") == [("LOST", None, None, 1)]


def test_a_delivery_without_any_record_is_told_by_the_counter_of_its_outlet(result):
    assert found(result, "sent") == [("LOST", None, 22, 1)]


def test_a_copy_that_somebody_has_although_it_was_given_back_is_stuck(result):
    assert found(result, "kept") == [("STUCK", None, None, 1)]


def test_what_leaves_for_another_queue_must_say_for_which(result):
    assert found(result, "left") == [("LOST", 31, None, 1), ("LOST", 32, None, 1)]
    assert found(result, "dead") == []


def test_half_a_transaction_is_a_break_whichever_half_it_is(result):
    assert found(result, "halves") == [("DUPLICATE", 52, None, 1), ("LOST", 51, None, 1)]


def test_what_a_checkpoint_and_a_restart_miss_is_lost_once(result):
    assert found(result, "durable") == [("LOST", 62, None, 1)]


def test_what_is_in_a_queue_for_too_long_is_stuck_and_named(result):
    assert found(result, "aged") == [("STUCK", 71, None, 1)]


def test_what_is_settled_later_than_it_may_is_late(result):
    assert found(result, "slow") == [("LATE", 74, None, 1)]


def test_what_is_sent_behind_one_that_came_after_it_is_out_of_order(result):
    assert found(result, "order") == [("OUT_OF_ORDER", 82, 81, 1)]
    (row,) = [row for row in result.breaks if row["node"] == "order"]
    assert "behind message 83" in row["detail"]


def test_what_somebody_had_before_is_not_out_of_order(result):
    assert found(result, "no order") == []


def test_what_an_application_publishes_twice_is_told_and_is_no_break(result):
    assert result.published_again == {"ids": 1, "messages": 2, "first": 91, "again": 96}
    assert found(result, "ids") == []
    assert "91 and 96 have the same" in summary(result, "report.html")
    assert "91 and 96 have the same" in html_page(result)


def test_nothing_else_is_found(result):
    assert result.classes == {"LOST": 10, "STUCK": 2, "DUPLICATE": 1, "LATE": 1, "OUT_OF_ORDER": 1}
    assert result.unproven == {}
    told = summary(result, "report.html")
    assert "1 more sent by the counter" in told
    assert "report.html" in told
    assert "with somebody by the checkpoint" in html_page(result)
