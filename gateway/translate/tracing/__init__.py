"""Messages that are followed through the gateway: what they say of their trace, and what is told.

Which messages are followed is decided once, when they come: those whose publisher's trace is
recorded, and a share of those without one. From then on each has `Flag.TRACED`, so that nothing is
asked of all others. Whatever else is known of a trace is computed from the message whenever it is
wanted: nothing is kept, and a message that was on disk meanwhile is in the same trace.

    trace_context   W3C Trace Context, as messages carry it
    spans           one span, and whoever is told of it
    traces          the steps of followed messages as spans
"""
