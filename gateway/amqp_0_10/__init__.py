"""AMQP 0-10 without I/O, in both roles: codec, connection, session.

types                        typed values: what maps, lists and coded structs hold
decoding, encoding           octets <-> typed values
primitives                   strings, binaries and range sets as fields have them
_spec*                       one class for each control, command and struct (generated)
structs, controls            coded structs and the header segment; controls from their frames
frames, assembler            frames and segments; commands, put together from them
unfinished                   what of large segments is written later, and what is behind them
states                       the tables of a connection, and of a session's attachment
errors                       what a peer can break, and the scope that it ends
events                       what a connection tells its driver
connection                   one connection: octets in, events out
tuning, heartbeat            what both ends agree on; who must speak when
session, receiving           one session; what comes for it, taken apart
late                         what comes for it when it is over
incoming, progress           the peer's commands, and ours: which are completed
replay                       what was sent, and is kept to be sent again
"""
