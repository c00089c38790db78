"""Every metric: its name, type, help text and labels; and the collector that reads them at scrape.

Counting costs nothing: the numbers are plain ints where the thing happens, and a reader,
given by whoever owns them, turns them into samples when Prometheus asks. `Collector.pieces` runs
the readers on the reactor's thread, behind what they need to be counted first, a piece at a time;
the text is made in another thread, from what was taken.

Labels are from closed sets, with an `other` bucket where a set has a cap. Names of queues are in
`OBJECT_METRICS` only, which has an endpoint of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, final

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

Buckets = list[tuple[str, float]]
Sample = tuple[tuple[str, ...], float]
HistogramSample = tuple[tuple[str, ...], Buckets, float]
Reader = Callable[[], Iterable[Sample | HistogramSample]]


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One metric, as it is documented."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: tuple[str, ...] = ()


def _counter(name: str, help: str, *labels: str) -> MetricRow:
    return MetricRow(name, "counter", help, labels)


def _gauge(name: str, help: str, *labels: str) -> MetricRow:
    return MetricRow(name, "gauge", help, labels)


METRICS: Final = (
    _gauge("gateway_build_info", "Always 1; says what runs.", "version", "form"),
    _gauge("gateway_start_time_seconds", "When the gateway started, in seconds since 1970."),
    _gauge(
        "gateway_ready",
        "1 while clients are welcome, 0 while starting or draining, or nothing can be committed.",
    ),
    _gauge("gateway_start_messages", "Messages that the store held at the start."),
    _gauge(
        "gateway_start_messages_recovered",
        "How many of these are back in their queues: while starting, not all.",
    ),
    _gauge("gateway_connections", "Connections that are open.", "protocol"),
    _counter("gateway_connections_opened_total", "Connections that were opened.", "protocol"),
    _counter("gateway_connections_accepted_total", "TCP connections taken, of any protocol."),
    _counter(
        "gateway_connections_redirected_total",
        "Connections that were sent to another gateway (`elsewhere`) instead of being opened.",
        "protocol",
    ),
    _counter("gateway_connections_refused_total", "TCP connections beyond a limit.", "reason"),
    _gauge(
        "gateway_waiting_connections",
        "TCP connections that wait until others from their address have opened.",
    ),
    _gauge(
        "gateway_ending_connections",
        "Connections whose transports are gone, and whose end waits for its turn; with them an"
        " address may have twice as many as limits.connections_per_address.",
    ),
    _counter(
        "gateway_handshake_failures_total",
        "Connections that ended before they named a protocol that the gateway speaks, or that"
        " renewed the keys of TLS without end.",
        "reason",
    ),
    _counter(
        "gateway_authentications_total",
        "Logins that were accepted and refused, also by a mechanism that is not offered to the"
        " client; `other`: by one that the gateway does not have.",
        "mechanism",
        "outcome",
    ),
    _gauge("gateway_admin_connections", "Connections to the admin port."),
    _counter(
        "gateway_admin_connections_cut_total",
        "Those that gave way to others, beyond `admin_connections`.",
    ),
    _counter(
        "gateway_admin_refused_total",
        "Requests at the admin port that were refused by their head.",
        "reason",
    ),
    _counter(
        "gateway_access_refused_total",
        "What clients asked for and may not do by the access rules, or their quotas.",
        "action",
    ),
    _counter(
        "gateway_logins_throttled_total",
        "Logins refused unheard, since too many before them had failed.",
    ),
    _counter(
        "gateway_plain_logins_in_clear_total",
        "Passwords that crossed the network without TLS; the log names each user once.",
    ),
    _gauge("gateway_waiting_logins", "Logins that wait for a thread to check their password."),
    _gauge("gateway_throttle_entries", "Failures and known users that are remembered."),
    _counter(
        "gateway_protocol_errors_total",
        "Connections closed because the client broke its protocol.",
        "protocol",
    ),
    _counter(
        "gateway_session_errors_total",
        "Sessions ended, and links refused or detached, by the gateway; connections went on. "
        "`error`: the condition that the client was told, or `protocol`: it broke its protocol.",
        "protocol",
        "scope",
        "error",
    ),
    _counter(
        "gateway_user_ids_unchecked_total",
        "Messages with a user-id that nobody could check: of clients without a login.",
    ),
    _gauge("gateway_sessions", "Sessions that are attached.", "protocol"),
    _counter("gateway_sessions_opened_total", "Sessions that were attached.", "protocol"),
    _gauge(
        "gateway_absent_sessions",
        "0-10 sessions whose state is kept, and that have no connection now; suspended links of "
        "1.0 included.",
    ),
    _gauge("gateway_absent_session_bytes", "Octets that are kept for them."),
    _counter(
        "gateway_sessions_detached_total",
        "Times that a session whose state is kept has lost its connection, or was detached; and "
        "that a 1.0 link was suspended.",
    ),
    _counter("gateway_sessions_resumed_total", "Times that one has gone on."),
    _counter(
        "gateway_sessions_expired_total",
        "Sessions that did not in time: what they held has gone back.",
    ),
    _gauge("gateway_links", "Links (1.0) and subscriptions (0-10).", "protocol"),
    _counter("gateway_links_opened_total", "Links and subscriptions so far.", "protocol"),
    _counter("gateway_network_bytes_total", "Octets on AMQP connections, inside TLS.", "direction"),
    _counter(
        "gateway_messages_total",
        "Steps of messages: each copy that took one, by how it ended.",
        "stage",
        "outcome",
    ),
    _counter(
        "gateway_messages_refused_total",
        "Copies that were not let in, by reason: those `gateway_messages_total` counts as refused.",
        "reason",
    ),
    _counter("gateway_transactions_total", "Transactions, by how they ended.", "outcome"),
    _gauge(
        "gateway_branches",
        "Branches of distributed transactions: open, doomed, which have been rolled back and are"
        " remembered, prepared, or decided by an operator.",
        "state",
    ),
    _gauge(
        "gateway_oldest_prepared_branch_seconds",
        "For how long the oldest prepared branch waits for its manager; 0: there is none.",
    ),
    _gauge("gateway_staged_files", "Files of 0-10 that clients have opened, and not published."),
    _gauge("gateway_staged_bytes", "Octets that have come of them."),
    _counter(
        "gateway_staging_expired_total",
        "Files that were forgotten since nothing more came of them for `limits.staging_timeout`.",
    ),
    _gauge("gateway_open_transactions", "Transactions of 1.0 clients, not discharged."),
    _counter(
        "gateway_transactions_refused_total",
        "Declares of 1.0 clients beyond `limits.transactions`.",
    ),
    _counter(
        "gateway_arguments_ignored_total",
        "Arguments of declare, bind and subscribe that have no effect.",
    ),
    _counter(
        "gateway_unsupported_total",
        "Uses of what is not offered, refused or without effect; `audit features` tells whose.",
        "feature",
    ),
    _counter("gateway_translation_losses_total", "Values that did not cross.", "row"),
    _counter("gateway_translation_escrowed_total", "Values put into escrow.", "row"),
    _counter("gateway_translation_restored_total", "Values that came back from escrow.", "row"),
    _gauge(
        "gateway_kept_bytes",
        "Octets kept for connections: what is not whole, waits or is not read, what TLS needs; no"
        " queued messages.",
    ),
    _gauge("gateway_reply_table_entries", "Requests whose own ids are known, for their answers."),
    _gauge("gateway_reply_table_bytes", "Octets of these ids."),
    _counter(
        "gateway_reply_table_evicted_total",
        "Requests that were forgotten: they had become too many, too large or too old.",
    ),
    _counter(
        "gateway_kept_refused_total",
        "What would have been kept, but for `limits.connection_size`, `user_size`, `host_size`.",
        "scope",
    ),
    _gauge("gateway_queues", "Queues."),
    _gauge(
        "gateway_topology_bytes",
        "Octets of memory that queues, exchanges and bindings take, without messages.",
    ),
    _gauge("gateway_routes_bytes", "Octets of the routes that topic exchanges remember."),
    _counter(
        "gateway_topology_refused_total",
        "Declares and binds beyond `queues.topology_size`.",
    ),
    _gauge("gateway_queue_depth_messages", "Messages in all queues, acquired ones included."),
    _gauge("gateway_queue_depth_bytes", "Octets in all queues."),
    _gauge("gateway_paged_messages", "Messages of queues that are on disk alone, `queues.memory`."),
    _gauge("gateway_paged_bytes", "Octets of those."),
    _gauge("gateway_paged_file_bytes", "Octets of the files that have them, `queues.paged_size`."),
    _counter(
        "gateway_pages_total",
        "Pages of up to 256 messages that left memory (`out`) and came back (`in`).",
        "direction",
    ),
    _counter("gateway_page_waits_total", "How often somebody had to wait for a page."),
    _counter(
        "gateway_page_failures_total",
        "Pages that the disk did not take, which stay in memory, or could not be read again.",
        "direction",
    ),
    _gauge(
        "gateway_quotas_used_up",
        "Users and virtual hosts that have used up their quota of what queues hold.",
        "scope",
    ),
    _counter(
        "gateway_quota_held_back_total",
        "Publishes held back since their user or virtual host has used up its quota.",
        "scope",
    ),
    _counter(
        "gateway_queue_alerts_total",
        "How often queues held as much as they are declared to alert of, in messages or octets.",
        "limit",
    ),
    _gauge("gateway_unsettled_messages", "Deliveries sent and not settled yet."),
    _gauge(
        "gateway_waiting_publishes",
        "Publishes that wait for an upstream to say what became of them.",
    ),
    _gauge(
        "gateway_withheld_publishes",
        "Publishes to queues above their flow stop that are not confirmed for that.",
    ),
    _gauge("gateway_upstream_up", "1 while the upstream is connected and open.", "upstream"),
    _gauge(
        "gateway_upstream_state_seconds",
        "How long the upstream has been as `state` says.",
        "upstream",
        "state",
    ),
    _gauge(
        "gateway_upstream_down_seconds",
        "How long the upstream has not been connected; 0 while it is.",
        "upstream",
    ),
    _gauge(
        "gateway_upstream_failed_tries",
        "Tries in a row that did not connect, each of all its hosts.",
        "upstream",
    ),
    _gauge("gateway_upstream_links", "Links that are attached.", "upstream"),
    _gauge(
        "gateway_upstream_held_messages",
        "Messages to an upstream whose publishers wait to hear of them.",
        "upstream",
    ),
    _gauge(
        "gateway_upstream_spooled_messages",
        "Messages to an upstream that the gateway has stored, their publishers told.",
        "upstream",
    ),
    _gauge(
        "gateway_upstream_oldest_seconds",
        "How long the oldest message to an upstream has waited; 0 if there is none.",
        "upstream",
    ),
    _counter(
        "gateway_upstream_connections_total",
        "Connections to an upstream that were opened, were lost, or ended before they were open.",
        "upstream",
        "event",
    ),
    _counter(
        "gateway_upstream_sessions_ended_total", "Sessions that the upstream ended.", "upstream"
    ),
    _counter(
        "gateway_upstream_links_total",
        "Links that the upstream attached, refused or detached.",
        "upstream",
        "event",
    ),
    _counter(
        "gateway_upstream_messages_total",
        "Deliveries to and from an upstream, those sent again included.",
        "upstream",
        "direction",
    ),
    _counter(
        "gateway_upstream_outcomes_total",
        "How deliveries to and from an upstream ended.",
        "upstream",
        "direction",
        "outcome",
    ),
    _gauge(
        "gateway_upstream_unsettled_messages",
        "Deliveries under way to and from an upstream.",
        "upstream",
        "direction",
    ),
    _gauge(
        "gateway_upstream_waiting_messages",
        "Messages that wait to be sent to an upstream, or to a client from it.",
        "upstream",
        "direction",
    ),
    _counter(
        "gateway_upstream_in_doubt_total",
        "Deliveries whose outcome the end of a link left open: sent again, marked.",
        "upstream",
    ),
    _counter(
        "gateway_upstream_poison_total",
        "Messages given up because the link broke with them first in line, again and again.",
        "upstream",
    ),
    _counter("gateway_upstream_undecodable_total", "Deliveries that were no message.", "upstream"),
    _counter(
        "gateway_upstream_redirects_total",
        "Times that the upstream sent the gateway, or one link, elsewhere.",
        "upstream",
    ),
    _gauge(
        "gateway_upstream_detour_connections",
        "Connections to other hosts, or attempts, for links that the upstream redirects to them.",
        "upstream",
    ),
    _counter(
        "gateway_upstream_feeds_refused_total",
        "Times that the upstream refused, for good, to feed a queue bound to an exchange of its.",
        "upstream",
    ),
    _counter(
        "gateway_changes_total",
        "Reloads, and pauses, resumes and switches by ctl: done, or refused (nothing changed).",
        "result",
    ),
    _gauge("gateway_paused_rules", "Node rules that are paused."),
    _gauge(
        "gateway_refused_files",
        "1 while files of the configuration are others than those that count, and were refused.",
    ),
    MetricRow(
        "gateway_event_loop_lag_seconds", "histogram", "How late a timer fired that was due."
    ),
    _counter("gateway_turns_total", "Passes of the event loop that had work."),
    _counter(
        "gateway_stalls_total",
        "Pieces of work that held the event loop for more than 100 ms, whatever else did (`other`),"
        " and standstills without work (`machine`); the log says whose.",
        "piece",
    ),
    _counter(
        "gateway_work_units_total",
        "Work done, in units of about a fiftieth of a microsecond where the gateway is compiled.",
    ),
    _counter(
        "gateway_turns_cut_total",
        "Turns in which a connection had had its share of the work, and went on in a later one.",
    ),
    _counter("gateway_work_refused_total", "What was refused because it was too much work."),
    _counter(
        "gateway_selectors_given_up_total",
        "Messages that a selector did not accept because it looked at too much of them.",
    ),
    _counter(
        "gateway_defects_total",
        "Exceptions where none may come from, whoever caught them: critical lines of the log with a"
        " traceback, and each repetition of what is done regularly.",
    ),
    _counter(
        "gateway_log_lines_dropped_total",
        "Lines of the log that nobody took: who reads it is too slow, or stands.",
    ),
    _counter("gateway_store_commits_total", "Transactions of the durable store."),
    _counter("gateway_store_commit_seconds_total", "Time spent in them."),
    _counter("gateway_store_bytes_total", "Octets that they wrote."),
    _counter(
        "gateway_store_failures_total",
        "Attempts to write the store, or the audit log, that the disk refused.",
        "part",
    ),
    _gauge(
        "gateway_store_blocked",
        "1 while publishers wait because the disk is full, does not answer, has lost the files, or"
        " refuses to write otherwise.",
        "cause",
    ),
    _gauge("gateway_data_bytes", "Size of the store's files, and of the audit log.", "part"),
    _gauge("gateway_data_free_bytes", "What their file systems have left.", "part"),
    _gauge("gateway_store_waiting_turns", "Turns submitted and not committed yet."),
    _gauge("gateway_store_waiting_bytes", "Octets of those."),
    _gauge("gateway_store_rows", "Rows in the store's log."),
    _gauge(
        "gateway_store_rows_damaged",
        "Rows found unreadable at this start, or at an earlier one and still kept aside.",
    ),
    _counter("gateway_audit_records_total", "Audit records so far."),
    _gauge("gateway_audit_head_sequence", "The last audit record that is sealed."),
    _gauge("gateway_audit_head_segment", "The number of the audit log's segment with that seal."),
    _gauge(
        "gateway_audit_head_timestamp_seconds",
        "When the audit log was sealed last, by wall time as it is now, as Unix time; 0 before this"
        " run has sealed anything.",
    ),
    _gauge("gateway_audit_head_signed", "1 if that seal is signed."),
    _counter(
        "gateway_audit_head_failures_total",
        "Seals that could not be written to the file `audit-head`, which has an older one.",
    ),
    _gauge(
        "gateway_audit_log_differences",
        "Ways in which the audit log was not what the store remembers of it, at start.",
    ),
    _gauge(
        "gateway_audit_log_cut_bytes",
        "Octets at the audit log's end that were no whole records, and were cut off, at start.",
    ),
    _gauge("gateway_audit_segments", "Segments of the audit log, as the last look found it."),
    _gauge(
        "gateway_audit_oldest_timestamp_seconds",
        "The time of the audit log's first record, as Unix time; 0 before the first look.",
    ),
    _gauge(
        "gateway_audit_uncovered_bytes",
        "Octets of its segments that no closed book covers, by then.",
    ),
    _gauge(
        "gateway_audit_held_bytes",
        "Octets of its segments in and behind a closed book that is not balanced: without an "
        "archive none of them is let go.",
    ),
    _gauge(
        "gateway_audit_overdue_segments",
        "Segments that are older, or more, than is to be kept, and stay; the log says why.",
    ),
    _counter("gateway_audit_let_go_segments_total", "Segments that were let go, and are removed."),
    _counter("gateway_audit_let_go_bytes_total", "Octets of those."),
    _counter(
        "gateway_audit_archive_failures_total",
        "Segments that could not be archived, and stay; tried again each minute.",
    ),
    _gauge("gateway_audit_book_number", "The number of the last closed book; 0: there is none."),
    _gauge("gateway_audit_book_balanced", "1 if it has no break that is in no book before."),
    _gauge("gateway_audit_book_timestamp_seconds", "When it was made, as Unix time."),
    _gauge(
        "gateway_audit_books_wrong", "1 if a book is wrong: it and those behind it do not count."
    ),
    _gauge("gateway_clock_drift_seconds", "How far wall time has left the gateway's clock."),
    _gauge(
        "gateway_certificate_expiry_timestamp_seconds",
        "When the certificate that clients are shown expires, or one above it in its file, as Unix"
        " time; 0 without TLS.",
    ),
)

OBJECT_METRICS: Final = (
    _gauge("gateway_object_queue_messages", "Messages in a queue.", "virtual_host", "queue"),
    _gauge("gateway_object_queue_bytes", "Octets in a queue.", "virtual_host", "queue"),
    _gauge(
        "gateway_object_queue_subscriptions", "Subscriptions of a queue.", "virtual_host", "queue"
    ),
    _gauge(
        "gateway_object_queue_stopped",
        "1 while a queue is above its flow stop, or not below its resume since; 0 else, of queues"
        " that have one.",
        "virtual_host",
        "queue",
    ),
)


@final
class Collector:
    """A prometheus_client collector over one table; a reader for each of its rows, no more.

    Args:
        count: what is to be counted before the readers can tell of it.

    Raises:
        ValueError: a row without a reader, or a reader without a row.
    """

    def __init__(
        self,
        rows: Sequence[MetricRow],
        readers: dict[str, Reader],
        count: Callable[[], Iterator[object]] = lambda: iter(()),
    ) -> None:
        wrong = {row.name for row in rows} ^ set(readers)
        if wrong:
            raise ValueError(f"rows and readers differ: {', '.join(sorted(wrong))}")
        self._rows = rows
        self._readers = readers
        self._count = count
        self._taken: list[tuple[MetricRow, list[Sample | HistogramSample]]] = []

    def pieces(self) -> Iterator[object]:
        """Read every number, a piece with each `next`; on the thread that counts them.

        A piece may be a Deferred: then the next is wanted when it has fired.
        """
        yield from self._count()
        self._taken = [(row, list(self._readers[row.name]())) for row in self._rows]

    def take(self) -> None:
        """Read every number, at once."""
        for _ in self.pieces():
            pass

    def collect(self) -> Iterator[Metric]:
        """What was taken last; on any thread."""
        for row, samples in self._taken:
            yield _family(row, samples)

    def describe(self) -> list[Metric]:
        """The families without samples: registering needs no reading."""
        return [_family(row, ()) for row in self._rows]

    def registry(self) -> CollectorRegistry:
        """A registry with this collector alone."""
        made = CollectorRegistry()
        made.register(self)
        return made


def _family(row: MetricRow, samples: Iterable[Sample | HistogramSample]) -> Metric:
    if row.kind == "histogram":
        histogram = HistogramMetricFamily(row.name, row.help, labels=row.labels)
        for sample in samples:
            assert len(sample) == 3
            histogram.add_metric(sample[0], sample[1], sample[2])
        return histogram
    kind = CounterMetricFamily if row.kind == "counter" else GaugeMetricFamily
    family = kind(row.name, row.help, labels=row.labels)
    for sample in samples:
        assert len(sample) == 2
        family.add_metric(sample[0], sample[1])
    return family
