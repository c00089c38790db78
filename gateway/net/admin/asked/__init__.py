"""What an operator asks for, as it is written in a request.

reading    the body, and the values of its keys
rules      which rule of nodes is meant
"""
