"""The class file of 0-10, by the old Python client's own codec and session layer."""

import pytest
from interop.content import Client, Session
from support.rules import rule

NOT_ALLOWED = 530
RESOURCE_LOCKED = 405
NOT_FOUND = 404
NO_ROUTE = 312
NO_CONSUMERS = 313


@rule("0-10", "file.publish.exchange", "default")
def test_a_file_is_staged_published_and_delivered_with_all_its_properties(
    a: Session, name: str
) -> None:
    a.declare(name)
    said = {
        "content_type": "text/plain",
        "content_encoding": "identity",
        "headers": {"colour": "blue", "count": 7},
        "priority": 3,
        "reply_to": "amq.direct/answers",
        "message_id": "number 1",
        "filename": "letter.txt",
        "timestamp": {"time": 1_795_242_122},
        "cluster_id": "left",
    }
    a.publish("hello", name, file=said)
    a.consume(name)
    file = a.file()
    assert file.body == "hello"
    assert file.properties == {**said, "timestamp": 1_795_242_122}
    assert not file.redelivered
    assert file.delivered["consumer_tag"] == "t"
    assert file.delivered.get("exchange", "") == ""
    assert file.delivered["routing_key"] == name


@rule("0-10", "file.open.content-size", "content-size")
def test_a_file_without_content_is_one(a: Session, name: str) -> None:
    a.declare(name)
    a.publish("", name, file={"filename": "empty"})
    a.consume(name)
    file = a.file()
    assert (file.body, file.properties["filename"]) == ("", "empty")
    assert file.delivered["staged"].opened["content_size"] == 0


def test_a_publish_may_follow_its_stage_without_waiting_for_it(a: Session, name: str) -> None:
    a.declare(name)
    assert a.open("one", 5) == 0
    a.stage("hello", sync=False)
    a.send("file_publish", {"routing_key": name, "identifier": "one"}, sync=False)
    a.sync()
    a.consume(name)
    assert a.files(1) == ["hello"]


def test_a_file_is_delivered_by_the_exchange_that_it_was_published_to(
    a: Session, name: str
) -> None:
    a.declare(name)
    a.say("exchange_bind", queue=name, exchange="amq.topic", binding_key=f"{name}.#")
    a.publish("hello", f"{name}.x", exchange="amq.topic")
    a.consume(name)
    delivered = a.file().delivered
    assert delivered["exchange"] == "amq.topic"
    assert delivered["routing_key"] == f"{name}.x"


def test_one_staged_file_reaches_each_queue_that_is_bound(
    a: Session, content: Client, name: str
) -> None:
    for queue in (f"{name}-1", f"{name}-2"):
        a.declare(queue)
        a.say("exchange_bind", queue=queue, exchange="amq.direct", binding_key=name)
    a.publish("hello", name, exchange="amq.direct")
    for number in (1, 2):
        taker = content.session(f"taker {number}")
        taker.consume(f"{name}-{number}", f"tag {number}")
        assert taker.files(1) == ["hello"]


@rule("0-10", "file.consume.consumer-tag", "not-empty-consumer-tag")
@pytest.mark.parametrize("tag", ["", " "])
def test_a_consumer_tag_may_not_be_blank(a: Session, name: str, tag: str) -> None:
    a.declare(name)
    assert a.refused("file_consume", queue=name, consumer_tag=tag) == NOT_ALLOWED


@rule("0-10", "file.consume.consumer-tag", "not-existing-consumer")
def test_a_consumer_tag_may_not_be_one_that_is_there(a: Session, name: str) -> None:
    a.declare(name)
    a.consume(name)
    assert a.refused("file_consume", queue=name, consumer_tag="t") == NOT_ALLOWED


def test_two_clients_may_have_the_same_consumer_tag(a: Session, content: Client, name: str) -> None:
    a.declare(name)
    a.consume(name)
    content.session("b", on="second").consume(name)


def test_a_consumer_tag_is_free_again_when_its_consumer_is_cancelled(a: Session, name: str) -> None:
    a.declare(name)
    a.consume(name)
    a.say("file_cancel", consumer_tag="t")
    a.consume(name)


