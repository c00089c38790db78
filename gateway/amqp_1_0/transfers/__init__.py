"""What sessions and links keep of transfers until they are settled (2.5.6, 2.6.12 to 2.6.14).

incoming, outgoing   deliveries that a link has yet to get; those that it sends
late                 what comes when nobody takes it any more
send_window          the sending half of a session's flow control
dispositions         those that wait for the end of the turn, in ranges
resumption           which deliveries are resumed when a link comes back
"""
