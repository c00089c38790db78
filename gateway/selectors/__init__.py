"""The selector language of JMS: from a text to what it says of one message.

    tokens     words of a selector
    selector   from its text to a `Selector`, within limits
    tree       expressions
    values     comparison and arithmetic of neutral values, three-valued logic
    pattern    the patterns of LIKE

It knows messages by `message.selectable(name)` and nothing of queues, bindings or protocols.
"""
