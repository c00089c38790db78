"""What a reconciliation tells.

figures, stories        what charts and stories are made of: a bounded number of rows
report, page            people: a few lines, one page
together                of several logs
tables, drawn, charts   the parts of the page
words                   numbers, times and terms, as people read them
ran                     who says so
verdicts                other programs
failing                 why there is nothing to tell
"""
