"""Access rules in force, and what they mean for clients: what each may, counted and told.

    in_force        the rules, what belongs to them, and the quotas: for all clients
    book            the clients that have a virtual host; other rules for all of them
    client_access   what one client may
    who             who it is, as rules ask for it
    belongings      which queues and exchanges are its own
    denials         what it is refused: told, counted and in the audit log
    making          nodes that it declares, and how many queues it may have made
    publish_access  what it publishes

Other rules count from the moment that they are adopted: what clients have that they may have no
longer, ends then.
"""
