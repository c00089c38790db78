"""0-10 messages, outcomes, errors and addresses as 1.0 ones, and back.

What is mapped to what is data, one row each, in `gateway/mappings/*.yaml`; the code here is plain
code that quotes the rows' ids. Nothing here performs I/O or knows a connection.
"""
