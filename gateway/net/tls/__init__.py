"""TLS: its files, and what comes by it.

files     contexts from PEM files; what is wanted of upstreams
layer     between a transport and its protocol: what comes is opened in pieces
records   what has not been opened yet, and what opening it costs
"""
