"""The command line: verbs and their arguments; what they do is elsewhere.

Exit codes: 0 done; 1 it cannot be done, or the answer is "no" (a broken log, an unbalanced ledger,
fewer messages than asked for); 2 the arguments or the configuration are wrong.
"""

from gateway.cli.main import main

__all__ = ["main"]
