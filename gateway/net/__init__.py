"""Twisted: turns, pumps, listeners, dialers and the admin port. Meaning is in the faces.

pump, turns     one connection's transport; one pass over all that was readable
silent_face     the face of a connection that says nothing
patience        how much of the time of a handshake is its peer's
keepalive       peers that are gone without a word
transport       what is used of a connection's transport
reading         how much is read of one at a time
listening/      connections that come in
upstreams/      connections that the gateway dials
admin/          metrics, health, control
alarm, clock, lag   one moving timer, the one clock, how late the event loop is
stalls          whose work has held it
duties          what is done each second or so
past_mending    which exceptions end the process
threads         those that its end does not wait for
kept_files      files that the configuration names, as they were read last
turn_shares     what the connections of one user, and of all, may have done in one turn
tracing/        spans of followed messages, to a collector
held_back       who waits to be confirmed, and for which limit
tls/            TLS from PEM files, opened in pieces, for what that costs
saslprep        names and passwords in one form
backup, unfinished  copies of store and audit log, while they are used; one not done yet
data_directory, open_files, logs, log_queue, counts, stopping   the process
"""
