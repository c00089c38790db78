"""TLS: its files, and what comes by it.

files         contexts from PEM files; what is wanted of upstreams
authorities   which of those whose clients are believed let nobody in
validity      from when till when the certificate that clients are shown is good
layer         between a transport and its protocol: what comes is opened in pieces
records       what has not been opened yet, and what opening it costs
"""
