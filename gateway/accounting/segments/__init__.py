"""The log as a data source, and whether it is whole.

source, columns    segments as a Spark data source, each as columns
chain              is the log whole
let_go             what of it was let go on purpose
sealed             what its seals are worth
"""
