"""The audit log: every lifecycle step of every copy of every message is one record.

`schema` describes the format, `records` packs it on the reactor's thread, `segment` writes it to
files on the commit thread, `reader` reads and verifies it. `gateway.accounting` proves from it
that nothing was lost.
"""