@rule("0-10", "file.consume.queue", "queue-exists-if-empty")
def test_a_queue_without_a_name_may_not_be_consumed_from(a: Session) -> None:
    assert a.refused("file_consume", queue="", consumer_tag="t") == NOT_ALLOWED


def test_a_queue_that_is_not_there_may_not_be_consumed_from(a: Session, name: str) -> None:
    assert a.refused("file_consume", queue=name, consumer_tag="t") == NOT_FOUND


@rule("0-10", "file.consume.exclusive", "in-use")
def test_an_exclusive_consumer_is_alone(a: Session, content: Client, name: str) -> None:
    a.declare(name)
    a.consume(name, exclusive=True)
    other = content.session("b", on="second")
    assert other.refused("file_consume", queue=name, consumer_tag="u") == RESOURCE_LOCKED


@rule("0-10", "file.consume.exclusive", "in-use")
def test_a_consumer_that_is_not_alone_cannot_be_exclusive(
    a: Session, content: Client, name: str
) -> None:
    a.declare(name)
    a.consume(name)
    other = content.session("b", on="second")
    wanted = {"queue": name, "consumer_tag": "u", "exclusive": True}
    assert other.refused("file_consume", **wanted) == RESOURCE_LOCKED


@rule("0-10", "file.consume", "min-consumers")
def test_sixteen_consumers_of_a_queue_have_a_file_each(a: Session, name: str) -> None:
    a.declare(name)
    a.say("file_qos", prefetch_count=16)
    for number in range(16):
        a.consume(name, f"t{number}")
    for number in range(16):
        a.publish(str(number), name)
    assert sorted(a.files(16), key=int) == [str(number) for number in range(16)]


def test_nowait_has_no_answer(a: Session, name: str) -> None:
    a.declare(name)
    a.say("file_consume", queue=name, consumer_tag="t", nowait=True)
    assert a.so_far("file_consume_ok") == []
    a.publish("hello", name)
    assert a.files(1) == ["hello"]


def test_no_local_leaves_what_its_connection_published_to_others(
    a: Session, content: Client, name: str
) -> None:
    a.declare(name)
    a.consume(name, no_local=True)
    a.publish("own", name)
    other = content.session("b", on="second")
    other.publish("other", name)
    assert a.files(1) == ["other"]
    other.consume(name)
    assert other.files(1) == ["own"]


def test_a_cancelled_consumer_gets_no_more_and_may_acknowledge_what_it_has(
    a: Session, content: Client, name: str
) -> None:
    a.declare(name)
    a.consume(name)
    a.publish("1", name)
    first = a.file()
    a.say("file_cancel", consumer_tag="t")
    a.publish("2", name)
    a.ack(first.delivery_tag)
    other = content.session("b")
    other.consume(name, "u")
    assert other.files(1) == ["2"]
    assert a.so_far("file_deliver") == []


@rule("0-10", "file.qos.prefetch-count", "prefetch-discretion")
def test_prefetch_count_is_how_many_are_sent_ahead(a: Session, name: str) -> None:
    a.declare(name)
    a.say("file_qos", prefetch_count=2)
    a.heard("file_qos_ok")
    a.consume(name)
    for body in "123":
        a.publish(body, name)
    first, second = a.file(), a.file()
    assert a.so_far("file_open") == []
    a.ack(first.delivery_tag)
    third = a.file()
    assert [each.body for each in (first, second, third)] == ["1", "2", "3"]


@rule("0-10", "file.qos.prefetch-count", "prefetch-discretion")
def test_prefetch_size_is_how_many_octets_are_sent_ahead(a: Session, name: str) -> None:
    a.declare(name)
    a.say("file_qos", prefetch_size=10)
    a.consume(name)
    for body in ("123456", "abcd", "x"):
        a.publish(body, name)
    first, second = a.file(), a.file()
    assert [first.body, second.body] == ["123456", "abcd"]
    assert a.so_far("file_open") == []
    a.ack(second.delivery_tag)
    assert a.files(1) == ["x"]


def test_a_global_qos_binds_the_other_sessions_of_the_connection(
    a: Session, content: Client, name: str
) -> None:
    a.declare(name)
    a.say("file_qos", prefetch_count=1, **{"global": True})
    b = content.session("b")
    b.consume(name, "u")
    a.consume(name, "t")
    for body in "12":
        a.publish(body, name)
    a.say("execution_sync")
    b.say("execution_sync")
    arrived = [each for each in (a, b) if each.so_far("file_deliver")]
    assert len(arrived) == 1
    [first] = arrived
    first.ack(first.file().delivery_tag)


