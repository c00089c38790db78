"""Primitive encodings: what `amqp_1_0.types` is made of, and typed fields (part 1).

codes                format codes and limits
decoding, encoding   octets <-> `Tagged`
fields               typed reads and writes that the generated codec calls
"""
