"""Statuses at Mastodon: an outlet, a reader, a law and an attack for tarry."""
