"""A folder of commands."""
