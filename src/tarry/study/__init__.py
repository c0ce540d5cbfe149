"""The study: how linkable people are by when they act, and what a delay would change.

One way through: table -> practice (a policy or a habit) -> observer -> attack -> score -> report.
"""
