"""A data directory that no gateway uses, or a copy of one: what `amqp-gateway store` does with it.

directory       opened to be read, or to be changed by nobody else; room on its disk
living          which copies a start would bring back, and where their messages are
topology        what the rows of the topology mean
checking        whether all of it is as it was written, and fits together
listing         queues and messages, as an operator wants to see them
forms           a message and a row as JSON, and back
exporting       messages to a file that people can read
importing       and from there into another data directory; branches: prepared ones; files: staged
compacting      the store's file written anew, without holes and what nobody needs

Nothing here is told to the audit log: what an import has brought, the next start tells
(`bridge.durable.imports`).
"""