@rule("0-10", "file", "acknowledgement-support")
def test_without_acknowledgements_nothing_is_outstanding_and_qos_is_ignored(
    a: Session, content: Client, name: str
) -> None:
    a.declare(name)
    a.say("file_qos", prefetch_count=1)
    a.consume(name, no_ack=True)
    for body in "123":
        a.publish(body, name)
    assert a.files(3) == ["1", "2", "3"]
    a.detach()
    b = content.session("b")
    b.publish("4", name)
    b.consume(name)
    assert b.files(1) == ["4"]


@rule("0-10", "file", "acknowledgement-support")
def test_what_is_not_acknowledged_comes_again_and_says_so(
    a: Session, content: Client, name: str
) -> None:
    a.declare(name)
    a.consume(name)
    a.publish("hello", name)
    assert not a.file().redelivered
    content.cut()
    b = content.session("b", on="second")
    b.consume(name)
    again = b.file()
    assert (again.body, again.redelivered) == ("hello", True)


@rule("0-10", "file.deliver.delivery-tag", "non-zero")
def test_many_are_acknowledged_up_to_one(a: Session, content: Client, name: str) -> None:
    a.declare(name)
    a.consume(name)
    for body in "123":
        a.publish(body, name)
    tags = [a.file().delivery_tag for _ in range(3)]
    assert tags == sorted(tags) and 0 not in tags
    a.ack(tags[1], multiple=True)
    a.detach()
    b = content.session("b")
    b.consume(name)
    assert b.files(1) == ["3"]


def test_zero_acknowledges_all_that_was_delivered(a: Session, content: Client, name: str) -> None:
    a.declare(name)
    a.consume(name)
    for body in "12":
        a.publish(body, name)
    a.files(2)
    a.ack(0, multiple=True)
    a.publish("3", name)
    a.files(1)
    a.detach()
    b = content.session("b")
    b.consume(name)
    assert b.files(1) == ["3"]


@rule("0-10", "file.ack.multiple", "validation")
@pytest.mark.parametrize("command", ["file_ack", "file_reject"])
def test_a_delivery_that_was_not_made_cannot_be_settled(a: Session, command: str) -> None:
    assert a.refused(command, delivery_tag=7)


@pytest.mark.parametrize("command", ["file_ack", "file_reject"])
def test_a_delivery_is_its_sessions_alone(
    a: Session, content: Client, name: str, command: str
) -> None:
    a.declare(name)
    a.consume(name)
    a.publish("hello", name)
    tag = a.file().delivery_tag
    assert content.session("b").refused(command, delivery_tag=tag)


def test_a_delivery_is_acknowledged_once(a: Session, name: str) -> None:
    a.declare(name)
    a.consume(name)
    a.publish("hello", name)
    tag = a.file().delivery_tag
    a.ack(tag)
    assert a.refused("file_ack", delivery_tag=tag)


@rule("0-10", "file.reject", "server-interpretation")
def test_a_rejected_file_is_discarded(a: Session, content: Client, name: str) -> None:
    a.declare(name)
    a.consume(name)
    for body in "12":
        a.publish(body, name)
    a.say("file_reject", delivery_tag=a.file().delivery_tag)
    a.detach()
    b = content.session("b")
    b.consume(name)
    assert b.files(1) == ["2"]


def test_a_rejected_file_goes_to_the_alternate_exchange(a: Session, name: str) -> None:
    a.declare(f"{name}-dead")
    a.say("exchange_declare", exchange=name, type="fanout")
    a.say("exchange_bind", queue=f"{name}-dead", exchange=name)
    a.declare(name, alternate_exchange=name)
    a.consume(name)
    a.consume(f"{name}-dead", "dead")
    a.publish("hello", name)
    a.say("file_reject", delivery_tag=a.file().delivery_tag)
    dead = a.file()
    assert (dead.body, dead.delivered["consumer_tag"]) == ("hello", "dead")


