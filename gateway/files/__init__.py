"""Files that people name: what is in them, however they are made.

whole         a file read whole, up to a size
yaml_text     YAML, up to a depth and to what its aliases stand for
"""
