"""AMQP 0-10 without I/O, in both roles: codec, connection, session."""