@rule("0-10", "file.reject.requeue", "requeue-strategy")
def test_what_is_requeued_goes_to_another_session_only(
    a: Session, content: Client, name: str
) -> None:
    a.declare(name)
    a.consume(name, "first")
    a.consume(name, "second")
    a.publish("1", name)
    a.say("file_reject", delivery_tag=a.file().delivery_tag, requeue=True)
    a.publish("2", name)
    assert a.files(1) == ["2"]
    assert a.so_far("file_deliver") == []
    b = content.session("b")
    b.consume(name)
    again = b.file()
    assert (again.body, again.redelivered) == ("1", True)


@rule("0-10", "file.publish.mandatory", "implementation")
def test_a_file_without_a_queue_is_dropped_or_with_mandatory_returned(
    a: Session, name: str
) -> None:
    a.publish("silent", name, file={"filename": "a"})
    a.publish("hello", name, mandatory=True, file={"filename": "b"})
    returned = a.heard("file_return")
    assert returned["reply_code"] == NO_ROUTE
    assert returned["routing_key"] == name
    assert returned["headers"]["file_properties"]["filename"] == "b"
    assert returned["body"] == "hello"
    assert a.so_far("file_return") == []


@rule("0-10", "file.publish.immediate", "implementation")
def test_an_immediate_file_without_a_consumer_is_returned(a: Session, name: str) -> None:
    a.declare(name)
    a.publish("hello", name, immediate=True)
    returned = a.heard("file_return")
    assert (returned["reply_code"], returned["body"]) == (NO_CONSUMERS, "hello")
    a.consume(name)
    a.publish("again", name, immediate=True)
    assert a.files(1) == ["again"]


def test_an_exchange_that_is_not_there_takes_no_file(a: Session, name: str) -> None:
    identifier = a.staged("hello")
    wanted = {"exchange": name, "routing_key": "k", "identifier": identifier}
    assert a.refused("file_publish", **wanted) == NOT_FOUND


@rule("0-10", "file", "priority-levels")
def test_low_priorities_wait_for_high_ones_in_a_plain_queue(a: Session, name: str) -> None:
    a.declare(name)
    for priority in (0, 4, 5, 9):
        a.publish(str(priority), name, file={"priority": priority})
    a.consume(name)
    bodies = a.files(4)
    assert sorted(bodies[:2]) == ["5", "9"]
    assert sorted(bodies[2:]) == ["0", "4"]


@rule("0-10", "file", "no-discard")
@pytest.mark.parametrize("kind", ["ring", "ring_strict", "reject"])
def test_a_queue_that_is_full_of_files_holds_the_publisher_and_discards_none(
    a: Session, content: Client, name: str, kind: str
) -> None:
    a.declare(name, arguments={"qpid.policy_type": kind, "qpid.max_count": 2})
    a.declare(f"{name}-other")
    for body in "12":
        a.publish(body, name)
    a.publish("3", name, sync=False)
    b = content.session("b", on="second")
    b.publish("behind it", f"{name}-other")
    assert a.unconfirmed() == 1
    b.consume(name)
    taken = [b.file() for _ in range(2)]
    b.ack(0, multiple=True)
    assert [each.body for each in taken] == ["1", "2"]
    a.sync()
    assert b.files(1) == ["3"]


def test_a_file_of_a_transaction_is_there_when_it_is_committed(
    a: Session, content: Client, name: str
) -> None:
    a.declare(name)
    a.say("tx_select")
    b = content.session("b", on="second")
    b.consume(name)
    a.publish("rolled back", name)
    a.say("tx_rollback")
    a.publish("committed", name)
    assert b.so_far("file_deliver") == []
    a.say("tx_commit")
    assert b.files(1) == ["committed"]


def test_an_acknowledgement_of_a_transaction_counts_when_it_is_committed(
    a: Session, content: Client, name: str
) -> None:
    a.declare(name)
    for body in "12":
        a.publish(body, name)
    b = content.session("b")
    b.say("tx_select")
    b.consume(name)
    first, second = b.file(), b.file()
    b.ack(first.delivery_tag)
    b.say("tx_commit")
    b.ack(second.delivery_tag)
    b.say("tx_rollback")
    b.detach()
    a.consume(name)
    assert a.files(1) == ["2"]


