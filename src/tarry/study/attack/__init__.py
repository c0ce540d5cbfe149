"""Attacks: ways to claim, from what an observer saw, that two events are one person's."""
