"""Connections that come in: ports, the first octets, and who the peer is.

listen                       listeners: who may connect, and which face a connection gets
admission, first_faces       how many may connect and log in at a time; who waits for that
silence                      who says nothing meanwhile
proxy_header                 whose connection a load balancer passes on
threshold, first_octets      reads the protocol header; what that asks for
login, offers                SASL behind the faces' `Authenticator`; what it offers
authenticate                 who may log in, and how: what all connections share of that
passwords, password_threads  verifying them, aside of the reactor
doubted                      who shows a certificate that is not believed
throttle, fair_queue         who has to wait for that, and how long
withdrawing                  who could not come in again, after a reload
kerberos                     who comes by GSSAPI
users, legacy                the users file; what it keeps for mechanisms from before SCRAM
decisions                    what the log tells of access rules
journal, turned_away, pace   the log's lines of connections; how many there may be
ports                        the ports, by name
"""
