"""What operators promise, tried on the data: by default on a few elements of a first call.

Here are the laws (associative, neutral element, ..), an interpreter that computes a few elements as
they are read, and what chooses them; who declares an operator is checked nowhere else.
"""
