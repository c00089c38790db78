"""Each verb writes one record with its fields where the schema says."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.audit.reader import Segment, records
from gateway.audit.records.log import AuditLog
from gateway.audit.schema import Flag, Kind, Outcome, Reason, unsigned
from gateway.audit.segment import _header

INT64 = st.integers(-(2**63), 2**63 - 1)
ID = st.integers(0, 2**63 - 1)


def shown(log: AuditLog) -> dict:
    (record,) = records(Segment("s", _header(1, 1, "0" * 64) + log.take_block(1)))
    return record


def test_received_says_where_from_where_to_and_what():
    log = AuditLog(1)
    log.received(
        5,
        2**40 + 1,
        link=3,
        exchange=log.name("amq.topic"),
        copies=2,
        id_digest=-1,
        body_digest=255,
        size=77,
        flags=Flag.REDELIVERED,
        transaction=9,
    )
    assert shown(log) == {
        "sequence": 1,
        "time_ms": 5,
        "kind": "received",
        "message": 2**40 + 1,
        "link": 3,
        "exchange": "amq.topic",
        "copies": 2,
        "id_digest": "f" * 16,
        "body_digest": "00000000000000ff",
        "size": 77,
        "flags": ["redelivered"],
        "transaction": 9,
    }


def test_a_queue_checkpoint_is_shown_with_its_own_words():
    log = AuditLog(1)
    log.queue_checkpoint(5, log.name("q"), depth=3, unsettled=1, octets=300, entered=7, checksum=10)
    assert shown(log) == {
        "sequence": 1,
        "time_ms": 5,
        "kind": "queue-checkpoint",
        "node": "q",
        "depth": 3,
        "unsettled": 1,
        "octets": 300,
        "entered": 7,
        "checksum": "000000000000000a",
    }


def test_a_connection_is_shown_with_who_where_from_and_how():
    log = AuditLog(1)
    log.connection_opened(
        5,
        3,
        protocol=log.name("AMQP 0-10"),
        peer=log.name("spout"),
        mechanism=log.name("PLAIN"),
        actor=log.name("alice"),
        address=log.passing("10.0.0.7:4711"),
    )
    assert shown(log) == {
        "sequence": 1,
        "time_ms": 5,
        "kind": "connection-opened",
        "connection": 3,
        "protocol": "AMQP 0-10",
        "peer": "spout",
        "mechanism": "PLAIN",
        "actor": "alice",
        "address": "10.0.0.7:4711",
    }


def test_a_refusal_says_who_was_not_let_do_what_to_what_and_by_which_line():
    log = AuditLog(1)
    log.access_refused(
        5,
        actor=log.name("alice"),
        action=log.name("publish"),
        object=log.name("orders"),
        reason=Reason.NOT_ALLOWED,
        rule=log.name("access.rules:12"),
        connection=3,
    )
    assert shown(log) == {
        "sequence": 1,
        "time_ms": 5,
        "kind": "access-refused",
        "connection": 3,
        "actor": "alice",
        "action": "publish",
        "object": "orders",
        "reason": "not-allowed",
        "rule": "access.rules:12",
    }


def every_verb(log: AuditLog) -> None:
    name = log.name("n")
    copy = {"node": name}
    log.incarnation_started(1, "0.1")
    log.incarnation_stopped(1)
    log.clock(1, -5)
    log.received(1, 1, link=1, exchange=name, copies=1, id_digest=1, body_digest=1, size=1)
    log.routed(1, 1, exchange=name, copies=1, reason=Reason.ALTERNATE_EXCHANGE)
    log.unroutable(1, 1, exchange=name, reason=Reason.NO_BINDING)
    log.refused(1, 1, exchange=name, reason=Reason.QUEUE_FULL, node=name)
    log.rolled_back(1, 1, exchange=name, node=name, transaction=1)
    log.entered(1, 1, 1, exchange=name, body_digest=1, size=1, flags=0, **copy)
    log.recovered(1, 1, 1, id_digest=1, body_digest=1, size=1, delivery_count=1, **copy)
    log.expired(1, 1, 1, **copy)
    log.dead_lettered(1, 1, 1, reason=Reason.REJECTED, **copy)
    log.evicted(1, 1, 1, **copy)
    log.replaced(1, 1, 1, **copy)
    log.purged(1, 1, 1, reason=Reason.PURGE, **copy)
    log.moved(1, 1, 1, reason=Reason.OPERATOR, **copy)
    log.returned(1, 1, 1, reason=Reason.UPSTREAM_LOST, **copy)
    log.sent(1, 1, 1, link=1, body_digest=1, size=1, delivery_count=10**6, flags=0, **copy)
    log.settled(1, 1, 1, link=1, outcome=Outcome.ACCEPTED, flags=Flag.REMOVED, **copy)
    log.requeued(1, 1, 1, link=1, outcome=Outcome.RELEASED, reason=Reason.SESSION_ENDED, **copy)
    log.translated_with_loss(1, 1, row=name, policy=Reason.DROP, link=1)
    log.connection_opened(1, 1, protocol=name, peer=name, mechanism=name, actor=name, address=name)
    log.connection_closed(1, 1, actor=name, address=name)
    log.session_attached(1, 1, session=name)
    log.session_detached(1, 1, session=name)
    log.link_attached(1, 1, connection=1, node=name)
    log.link_detached(1, 1, connection=1)
    log.transaction(1, 1, connection=1, outcome=Outcome.COMMITTED)
    log.topology(1, reason=Reason.BOUND, node=name, exchange=name, connection=1, actor=name)
    log.feature_used(1, 1, feature=name, peer=name, client=name, uses=1, first_ms=1, last_ms=1)
    log.connection_refused(
        1,
        1,
        protocol=name,
        reason=Reason.LOGIN_FAILED,
        peer=name,
        mechanism=name,
        actor=name,
        address=name,
    )
    log.queue_checkpoint(1, name, depth=1, unsettled=1, octets=1, entered=1, checksum=1)
    log.outlet_checkpoint(1, 1, node=name, sent=1, unsettled=1)
    log.route_checkpoint(1, name, routed=1, pending=1)
    log.access_refused(
        1, actor=name, action=name, object=name, reason=Reason.NOT_ALLOWED, rule=name, connection=1
    )
    log.rules_changed(1, rules=name, sha256=name, file=name, actor=name, reason=Reason.OPERATOR)
    log.store_accepted(1, store=name, last_sequence=5)
    log.log_differs(1, segment=name, problem=name, expected=5)
    log.confirmed(1, 1, 2, link=1, connection=1, copies=2, outcome=1)
    log.translation_checked(1, 1, row=name, link=1)
    log.let_go(
        1,
        first_segment=1,
        last_segment=2,
        first_sequence=1,
        last_sequence=9,
        sha256=name,
        book=3,
        archive=name,
        actor=name,
        address=name,
    )


def test_there_is_a_verb_for_every_kind_and_each_writes_one_record():
    log = AuditLog(1)
    every_verb(log)
    segment = Segment("s", _header(1, 1, "0" * 64) + log.take_block(1))
    written = [record["kind"].replace("-", "_").upper() for record in records(segment)]
    assert sorted(written) == sorted(kind.name for kind in Kind)


def test_a_delivery_count_beyond_its_field_stops_at_the_largest():
    log = AuditLog(1)
    log.sent(1, 1, 1, node=0, link=1, body_digest=0, size=0, delivery_count=40000, flags=0)
    assert shown(log)["delivery_count"] == 32767


@given(INT64, INT64, INT64)
def test_64_bit_fields_keep_every_value(message: int, position: int, body: int):
    log = AuditLog(1)
    log.sent(
        1, message, position, node=0, link=1, body_digest=body, size=0, delivery_count=0, flags=0
    )
    record = shown(log)
    assert record.get("message", 0) == message
    assert record.get("position", 0) == position
    assert int(record.get("body_digest", "0"), 16) == unsigned(body)
