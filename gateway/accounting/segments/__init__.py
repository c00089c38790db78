"""The log as a data source, and whether it is whole.

source, columns    segments as a Spark data source, each as columns
view               a log as a frame, read by workers or here
stream             the same as a stream of closed segments
parts              all that a reconciliation takes from a segment, in one pass
comparable         the same of a comparison
summing, folding   its sums, and which messages are to be left to them
ranges             what publishers were told that is not right within a part of it
drawing            what charts are drawn from
survey             what is to be known of it as a whole
chain              is the log whole
let_go             what of it was let go on purpose
sealed             what its seals are worth
"""
