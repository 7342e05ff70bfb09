"""Loading files from outside: streamed into a buffer, cleaned there, loaded as one set.

The steps run in a fixed order over the buffer, and every record ends in exactly one place: accepted,
already loaded, or dropped for one reason of a closed set, with its line number. What was read is
always the sum of these. The natural key makes a second load of the same file change nothing.
"""
