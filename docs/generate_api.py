"""Write docs/api.md from the docstrings of the public names.

python docs/generate_api.py

Each name has its signature or its fields, what its docstring says, and its example with the imports that it
needs: so it can be copied, and is run as it stands. `tests/test_api.py` fails when the page and the source
disagree.
"""
# ruff: noqa: INP001 - a script beside its page, not a package

import ast
import builtins
import doctest
import inspect
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

PAGE = Path(__file__).with_name("api.md")
_WIDE = 100  # what fits on one line

HEAD = """\
# The reference

Written by `docs/generate_api.py` from the docstrings of the source; do not edit it by hand. Names are
grouped by what one wants to do; those that are not of `tarry` itself are imported from where they live.
Times of a history are whole microseconds since 1970, unless it says otherwise. For a first look there is
[the notebook](notebook.ipynb).
"""

#: What one wants to do, in a sentence, and the names for it: of `tarry`, or `module:Name` below it.
GROUPS: dict[str, tuple[str, tuple[str, ...]]] = {
    "Measure a history": (
        "From a table to a report. [The study](study.md) explains the figures.",
        (
            *("audit", "Question", "Report", "study.limits:AdviceLimits", "study.advice:Advice"),
            *("study.runs:Line", "study.runs:AttackRun", "study.runs:Cost"),
        ),
    ),
    "Read a history, or make one up": (
        "`audit` reads most things by itself; this is for what comes before ([exports](readers.md)).",
        (
            *("readers.files:read_history", "readers.frames:read_frame", "readers.frames:read_events"),
            *("readers.columns:Columns", "readers.events:Event", "readers.events:EventStream"),
            *("study.table:event_table", "study.table:EventTable"),
            *("study.synth:synthesize", "study.synth:MadeUp", "study.synth_recipes:Recipe"),
        ),
    ),
    "Watch for months": (
        "Who is whose other name ([the long watch](study.md#the-long-watch)), and who takes part.",
        (
            *("study.watch:watch", "study.watch:WatchQuestion", "study.watch:Watch"),
            *("study.watch.findings:WatchFinding", "study.adoption:adoption", "study.adoption:Adoption"),
        ),
    ),
    "Choose a policy": (
        "What a policy is, costs and promises. [How to choose](choosing.md) has the reasons.",
        (
            *("Policy", "plan", "frontier", "promise", "Promise", "verify", "Verdict"),
            *("read_policy", "write_policy", "parse_duration", "format_duration"),
        ),
    ),
    "Choose the numbers": (
        "Gaps from data, epsilon from a delay, and what an observer learns ([theory](theory.md)).",
        (
            *("gap_at_percentile", "gap_for_crossover", "learned_gap", "least_epsilon"),
            *("posterior_batched", "posterior_unbatched", "power_bound", "two_sided_bound"),
        ),
    ),
    "Add up": (
        "What many pairs cost, and a promise for all acts of a [season](choosing.md#season).",
        ("ledger", "pseudonym_ledger", "linking_cost", "Season", "plan_season"),
    ),
    "Delay": (
        "A whole history at once, or one act at a time: the same two steps.",
        ("History", "plan_release", "Releases", "draw_pair", "Draws", "release_ticks", "Seeded", "Secure"),
    ),
    "An attack of your own": (
        "What an attack is given and has ([with an example](own-attack.md)).",
        (
            *("study.attack:Attack", "study.attack:Observed", "study.attack:Truth", "study.score:Score"),
            *("study.score:Counts", "study.attack:AttackKind", "study.attack:attack"),
            *(
                "study.pairs:pairs_within",
                "study.pairs:pairs_within_groups",
                "study.pairs:near",
                "study.pairs:Near",
            ),
        ),
    ),
    "A practice of your own, and who watches": (
        "What a practice shows, and what an observer sees of it ([with an example](own-attack.md)).",
        (
            *(
                "study.practice:Practice",
                "study.practice:Shown",
                "study.replay:replay",
                "study.baselines:Habit",
            ),
            *("study.baselines:baseline", "study.practice:Observer", "study.practice:observer"),
        ),
    ),
    "A law of your own": (
        "One function that joins `plan`, `verify` and replay ([a page](own-law.md)).",
        ("core.mechanism:Family", "Ask", "LawPair", "Law", "Run", "LabelFree", "Mechanism"),
    ),
    "An outlet or a reader of your own": (
        "Where acts leave to, and where histories come from ([a page](own-place.md)).",
        (
            *("keep.outlet:Outlet", "keep.outlet:OutletKind", "keep.posts:Release"),
            *("readers.kind:ReaderKind", "core.plugins:Option"),
        ),
    ),
    "Test what you built": (
        "Suites that another package joins in three lines, and parts to test with. The suites need pytest.",
        (
            *("testing:AttackSuite", "testing:AttackCase", "testing:PracticeSuite", "testing:PracticeCase"),
            *("testing:LawSuite", "testing:LawCase", "testing:OutletSuite", "testing:OutletCase"),
            *("testing:ReaderSuite", "testing:ReaderCase", "testing:PlaceSuite"),
            *("testing:ManualClock", "testing:ListOutlet", "testing:memory_store", "testing:memory_vault"),
        ),
    ),
    "Errors": (
        "Everything that tarry raises on purpose. Their texts are for people.",
        ("TarryError", "BadInput", "NotPossible"),
    ),
}


