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
channels                     its sessions, and which of them a frame is for
session, commands            one session; its commands, as they come and are completed
"""
