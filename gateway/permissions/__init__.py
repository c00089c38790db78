"""Who may do what: access rules as data, and what they decide; no protocol, no file, no clock.

actions                      what can be done, to what kind of thing
asked                        what somebody asks for: an action, an object, what is known of it
rules                        what every kind of rules answers: `AccessRules`, `Decision`
own_rules                    rules of the gateway's own file: the first that fits decides
qpidd_rules                  rules of a qpidd's ACL file, which decide as qpidd does
qpidd_lines, qpidd_lookups   that file's lines; what qpidd looks up for each action
binding_keys                 what a binding key lets in, compared with a rule's pattern
patterns, hosts              names, routing keys and addresses that rules are for
quotas                       how many connections and queues a user has, and may have
permits                      what one user may: decisions that are remembered
"""
