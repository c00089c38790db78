"""Where a job reads and writes: on this machine by a path, elsewhere by a URI.

location    both alike; what an address means
remote      elsewhere, through a file system of pyarrow's
s3a         which file system that is for a bucket
settings    Spark's settings, as far as they say how to get there: told to nobody
"""
