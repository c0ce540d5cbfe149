"""Readers: other people's exports, as columns of who acted on what and when."""
