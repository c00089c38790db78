"""What a reconciliation tells.

report, page    people
verdicts        other programs
"""
