"""Content of 0-10's classes file and stream, as messages, and messages as such content.

A file or a stream message is kept as a message of 0-10: delivery- and message-properties made of
what it said, and behind them the struct that it came with. So routing, selectors, 1.0 and whatever
else reads messages need not know these classes, and who gets it as it came gets that struct.

    escrow      what the other class has no field for, kept in one header
    arriving    file- and stream-properties as the header segment of a message
    leaving     the header segment of a message as file- or stream-properties
"""
