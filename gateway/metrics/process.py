"""What runs, since when, and how its event loop is held."""

from __future__ import annotations

from typing import Final

from gateway.metrics.rows import counter, gauge, histogram

PROCESS: Final = (
    gauge("gateway_build_info", "Always 1; says what runs.", "version", "form"),
    gauge("gateway_start_time_seconds", "When the gateway started, in seconds since 1970."),
    gauge(
        "gateway_ready",
        "1 while clients are welcome, 0 while starting or draining, or nothing can be committed.",
    ),
    gauge("gateway_start_messages", "Messages that the store held at the start."),
    gauge(
        "gateway_start_messages_recovered",
        "How many of these are back in their queues: while starting, not all.",
    ),
    counter(
        "gateway_changes_total",
        "Reloads, and pauses, resumes and switches by ctl: done, or refused (nothing changed).",
        "result",
    ),
    gauge("gateway_paused_rules", "Node rules that are paused."),
    gauge(
        "gateway_refused_files",
        "1 while files of the configuration are others than those that count, and were refused.",
    ),
    histogram("gateway_event_loop_lag_seconds", "How late a timer fired that was due."),
    counter("gateway_turns_total", "Passes of the event loop that had work.", stable=False),
    counter(
        "gateway_stalls_total",
        "Pieces of work that held the event loop for more than 100 ms, whatever else did (`other`),"
        " and standstills without work (`machine`); the log says whose.",
        "piece",
    ),
    counter(
        "gateway_work_units_total",
        "Work done, in units of about a fiftieth of a microsecond where the gateway is compiled.",
        stable=False,
    ),
    counter(
        "gateway_turns_cut_total",
        "Turns in which a connection had had its share of the work, and went on in a later one.",
        stable=False,
    ),
    counter(
        "gateway_work_refused_total", "What was refused because it was too much work.", stable=False
    ),
    counter(
        "gateway_selectors_given_up_total",
        "Messages that a selector did not accept because it looked at too much of them.",
        stable=False,
    ),
    counter(
        "gateway_defects_total",
        "Exceptions where none may come from, whoever caught them: critical lines of the log with a"
        " traceback, and each repetition of what is done regularly.",
    ),
    counter(
        "gateway_log_lines_dropped_total",
        "Lines of the log that nobody took: who reads it is too slow, or stands.",
    ),
    counter(
        "gateway_clock_steps_total",
        "How often wall time has left the gateway's clock by a second more, or come back.",
    ),
    gauge("gateway_clock_drift_seconds", "How far wall time has left the gateway's clock."),
    gauge(
        "gateway_certificate_expiry_timestamp_seconds",
        "When the certificate that clients are shown expires, or one above it in its file, as Unix"
        " time; 0 without TLS.",
    ),
)
