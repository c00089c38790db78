"""Every metric: its name, kind, help text and labels; and the collector that reads them at scrape.

Counting costs nothing: the numbers are plain ints where the thing happens, and a reader, given by
whoever owns them, turns them into samples when Prometheus asks.

Labels are from closed sets, with an `other` bucket where a set has a cap. Names of queues are in
`objects` only, which has an endpoint of its own.

rows            what a row says
table           all of them, in their sections
collector       reads the numbers behind a table
process         what runs, and how its event loop is held
entrance        connections before they have opened, logins, the admin port
clients         connections, sessions and links
translation     what crossed otherwise than it came
messages        steps of messages, transactions, staging
queues          what queues hold, and the topology
upstreams       brokers behind the gateway
store           the store, and its disk
audit           the audit log and its closed books
tracing         messages that are followed, and their spans
objects         of each queue by name
"""

from gateway.metrics.collector import Collector, Wanted
from gateway.metrics.rows import HistogramSample, MetricRow, Reader, Sample
from gateway.metrics.table import METRICS, OBJECT_METRICS, SECTIONS

__all__ = [
    "METRICS",
    "OBJECT_METRICS",
    "SECTIONS",
    "Collector",
    "HistogramSample",
    "MetricRow",
    "Reader",
    "Sample",
    "Wanted",
]
