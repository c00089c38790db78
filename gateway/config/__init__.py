"""The configuration: typed settings from one YAML file, every problem at once with its key path.

settings, upstreams      every key: those of the gateway, those of upstreams and their nodes
audit                    those of the audit log
tracing                  those of spans
topology                 exchanges, queues and bindings that are there from the start
section, units           what keys are made of: sections; durations, sizes and addresses
load                     from YAML to `Settings`
raw                      what was written, and what is wrong with it
remote_rules             what spans several keys of upstreams and nodes
pods                     several gateways behind one address: their names, what they may have
access                   the access rules, from their file
placement                the node rules at work: what lives where, by what address
describe                 all keys as a table, as a schema; what a configuration comes to
"""

from gateway.config.describe import Key, keys, may_show_passwords, notes, resolved, schema
from gateway.config.load import load
from gateway.config.settings import Settings
from gateway.config.units import Address

__all__ = [
    "Address",
    "Key",
    "Settings",
    "keys",
    "load",
    "may_show_passwords",
    "notes",
    "resolved",
    "schema",
]
