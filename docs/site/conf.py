"""How Sphinx makes the site; `build.py` calls it."""

from importlib.metadata import version as version_of
from pathlib import Path

HERE = Path(__file__).parent

project = "tarry"
version = release = version_of("tarry")
extensions = ["myst_parser"]
myst_heading_anchors = 6
suppress_warnings = ["myst.header", "misc.highlighting_failure"]
html_theme = "theme"
html_theme_path = [str(HERE)]
html_static_path = [str(HERE.parents[1] / "src/tarry/console/static/style.css")]
html_css_files = ["style.css"]
html_title = "tarry"
html_copy_source = False
html_show_sourcelink = False
html_use_index = False
html_permalinks = False
html_context = {"opening": "Random delays, so that times do not show which names are one person's."}
