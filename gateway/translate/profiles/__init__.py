"""Profiles: what there is to know of the brokers behind upstreams (`gateway/mappings/profiles`).

profile     one profile, as a plain value
loading     from YAML, the project's or the operator's
templates   names as addresses of an upstream, and back
"""
