"""Where acts leave to and histories come from: one folder for each place the world has.

A folder's `__init__.py` describes its outlet and its readers, and loads neither. Inside a folder a command
may use the outlet and the reader, which may use the client; nothing goes the other way.
"""
