"""An AMQP 0-10 to AMQP 1.0 gateway: one port, both protocols, every message accounted for.

The layers, top down; a package imports only from the rows below its own:

    __main__ | accounting | codegen   entry point, Spark jobs (never in the daemon), codec generator
    cli                               commands and argument parsing
    offline                           a data directory that no gateway uses
    service | clients                 composition root; small clients of both protocols
    net | migration                   Twisted: pump, listeners, dialers, reloading, admin port; from
                                      a broker of 0-10 to a configuration
    config | metrics                  typed settings and node rules; every metric in one table
    faces                             protocol events <-> bridge verbs, for clients and upstreams
    bridge | translate                exchanges, queues, credit, transit; 0-10 <-> 1.0 values
    selectors | permissions           the selector language of JMS; access rules
    amqp_0_10 | amqp_1_0 | store      sans-IO protocols; the embedded durable store
    message                           the values that the middle speaks
    audit                             audit records and log segments
    wire                              buffers, serial numbers, machines, limits, SASL
    files                             files that people name, read up to a size; YAML
    errors                            the roots of every error
"""

from typing import Final

__version__: Final = "0.2.0"
