"""How long the sentences of the user pages are.

python docs/readability.py            the pages, longest sentences on average first, and all together
python docs/readability.py 30         likewise, and every sentence of more than 30 words

Prose counts: paragraphs, lists and quotes. Code, tables and headings do not. A sentence ends with a full
stop, a question or exclamation mark, or where its paragraph or list item ends. We aim at 18 words or fewer
on average; `docs/style.md` says how. Nothing fails: such numbers are for whoever rereads.
"""
# ruff: noqa: INP001, T201 - a script beside its pages, which prints

import re
import sys
from pathlib import Path
from statistics import mean

DOCS = Path(__file__).resolve().parent
AIM, LONG = 18, 30
#: What is written for people who use tarry; the rest is reference, proof or decision.
USER_PAGES = (
    *("../README", "install", "quickstart", "tutorial-review-system", "tutorial-second-name"),
    *("tutorial-audit", "own-law", "own-place", "own-attack", "production", "privacy-notice", "gateway"),
    *("operating", "pages", "middleware", "keeper", "mediawiki", "bitcoin", "openreview", "code-review"),
    *("study", "readers", "scale", "attest", "choosing", "policy-file", "why", "limits", "style"),
)
BLOCK = re.compile(r"^(```|~~~).*?^\1$", re.MULTILINE | re.DOTALL)
DROPPED = re.compile(r"^(#|\||!\[|    ).*$", re.MULTILINE)
BEGINS = re.compile(r"^\s*(?:[-*] |\d+\. |> ?[-*]? ?)", re.MULTILINE)
ENDS = re.compile(r"(?<=[.!?])[*_)\"”]*\s+(?=[*_(\"“`\[]*[A-Z0-9`])")


def sentences(markdown: str) -> list[str]:
    """The sentences of a page, without its code, tables and headings."""
    text = DROPPED.sub("", BLOCK.sub("", markdown))
    text = re.sub(r"\]\([^)]*\)|[\[\]*]", "", BEGINS.sub("\n", text))
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n\s*\n|\n(?=\n)", text))
    found = (sentence.strip() for paragraph in paragraphs for sentence in ENDS.split(paragraph))
    return [sentence for sentence in found if len(sentence.split()) > 1]


def main(words: list[str]) -> None:
    """Print what was counted."""
    pages = {name: sentences((DOCS / f"{name}.md").read_text(encoding="utf-8")) for name in USER_PAGES}
    lengths = {name: [len(each.split()) for each in found] for name, found in pages.items()}
    print(f"{'page':<24} sentences  words  over {LONG}")
    for name in sorted(lengths, key=lambda name: -mean(lengths[name])):
        _print(name.removeprefix("../"), lengths[name])
    everything = [length for each in lengths.values() for length in each]
    _print("all user pages", everything)
    print(f"{mean(everything):.1f} words a sentence on average; the aim is {AIM} or fewer")
    for limit in map(int, words):
        for name, found in pages.items():
            print(*(f"{name}: {each}" for each in found if len(each.split()) > limit), sep="\n")


def _print(name: str, lengths: list[int]) -> None:
    share = sum(length > LONG for length in lengths) / len(lengths)
    mark = " " if mean(lengths) <= AIM else "!"
    print(f"{name:<24} {len(lengths):>9}  {mean(lengths):>5.1f}{mark} {share:>6.0%}")


if __name__ == "__main__":
    main(sys.argv[1:])
