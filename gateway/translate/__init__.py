"""0-10 messages, outcomes, errors and addresses as 1.0 ones, and back.

What is mapped to what is data, one row each, in `gateway/mappings/*.yaml`; the code is
plain and quotes the rows' ids. Nothing of it performs I/O or knows a connection.

    message               a message for the peer that it goes to
    contents/             the classes file and stream of 0-10, as messages and back
    facts, batch          what is read once, on arrival
    towards_0_10/, towards_1_0/   messages, part by part
    crossing, escrow      one message on its way across; values that travel beside it
    context, mapping_rows what a translation is given; the rows
    outcomes, conditions  how deliveries end; errors
    addresses, reply_to, replies, routing_key   where messages go, and answers to them
    values, typed_bytes, content, times, names, segment, application_headers   parts
    ids, original_ids     message-ids; what each was when it first came
    checking/             is nothing lost but what is said, in some messages
    view, selectable      what routing, selectors and keys see of a message
    tracing/              messages that are followed, and what they say of their trace
    numbered              a message with the number that its queue or exchange gave it
    profiles/             what there is to know of brokers
"""
