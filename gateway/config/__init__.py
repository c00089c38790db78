"""The configuration: typed settings from one YAML file, every problem at once with its key path."""

from gateway.config.describe import Key, keys, notes, resolved, schema
from gateway.config.load import load
from gateway.config.settings import Settings
from gateway.config.units import Address

__all__ = ["Address", "Key", "Settings", "keys", "load", "notes", "resolved", "schema"]
