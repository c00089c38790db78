"""Connections that the gateway dials, and the rules that say for what.

upstreams     all upstreams of the configuration, and where nodes live
dialer        the hosts of one upstream, for ever; detours: each once; back_off: how soon again
credentials   who the gateway is at it; renewal: new OAuth tokens
reload        other settings while the gateway runs; inquiry: do the nodes exist
behind        what a switch leaves behind
draining      a switch that takes along what queues hold
moves         what is carried from upstream to upstream; move: of one queue
watching      a reload when the files that it would read are others
last_life     what had come from upstreams when the process died
measures      readers for their metrics
"""
