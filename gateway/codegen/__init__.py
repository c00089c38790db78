"""Tables that we transcribed or wrote -> committed source, schemas and documents.

amqp_0_10, amqp_0_10_tables   the codec of 0-10, and the facts it is made from
amqp_1_0, amqp_1_0_tables     the same of 1.0
chart                         the schema of the chart's values
arguments, mapping, metrics   the documents of that name
dashboards, boards, overview, panels   Grafana's, all of them, the first, what they are made of
version                       pyproject.toml's, in the package and the chart
emit                          what all of them need to write source
registry, __main__            all of them; the command

`python -m gateway.codegen` writes every generated file; with ``--check`` it writes nothing and
exits 1 when a committed file differs from what the tables yield. One that is new is a module with
``files() -> dict[path relative to gateway/, source]`` and its line in `registry.GENERATORS`.
"""
