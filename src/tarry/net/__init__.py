"""The way to other machines: one bounded HTTP call for every room that needs one."""
