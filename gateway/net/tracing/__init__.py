"""Spans of followed messages, to a collector of OpenTelemetry; imported where that is configured.

begin       what there is of it by the settings: the one module that is imported otherwise
conventions what a span is called, and what it has, by OpenTelemetry's conventions for messaging
measures    the numbers behind its metrics
exporting   the maintained SDK, which takes spans and sends them in a thread of its own
"""
