"""The job `compare`: what one side says of messages against another, id by id.

arguments   the words it is run with, and what they come to
logs        a side that is audit logs: what was received, or left
heads       which columns somebody else's book has, before Spark is started
ledgers     a side that is such a book: ids, or counts of queues
ids         an application's message-id as the digest that the log has of it
sides       steps: what both say of one id, or one queue
verdicts    steps: does that agree, and since when not
told        what people and other programs are told
job         the job

A side is a frame of *items*. An item has an id, of which its side surely has `surely` and may have
up to `at_most`: a delivery that was sent again may have come twice, one that was refused may not
count. Two sides agree of an id where both can be right. So what a log itself calls in doubt is no
difference, and is told as sent again.
"""
