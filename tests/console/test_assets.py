"""Texts: in one place, the same in every language, and without markup."""

import re
from importlib.resources import files

import pytest

from tarry.console.assets import LANGUAGES, texts

TEMPLATES = {
    file.name: file.read_text(encoding="utf-8")
    for file in files("tarry.console").joinpath("templates").iterdir()
}


def flat(told, before=""):
    for name, value in told.items():
        if isinstance(value, dict):
            yield from flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_the_same_texts_with_the_same_places(language):
    english, other = dict(flat(texts("en"))), dict(flat(texts(language)))

    assert english.keys() == other.keys()
    for name, text in english.items():
        if isinstance(text, str):
            assert sorted(re.findall(r"\{(\w*)", text)) == sorted(re.findall(r"\{(\w*)", other[name])), name


@pytest.mark.parametrize(("name", "text"), [each for each in flat(texts()) if isinstance(each[1], str)])
def test_no_text_holds_markup(name, text):
    assert not re.search(r"</?[a-zA-Z]|&\w+;", text), name


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_no_template_has_sentences_of_its_own(name):
    """What a person reads comes from the texts: between tags there are only signs and values."""
    bare = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", "", TEMPLATES[name], flags=re.DOTALL)
    bare = re.sub(r"<[^>]*>|\bUTC\b", "", bare)  # a time zone has one name everywhere

    assert not re.search(r"[A-Za-z]{3,}", bare), bare


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_no_template_has_a_script_or_style_of_its_own(name):
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", TEMPLATES[name])
