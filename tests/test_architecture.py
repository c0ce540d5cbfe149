"""The house is as docs/architecture.md draws it, and its rules hold in the source.

Each rule has a table of what still breaks it. The tables are to be emptied: nothing may be added to them.
"""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "tarry"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
TREES = {
    str(path.relative_to(SOURCE)): ast.parse(path.read_text(encoding="utf-8"))
    for path in sorted(SOURCE.rglob("*.py"))
}


def cases(*names):
    """Each once."""
    return list(dict.fromkeys(names))


def section(title):
    """The text below a heading, up to the next one."""
    return re.split(r"^## ", PAGE.partition(f"\n## {title}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def pictures(text):
    """The blocks of a text."""
    return re.findall(r"^```text\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def rows(text):
    """The cells of a table's rows, without its header."""
    lines = [line.strip(" |").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [line for line in lines[1:] if not line[0].startswith("---")]


def quoted(text):
    """What stands in backquotes, with `<name>` for any name."""
    return [each.replace("<name>", "*") for each in re.findall(r"`([^`]+)`", text)]


def is_path(text):
    return "/" in text and " " not in text and "." not in text.partition("/")[0]


def paths_of(text):
    """The files of the source that a path of the page stands for; a folder stands for all below it."""
    if text.startswith(("examples", "proofs", "src", "tests")):
        return list(ROOT.glob(text))
    if not text.endswith("/"):
        return [path for path in SOURCE.glob(text) if path.is_file()]
    return [file for folder in SOURCE.glob(text) if folder.is_dir() for file in folder.rglob("*.py")]


def defines(tree, name):
    """Whether a module defines a function, a class, a method (`Class.method`) or a value."""
    first, _, method = name.partition(".")
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                return True
        elif isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == first:
            return not method or any(
                isinstance(each, ast.FunctionDef) and each.name == method for each in node.body
            )
    return False


# --- the page ---------------------------------------------------------------------------------------

ROOMS = [
    room
    for line in pictures(section("Rooms"))[0].splitlines()
    for room in re.split(r"\s{2,}", line.strip())[0].split(" | ")
]
WAYS = {
    title: section(title)
    for title in ("The way of one act", "The way of a history", "The way of a request")
}
STEPS = [
    f"{name} in {quoted(where)[0]}"
    for text in WAYS.values()
    for step, _, where in rows(text)
    for name in quoted(step)
]
PATHS = [text for text in quoted(re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)) if is_path(text)]
LINKS = [text.removeprefix("../src/tarry/") for text in re.findall(r"\]\((\.\./src/[^)]+)\)", PAGE)]
TABLES = re.findall(r"`([A-Z]+)` in `([^`]+)`", section("Where to add what"))
FUNCTIONS = ["draw_pair", "release_ticks", "plan_release"]


@pytest.mark.parametrize("room", cases(*ROOMS))
def test_every_room_is_there(room):
    assert (SOURCE / room / "__init__.py").exists()


def test_there_is_no_other_room():
    found = {path.parent.name for path in SOURCE.glob("*/__init__.py")}

    assert found <= set(ROOMS)


@pytest.mark.parametrize("title", WAYS)
def test_the_steps_of_the_picture_are_those_of_the_table(title):
    picture = [step.strip() for step in pictures(WAYS[title])[0].splitlines()[0].split("──")]
    table = [name for step, _, _ in rows(WAYS[title]) for name in step.replace("`", "").split(", ")]

    assert [step for step in picture if step != "Post"] == table


@pytest.mark.parametrize("step", cases(*STEPS))
def test_every_step_is_where_the_page_says(step):
    name, _, where = step.partition(" in ")
    trees = [TREES[str(path.relative_to(SOURCE))] for path in paths_of(where)]
    if "*" in where:  # one in each place
        method = name.partition(".")[2]
        assert trees
        assert all(f"def {method}(" in ast.unparse(tree) for tree in trees)
    else:
        assert any(defines(tree, name) for tree in trees)


@pytest.mark.parametrize("path", cases(*PATHS, *LINKS))
def test_every_file_is_there(path):
    assert paths_of(path)


@pytest.mark.parametrize("entry", cases(*(f"{name} in {path}" for name, path in TABLES)))
def test_every_table_of_names_is_there(entry):
    name, _, path = entry.partition(" in ")

    assert defines(TREES[path], name)


@pytest.mark.parametrize("name", cases(*FUNCTIONS))
def test_the_one_rule_is_in_one_file(name):
    """What is simulated and what runs call these; `plan_release` has a file of its own."""
    where = [path for path, tree in TREES.items() if defines(tree, name)]

    assert where == ["core/plan_release.py" if name == "plan_release" else "core/release.py"]


@pytest.mark.parametrize("name", cases("tarry.audit", "tarry.testing"))
def test_what_others_call_is_there(name):
    import tarry

    attribute = name.partition(".")[2]
    assert attribute in tarry.__all__ or any(SOURCE.glob(f"{attribute}*"))


#: Folders that Django looks for, below one that the page names.
DJANGO = "gateway/middleware/django_app"


def test_every_folder_is_on_the_page():
    """A folder inside a room is a room too: the page says what it is for."""
    folders = {str(path.parent.relative_to(SOURCE)) for path in SOURCE.glob("*/*/**/__init__.py")}
    named = {text.rstrip("/") for text in PATHS if text.endswith("/")}
    drawn = {path for path in folders if path.startswith(("places/", DJANGO))}

    assert folders - drawn == named & folders


# --- one class name, one meaning --------------------------------------------------------------------

#: Names that two classes have, and why that is so for good.
FOR_GOOD = {"Command": "Django looks for a class of this name"}


def shared_names():
    """The public class names that several modules define."""
    homes = defaultdict(list)
    for path, tree in TREES.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(path)
    return {name for name, paths in homes.items() if len(paths) > 1}


def test_one_class_name_is_used_once():
    assert shared_names() <= set(FOR_GOOD)


# --- nobody probes ----------------------------------------------------------------------------------

#: Classes with a method `show`: what people do about their times.
PRACTICES = {
    node.name
    for path, tree in TREES.items()
    if path.startswith("study/")
    for node in ast.walk(tree)
    if isinstance(node, ast.ClassDef)
    and any(isinstance(each, ast.FunctionDef) and each.name == "show" for each in node.body)
}


def calls(tree, *names):
    """The calls of these functions."""
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names
    ]


def test_nobody_probes_an_outlet():
    """What an outlet can do, its class says."""
    probes = [
        f"{path}: {ast.unparse(call)}"
        for path, tree in TREES.items()
        for call in calls(tree, "getattr", "hasattr")
        if "outlet" in ast.unparse(call.args[0]).lower()
    ]

    assert probes == []


def test_the_practices_are_found():
    assert {"Practice", "Replay"} <= PRACTICES


def practices_asked(tree):
    """Where a module asks whether something is a certain practice."""
    return [
        ast.unparse(call)
        for call in calls(tree, "isinstance")
        if PRACTICES & {node.id for node in ast.walk(call.args[1]) if isinstance(node, ast.Name)}
    ]


def test_nobody_asks_what_a_practice_is():
    """A practice answers for its own promise, ledger and notes."""
    assert {path for path, tree in TREES.items() if practices_asked(tree)} == set()


def test_spark_is_named_in_its_folder_alone():
    """Whoever has no Spark never meets it; the command says which extra a package belongs to."""
    naming = {path for path, tree in TREES.items() for name in imports(tree) if name.startswith("pyspark")}

    assert {path for path in naming if not path.startswith("study/parts/spark/")} == set()


def imports(tree):
    """The modules that a file imports, by a statement or by a function."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (each.name for each in names)
            case ast.ImportFrom(module=str(module)):
                yield module
            case ast.Call(func=ast.Name(id="import_module"), args=[ast.Constant(value=str(module)), *_]):
                yield module


def test_the_import_of_spark_is_seen():
    """Else the test above would show nothing."""
    assert any(name.startswith("pyspark") for name in imports(TREES["study/parts/spark/session.py"]))


# --- rows by name ------------------------------------------------------------------------------------

ANSWERS = {"fetchone", "fetchmany", "fetchall", "one", "all"}


def is_answer(node):
    """Whether an expression is what a database answers: by its call, or by its name."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in ANSWERS
        case ast.Name(id=name):
            return name in {"row", "rows"}
    return False


def positions(tree):
    """Where a column of an answer is taken by its place; a row of one column has only the first."""
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=value, slice=ast.Constant(value=int(place))):
                if place and is_answer(value):
                    yield ast.unparse(node)
            case ast.Assign(targets=[ast.Tuple()], value=value) | ast.For(target=ast.Tuple(), iter=value):
                if is_answer(value):
                    yield ast.unparse(node).partition("\n")[0]
            case ast.comprehension(target=ast.Tuple(), iter=value):
                if is_answer(value):
                    yield ast.unparse(node)


def test_no_row_of_a_store_is_read_by_position():
    """What a store answers is read by the names of its columns, into small records."""
    rooms = ("keep/", "gateway/", "console/", "cli/", "places/")
    found = {path: list(positions(tree)) for path, tree in TREES.items() if path.startswith(rooms)}

    assert {path: texts for path, texts in found.items() if texts} == {}


@pytest.mark.parametrize(
    ("code", "number"),
    [
        ("state = row[1]", 1),
        ("release, parent = cursor.fetchone()", 1),
        ("for release, parent in transaction.all('due'): pass", 1),
        ("due = [release for release, parent in rows]", 1),
        ("state = row['state']", 0),
        ("version = cursor.fetchone()[0]", 0),
    ],
)
def test_a_column_by_position_is_found(code, number):
    assert len(list(positions(ast.parse(code)))) == number


# --- nothing is read out of a message ----------------------------------------------------------------

MESSAGES = {"problem", "sentence"}


def is_message(node, errors):
    """Whether an expression is the text of an error: `str(error)`, or a value called so."""
    match node:
        case ast.Call(func=ast.Name(id="str"), args=[ast.Name(id=name)]):
            return name in errors
        case ast.Attribute(value=ast.Name(id=name), attr=attribute):
            return attribute in {*MESSAGES, "message", "detail"} or (name in errors and attribute == "args")
        case ast.Name(id=name):
            return name in MESSAGES
    return False


def is_text(node):
    """Whether an expression is a text that stands in the code: a constant, or one by its name."""
    match node:
        case ast.Constant(value=str()):
            return bool(node.value)
        case ast.Name(id=name):
            return name.isupper()
    return isinstance(node, ast.JoinedStr)


def decisions(tree):
    """Where the text of a message is compared with a text, or searched for one."""
    errors = {node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler) and node.name}
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[right]):
                if is_message(right, errors):
                    yield ast.unparse(node)
            case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[right]):
                if (is_message(left, errors) and is_text(right)) or (
                    is_message(right, errors) and is_text(left)
                ):
                    yield ast.unparse(node)
            case ast.Call(
                func=ast.Attribute(value=value, attr="startswith" | "endswith" | "find" | "index")
            ):
                if is_message(value, errors):
                    yield ast.unparse(node)


def test_no_decision_reads_a_message():
    found = {path: list(decisions(tree)) for path, tree in TREES.items()}

    assert {path: texts for path, texts in found.items() if texts} == {}


@pytest.mark.parametrize(
    ("code", "number"),
    [
        ("try:\n    do()\nexcept OSError as error:\n    late = 'too late' in str(error)", 1),
        ("lost = any(word in post.problem for word in LOST)", 1),
        ("if problem == LOST: pass", 1),
        ("if row.problem.startswith('lost'): pass", 1),
        ("if problem is None: pass", 0),
        ("if 'x' in str(number): pass", 0),
    ],
)
def test_a_decision_on_a_message_is_found(code, number):
    assert len(list(decisions(ast.parse(code)))) == number


# --- the tables -------------------------------------------------------------------------------------
