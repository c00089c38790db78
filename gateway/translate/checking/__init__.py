"""Is nothing lost in a translation but what it says: one message in 64, and some of each kind.

sample       which messages are looked at
kinds        of which kind a message is, as one number
way_back     a translated message, translated back and held against what came
fields_0_10, fields_1_0   the values of a message, each with its mapping row
neutral      values that compare, whatever their width in octets
"""
