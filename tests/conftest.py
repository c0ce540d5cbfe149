"""Properties are searched the same way on every run: a red test is red again tomorrow."""

from hypothesis import settings

settings.register_profile("house", derandomize=True, deadline=None, print_blob=False)
settings.load_profile("house")
