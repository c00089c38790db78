"""Spark jobs that prove from the audit log that every message is accounted for.

Imports the standard library, numpy, pyarrow, pyspark, `audit.schema` and `audit.reader` only, so
that one zip for `--py-files` carries it (`bundle`). The daemon never imports it.

A job is: read, check the schema, named steps from data frame to data frame, write. Only steps
decide anything, and steps read nothing.
"""
