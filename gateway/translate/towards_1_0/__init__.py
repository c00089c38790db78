"""A 0-10 message as a 1.0 message, part by part, and what a 1.0 hop does to any.

body          a body as body sections
destination   where it was published to as properties
fields        the other fields of the header segment as properties and annotations
hop           what each 1.0 hop does
"""
