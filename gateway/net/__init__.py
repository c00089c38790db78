"""Twisted: turns, pumps, listeners, users and the admin port. Protocol meaning is in the faces."""
