"""The composition root: builds the gateway from its settings, starts it, and stops it in order.

process     the process around it: reactor, signals, threads that die, what it says when it starts
standing    a stop that the event loop does not hear of
service     one gateway: what it is made of, its start and its stop
duties      what it does again and again, and its checkpoints
other_settings  those that come while it runs
defects     counts those that reach the log
collecting  what Python's cycle collector looks at, and when
giving_back memory that is free goes back to the system
declared    exchanges, queues and bindings of the configuration
starting    the start while the event loop turns: how far it is, what it does in shares
opening     the bridge upon store and audit log, and what the last life left in them
moved       queues that have become an upstream's while they hold messages
faces       how clients come in, and what every face is told of the settings
files       what the settings name by path: certificates, keys and users
exposed     what others on the machine can read of secrets and data
rules       the access rules in force, as audit log, clients and operators are told of them
changes     what counts from now on, as the audit log has it
late_segments  the audit log as the store writes it, compared at the start with what is remembered
letting_go  archives and removes old segments of it, and says so in it
heads       tells in the log how far the audit log is sealed
paging      the disk for queues that are larger than memory
alerts      tells in the log of queues that hold as much as they are to alert of
drift       tells in the log when wall time leaves the gateway's clock
expiry      tells in the log that the certificate expires, or has
admin       what the admin port shows and does of it
form        whether the hot packages are compiled
"""
