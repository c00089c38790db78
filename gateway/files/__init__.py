"""Files that people name: what is in them, however they are made; and those of a data directory.

own           a regular file of a data directory, opened
whole         a file read whole, up to a size
json_text     JSON, however deep it is nested
yaml_text     YAML, up to a depth and to what its aliases stand for
"""
