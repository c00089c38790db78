"""The command line: commands and their arguments; what they do is elsewhere.

main, options                        the command itself; options that several have
run                                  `serve` and `check`
check_connect, check_may             what is shown of upstreams; of access rules
ctl, ctl_status, ctl_connections     `ctl`; what is shown of upstreams; of clients
backup                               `backup`
store, store_moves                   `store check` and `list`; `export`, `import` and `compact`
messages, letter_options, demo       `send` and `receive`, and what is wrong with them; `demo`
audit, trace, features, verify       `audit` and `reconcile`
jobs, compare                        how jobs are run; `audit compare`
migrate                              `migrate`, a command for each step
logs, reading                        the log that these are given, and its records
users                                `user`
completion                           `completion`

Exit codes: 0 done; 1 it cannot be done, or the answer is "no" (a broken log, an unbalanced ledger,
fewer messages than asked for); 2 the arguments or the configuration are wrong.
"""

from gateway.cli.main import main

__all__ = ["main"]
