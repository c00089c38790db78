"""The classes file and stream, in one session.

arrivals      messages of what is published
windows       how much may be sent ahead, and how fast: file.qos, stream.qos
consumer      where the bridge's deliveries become stream.deliver, or are staged
consumers     file.consume, stream.consume and cancel: what a session consumes
publishing    stream.publish, file.publish, and what is returned of them
inbound       files that the client stages
outbound      files that are staged to it, and what it says of them
contents      both classes: which command is carried out by whom
"""