def page() -> str:
    """The whole page."""
    return "\n\n".join([HEAD.strip(), _contents(), *_sections()]) + "\n"


def entries() -> dict[str, Any]:
    """Every name of the page, as it is imported, and what it is."""
    return {_spelled(name): _thing(name) for _, names in GROUPS.values() for name in names}


def _spelled(name: str) -> str:
    return f"tarry.{name.replace(':', '.')}"


def _thing(name: str) -> Any:
    module, _, attribute = f"tarry.{name}".rpartition("." if ":" not in name else ":")
    return getattr(import_module(module), attribute)


def _contents() -> str:
    rows = [
        f"| [{title}](#{_anchor(title)}) | {', '.join(map(_link, names))} |"
        for title, (_, names) in GROUPS.items()
    ]
    return "\n".join(["| to | there is |", "| --- | --- |", *rows])


def _link(name: str) -> str:
    return f"[`{name.rpartition(':')[2]}`](#{_anchor(_heading(_spelled(name), _thing(name)))})"


def _anchor(heading: str) -> str:
    return "".join(c for c in heading.lower() if c.isalnum() or c in " _-").replace(" ", "-")


def _sections() -> Iterator[str]:
    for title, (about, names) in GROUPS.items():
        yield f"## {title}\n\n{about}"
        for name in names:
            yield _section(_spelled(name), _thing(name))


def _heading(name: str, thing: Any) -> str:
    return f"class {name}" if inspect.isclass(thing) else name


def _section(name: str, thing: Any) -> str:
    home = import_module(thing.__module__)
    parts = [
        f"### {_heading(name, thing)}",
        f"```python\n{_declared(thing)}\n```",
        *_told(inspect.getdoc(thing) or "", home),
    ]
    if inspect.isclass(thing):
        parts += _members(thing)
    return "\n\n".join(parts)