def test_what_a_transaction_publishes_stays_staged_until_it_is_committed(
    a: Session, name: str
) -> None:
    a.declare(name)
    a.say("tx_select")
    identifier = a.staged("hello")
    published = {"routing_key": name, "identifier": identifier}
    a.say("file_publish", **published)
    a.say("tx_rollback")
    assert a.open(identifier, 5) == 5
    a.stage("")
    a.say("file_publish", **published)
    a.say("tx_commit")
    a.consume(name)
    assert a.files(1) == ["hello"]
    assert a.refused("file_publish", **published)


def test_a_transaction_publishes_a_file_once(a: Session, name: str) -> None:
    a.declare(name)
    a.say("tx_select")
    published = {"routing_key": name, "identifier": a.staged("hello")}
    a.say("file_publish", **published)
    assert a.refused("file_publish", **published)


def test_files_of_a_branch_are_there_when_it_is_committed(
    a: Session, content: Client, name: str
) -> None:
    a.declare(name)
    a.publish("taken", name)
    branch = {"xid": {"xid": name}}
    b = content.session("b")
    b.say("dtx_select")
    b.consume(name)
    b.say("dtx_start", **branch)
    b.ack(b.file().delivery_tag)
    b.publish("sent", f"{name}-on", exchange="")
    b.declare(f"{name}-on")
    b.publish("sent too", f"{name}-on")
    b.say("dtx_end", **branch)
    b.say("dtx_prepare", **branch)
    b.detach()
    a.consume(f"{name}-on")
    a.consume(name, "u")
    assert a.so_far("file_open") == []
    a.say("dtx_commit", **branch)
    assert a.files(1) == ["sent too"]
    assert a.so_far("file_open") == []


@rule("0-10", "file.deliver", "redelivery-tracking")
def test_what_has_failed_five_times_goes_to_the_alternate_exchange(
    a: Session, content: Client, name: str
) -> None:
    a.declare(f"{name}-dead")
    a.say("exchange_declare", exchange=name, type="fanout")
    a.say("exchange_bind", queue=f"{name}-dead", exchange=name)
    a.declare(name, alternate_exchange=name)
    a.publish("hello", name)
    for attempt in range(5):
        taker = content.session(f"taker {attempt}", on=f"connection {attempt}")
        taker.consume(name)
        assert taker.file().redelivered == (attempt > 0)
        content.cut(f"connection {attempt}")
    a.consume(f"{name}-dead")
    assert a.files(1) == ["hello"]


def test_other_messages_of_a_plain_queue_stay_in_their_order(a: Session, name: str) -> None:
    a.declare(name)
    for priority in (0, 9, 4):
        a.transfer(
            str(priority), name, delivery_properties={"routing_key": name, "priority": priority}
        )
    a.publish("file 3", name, file={"priority": 3})
    a.publish("file 7", name, file={"priority": 7})
    a.subscribe(name)
    bodies = [a.heard("message_transfer")["body"] for _ in range(5)]
    assert [body for body in bodies if "file" not in body] == ["0", "9", "4"]
    assert bodies.index("file 7") < bodies.index("file 3")


def test_a_file_waits_where_it_is_larger_than_the_window(
    a: Session, content: Client, name: str
) -> None:
    a.declare(name)
    a.say("file_qos", prefetch_size=3)
    a.consume(name)
    a.publish("hello", name)
    assert a.so_far("file_open") == []
    a.say("file_qos", prefetch_size=5)
    assert a.files(1) == ["hello"]


def test_consumers_of_each_class_have_a_queue_between_them(
    a: Session, content: Client, name: str
) -> None:
    a.declare(name)
    a.say("file_qos", prefetch_count=1)
    a.consume(name)
    a.publish("1", name)
    assert a.files(1) == ["1"]
    b = content.session("b")
    b.say("message_subscribe", queue=name, destination="d")
    b.say("message_set_flow_mode", destination="d", flow_mode=0)
    for unit, value in ((0, 1), (1, 0xFFFFFFFF)):
        b.say("message_flow", destination="d", unit=unit, value=value)
    a.publish("2", name)
    assert b.heard("message_transfer")["body"] == "2"
    c = content.session("c")
    c.stream(name, "v")
    a.publish("3", name)
    assert c.packets(1) == ["3"]
    assert a.so_far("file_open") == []
