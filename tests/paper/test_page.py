"""The page of what was found."""

from tarry.paper.finding import Finding, Table
from tarry.paper.page import findings_page


def test_what_is_found_is_text_and_nothing_in_it_is_markup():
    """A sentence or a cell that looks like HTML stays a sentence or a cell."""
    nasty = "<b>bold & co</b>"
    table = Table(title=nasty, header=(nasty,), rows=((nasty,), (None,), (0.123456,), (1234567,)))
    page = findings_page([Finding(name="x", title=nasty, says=[nasty], tables={"t": table})], {"seed": 1})

    assert nasty not in page
    assert page.count("&lt;b&gt;bold &amp; co&lt;/b&gt;") == 7  # a caption is a label too
    for cell in (">-<", ">0.1235<", ">1,234,567<"):
        assert cell in page


def test_the_stamp_is_on_the_page():
    """Whoever finds the page can make it again."""
    assert "Made with tarry 0.1, seed 7." in findings_page([], {"tarry": "0.1", "seed": 7})
