"""Spec tables that we transcribed -> committed straight-line codec source.

`python -m gateway.codegen` writes every generated file; with ``--check`` it writes nothing and
exits 1 when a committed file differs from what the tables yield. A protocol adds a module here with
``files() -> dict[path relative to gateway/, source]`` and its line in `GENERATORS`.
"""
