"""The package has the shape of a place: descriptions load nothing, and its files have one order."""

from tarry.testing.places import PlaceSuite


class TestMastodon(PlaceSuite):
    """The outlet's own suite, which needs a server, is in tarry's acceptance tests."""

    package = "tarry_mastodon"