def _declared(thing: Any) -> str:
    """The signature of a function; of a class its name, its bases, and its fields with their comments."""
    source = inspect.getsource(thing)
    node = ast.parse(source).body[0]
    if isinstance(node, ast.FunctionDef):
        return _signature(node)
    assert isinstance(node, ast.ClassDef)  # noqa: S101 - nothing else is on the page
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    lines = source.splitlines()
    fields = [each for each in node.body if isinstance(each, ast.AnnAssign) and _is_public(each.target)]
    shown = [line for field in fields for line in lines[field.lineno - 1 : field.end_lineno]]
    own = next(
        (each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None
    )
    if own is not None and not fields:
        shown = [f"    {_signature(own)}"]
    head = f"class {node.name}{f'({bases})' if bases else ''}:"
    return "\n".join([head, *shown] if shown else [f"{head} ..."])


def _is_public(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) and not target.id.startswith("_")


def _signature(node: ast.FunctionDef) -> str:
    """As in a stub, on one line or with one argument a line."""
    end = f"){f' -> {ast.unparse(node.returns)}' if node.returns else ''}: ..."
    arguments = [each.replace("'", '"') for each in _arguments(node.args)]
    line = f"def {node.name}({', '.join(arguments)}{end}"
    if len(line) <= _WIDE:
        return line
    return "\n".join([f"def {node.name}(", *(f"    {each}," for each in arguments), end])


def _call(method: Any) -> str:
    """What a method takes and returns, without the object itself."""
    node = ast.parse(textwrap.dedent(inspect.getsource(method))).body[0]
    assert isinstance(node, ast.FunctionDef)  # noqa: S101 - a method is nothing else
    node.args.args = node.args.args[1:]
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"({', '.join(_arguments(node.args))}){returns}".replace("'", '"')


def _arguments(given: ast.arguments) -> list[str]:
    """Each argument with its kind and default, and the signs between them."""
    positional = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(positional) - len(given.defaults)) + list(given.defaults)
    shown = [_argument(*pair) for pair in zip(positional, defaults, strict=True)]
    if given.posonlyargs:
        shown.insert(len(given.posonlyargs), "/")
    if given.vararg:
        shown.append(f"*{ast.unparse(given.vararg)}")
    elif given.kwonlyargs:
        shown.append("*")
    shown += [_argument(*pair) for pair in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    return shown + ([f"**{ast.unparse(given.kwarg)}"] if given.kwarg else [])


def _argument(given: ast.arg, default: ast.expr | None) -> str:
    return ast.unparse(given) + ("" if default is None else f" = {ast.unparse(default)}")


def _members(thing: type) -> list[str]:
    """The public methods and properties of a class itself, with the first lines of their docstrings."""
    rows = []
    for name, member in vars(thing).items():
        plain = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        plain = getattr(plain, "fget", None) or getattr(plain, "func", None) or plain
        if name.startswith("_") or not inspect.isfunction(plain) or not plain.__doc__:
            continue
        call = "" if isinstance(member, property) or hasattr(member, "func") else _call(plain)
        rows.append(f"- `{name}{call}`: {inspect.getdoc(plain).splitlines()[0]}")  # type: ignore[union-attr]  # it has one
    return ["\n".join(rows)] if rows else []


def _told(doc: str, home: ModuleType) -> Iterator[str]:
    """A docstring: its prose as it is, each example as a block."""
    told: list[str] = []
    for piece in doctest.DocTestParser().parse(doc):
        if isinstance(piece, str):
            told += [piece] if piece.strip() else []
        elif told and told[-1].startswith(">>> "):
            told[-1] += _example(piece)
        else:
            told.append(_example(piece))
    examples = "".join(each for each in told if each.startswith(">>> "))
    needed = "".join(f">>> {line}\n" for line in _imports(examples, home))
    for each in told:
        if each.startswith(">>> "):
            yield f"```pycon\n{needed}{each}\n```"
            needed = ""
        else:
            yield each.strip("\n").rstrip()


def _example(piece: doctest.Example) -> str:
    first, *rest = piece.source.rstrip("\n").split("\n")
    lines = [f">>> {first}", *(f"... {line}".rstrip() for line in rest)]
    wanted = (piece.exc_msg and f"Traceback (most recent call last):\n{piece.exc_msg}") or piece.want
    return "\n".join([*lines, *wanted.rstrip("\n").split("\n")] if wanted else lines) + "\n"


def _imports(examples: str, home: ModuleType) -> list[str]:
    """What an example takes from the module that it stands in."""
    tree = ast.parse(
        "\n".join(example.source for example in doctest.DocTestParser().get_examples(examples))
    )
    named = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    bound = {node.id for node in named if isinstance(node.ctx, ast.Store)} | set(_defined(tree))
    free = sorted({node.id for node in named} - bound - set(vars(builtins)))
    return sorted(_import(name, home) for name in free if hasattr(home, name))


def _defined(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)


def _import(name: str, home: ModuleType) -> str:
    thing = getattr(home, name)
    if isinstance(thing, ModuleType):
        return f"import {thing.__name__}" + ("" if thing.__name__ == name else f" as {name}")
    if name in import_module("tarry").__all__:
        return f"from tarry import {name}"
    place = getattr(thing, "__module__", None) or home.__name__
    is_there = hasattr(import_module(place), name) and getattr(import_module(place), name) is thing
    return f"from {place if is_there else home.__name__} import {name}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
