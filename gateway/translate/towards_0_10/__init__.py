"""A 1.0 message as a 0-10 message, part by part, and what a 0-10 hop does to any.

body       body sections as a body with its content type and encoding
delivery   header and addressing as delivery-properties
fields     properties and annotations as message-properties
merged     annotations that a 1.0 receiver added, beside a 0-10 message
hop        what each 0-10 hop does
answers    where an answer is wanted
published  what else is said to a broker that messages are published to
"""
