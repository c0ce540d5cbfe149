"""The public names: every one resolves, says what it is, and ends in an example that runs."""

import ast
import doctest
import inspect
import pkgutil
import subprocess
import sys
from importlib import import_module

import pytest

import tarry
from tarry.cli.main import COMMANDS
from tarry.gateway import bodies
from tarry.study import kernels

MODULES = sorted({"tarry", *(module.name for module in pkgutil.walk_packages(tarry.__path__, "tarry."))})
WITHOUT_NAMES = {
    "tarry.__main__": "runs when started, offers nothing",
    "tarry.cli": "a folder of commands",
    "tarry.core": "a folder of modules",
    "tarry.console": "a folder of pages",
    "tarry.console.audit": "a page",
    "tarry.console.desk": "likewise",
    "tarry.console.own": "likewise",
    "tarry.console.story": "likewise",
    "tarry.console.workbench": "likewise",
    "tarry.gateway": "a folder of modules",
    "tarry.gateway.middleware": "a folder of modules",
    "tarry.gateway.middleware.django_app": "a folder for Django, which looks for commands there",
    "tarry.gateway.middleware.django_app.management": "likewise",
    "tarry.gateway.middleware.django_app.management.commands": "likewise",
    "tarry.gateway.routes": "a folder of addresses",
    "tarry.keep": "a folder of modules",
    "tarry.net": "a folder of modules",
    "tarry.places": "a folder of places",
    "tarry.readers": "a folder of readers",
    "tarry.study": "a folder of modules",
}
REQUEST = "takes a request: the tests of the pages send them"
NEED_A_REQUEST = (
    "pages.error_page",
    "pages.page",
    "pages.read_form",
)
SENT = "its docstring is a sentence of the OpenAPI page, which has examples that are sent"
PROTOCOL = "a protocol: its implementations have examples"
OPTIONS = "options of a command: docs/cli.md is generated from them"
PRINTS = "prints: docs/cli.md and the README show what"
STORE = "opens one's own store: tests/cli and docs/keeper.md show how"
FILE = "reads a file or standard input: docs/cli.md shows how"
COMPILED = "a compiled loop: the examples of tarry.study.pairs run it"
PLACES = [command.place for command in COMMANDS.values()]
COMMAND_MODULES = [place for place in PLACES if ":" not in place]
#: Public names without an example, and why.
WITHOUT_EXAMPLE = {
    **{f"tarry.gateway.bodies.{name}": SENT for name in bodies.__all__ if not name.isupper()},
    **{f"tarry.console.{name}": REQUEST for name in NEED_A_REQUEST},
    "tarry.gateway.middleware.django.call_view": "needs a site: see tests/gateway/middleware",
    "tarry.core.entropy.Entropy": PROTOCOL,
    "tarry.core.lanes.Lanes": PROTOCOL,
    "tarry.core.verify.rules.Rule": PROTOCOL,
    **{f"{module}.add_arguments": OPTIONS for module in COMMAND_MODULES},
    **{f"{module}.run": PRINTS for module in COMMAND_MODULES},
    **{place.replace(":", "."): PRINTS for place in PLACES if ":" in place},
    "tarry.cli.personal_store.add_hand_in": OPTIONS,
    "tarry.cli.personal_store.find_post": STORE,
    "tarry.cli.personal_store.hand_in": STORE,
    "tarry.cli.personal_store.open_gate": STORE,
    "tarry.cli.personal_store.revive_keeper": STORE,
    "tarry.cli.personal_store.see_to_keeper": STORE,
    "tarry.cli.personal_store.print_receipt": PRINTS,
    "tarry.cli.personal_store.wait_for": STORE,
    "tarry.cli.options.config_from": FILE,
    "tarry.cli.space_policy.change_policy_of": PRINTS,
    "tarry.keep.store.Clock": PROTOCOL,
    "tarry.keep.postgres.PostgresStore": "needs a server: tests/keep/test_postgres.py starts one",
    "tarry.keep.postgres_wire.Wire": "likewise",
    "tarry.keep.keys.Seal": PROTOCOL,
    "tarry.keep.store.Store": PROTOCOL,
    "tarry.keep.store.Transaction": PROTOCOL,
    "tarry.cli.options.add_policy": OPTIONS,
    "tarry.cli.season_options.add_blocks": OPTIONS,
    "tarry.cli.season_options.print_frontier": PRINTS,
    "tarry.cli.season_options.print_season": PRINTS,
    "tarry.cli.options.policy_from": FILE,
    "tarry.cli.options.read_policy_path": FILE,
    "tarry.cli.show.print_json": PRINTS,
    "tarry.cli.show.print_sentences": PRINTS,
    "tarry.cli.show.print_table": PRINTS,
    "tarry.cli.show.progress_on_terminal": PRINTS,
    "tarry.cli.history.add_bots": OPTIONS,
    "tarry.cli.history.add_columns": OPTIONS,
    "tarry.cli.history.add_engine": OPTIONS,
    "tarry.cli.history.add_filters": OPTIONS,
    "tarry.cli.history.add_limits": OPTIONS,
    "tarry.cli.history.add_practices": OPTIONS,
    "tarry.cli.history.add_question": OPTIONS,
    "tarry.cli.history.limits_from": OPTIONS,
    "tarry.cli.history.audit_history": FILE,
    "tarry.cli.history.open_columns": FILE,
    "tarry.cli.history.open_table": FILE,
    "tarry.cli.history.practices_from": FILE,
    "tarry.cli.history.question_from": OPTIONS,
    "tarry.cli.outputs.add_report": OPTIONS,
    "tarry.cli.outputs.write_report": "writes files: tests/acceptance/test_report.py opens them",
    "tarry.cli.audit.print_advice": PRINTS,
    "tarry.cli.audit.print_run": PRINTS,
    "tarry.cli.audit.print_right": PRINTS,
    "tarry.cli.outputs.print_notes": PRINTS,
    "tarry.cli.outputs.write_frame": "writes a file: tests/cli/test_simulate.py reads it back",
    **{f"tarry.study.kernels.{loop}": COMPILED for loop in kernels.__all__},
    "tarry.study.limits.Limited": PROTOCOL,
    "tarry.study.parts.slices.keep_columns": "writes files: parts/test_slices.py reads them",
    "tarry.study.attest.boxes.StoryRule": PROTOCOL,
    "tarry.study.attest.interfaces.BlackBox": PROTOCOL,
    "tarry.study.attest.interfaces.NeighbourGenerator": PROTOCOL,
    "tarry.study.attest.interfaces.Region": PROTOCOL,
    "tarry.study.attest.interfaces.Tester": PROTOCOL,
    "tarry.study.attest.regions.Lens": PROTOCOL,
}


def offered():
    """Every function and class that a module offers, once, by the module that defines it."""
    for module in (import_module(name) for name in MODULES if name not in WITHOUT_NAMES):
        for name in module.__all__:
            thing = getattr(module, name)
            if (
                inspect.isclass(thing) or inspect.isfunction(thing)
            ) and thing.__module__ == module.__name__:
                yield f"{module.__name__}.{name}", thing


OFFERED = dict(offered())
HOMES = {name: f"tarry.{home}" for home, names in tarry._HOMES.items() for name in names}


def test_every_exported_name_resolves_and_says_what_it_is():
    """A name of the package is there, and has a docstring."""
    assert [name for name in tarry.__all__ if not inspect.getdoc(getattr(tarry, name))] == []


def test_the_table_of_homes_matches_the_exported_names():
    """Every exported name has a home, and no other name has one."""
    assert sorted(HOMES) == sorted(tarry.__all__)


def test_a_home_offers_its_names():
    """What the package exports is public where it lives."""
    homes = {name: import_module(HOMES[name]) for name in tarry.__all__}

    assert [name for name, home in homes.items() if name not in home.__all__] == []
    assert [name for name, home in homes.items() if getattr(tarry, name) is not getattr(home, name)] == []


def test_type_checkers_see_the_same_names():
    """The imports that only type checkers follow are the exported names, from their homes."""
    tree = ast.parse(inspect.getsource(tarry))
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name: node.module for node in guarded.body for alias in node.names}

    assert seen == HOMES


def test_dir_lists_the_exported_names():
    """Completion offers what is exported."""
    assert dir(tarry) == sorted(tarry.__all__)


def test_an_unknown_name_is_an_attribute_error():
    """A name that does not exist fails as on any module."""
    with pytest.raises(AttributeError, match="module 'tarry' has no attribute 'nothing'"):
        tarry.nothing  # noqa: B018 - asking is the point


def test_importing_the_package_loads_nothing_else():
    """Names are loaded when first used: `import tarry` brings neither the core nor numpy."""
    code = "import sys, tarry; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded = ran.stdout.split()

    assert "tarry" in loaded
    assert not any(name == "numpy" or name.startswith("tarry.") for name in loaded)


def test_every_module_says_what_it_offers():
    """A module has a docstring and a list of its public names, all of which exist."""
    modules = [import_module(name) for name in sorted(set(MODULES) - set(WITHOUT_NAMES))]

    assert [module.__name__ for module in modules if not module.__doc__] == []
    assert [
        f"{module.__name__}.{public}"
        for module in modules
        for public in module.__all__
        if not hasattr(module, public)
    ] == []


def has_no_docstring(thing):
    """Whether a thing has none, or only what a dataclass puts in its place."""
    return not thing.__doc__ or thing.__doc__.startswith(f"{thing.__name__}(")


def ends_in_an_example(thing):
    """Whether the last thing that a docstring says is an example."""
    pieces = doctest.DocTestParser().parse(inspect.getdoc(thing))
    said = [piece for piece in pieces if isinstance(piece, doctest.Example) or piece.strip()]
    return isinstance(said[-1], doctest.Example)


def test_every_public_name_says_what_it_is():
    """A public function or class has a docstring of its own."""
    assert [name for name, thing in OFFERED.items() if has_no_docstring(thing)] == []


def test_every_public_name_ends_in_an_example():
    """The docstring of a public function or class ends in an example, which pytest runs."""
    asked = {name: thing for name, thing in OFFERED.items() if name not in WITHOUT_EXAMPLE}

    assert [name for name, thing in asked.items() if not ends_in_an_example(thing)] == []


def test_nothing_is_excused_in_vain():
    """A name that has gained an example, or has gone, needs no excuse."""
    for name in WITHOUT_EXAMPLE:
        assert ">>>" not in OFFERED[name].__doc__
    assert set(MODULES) >= set(WITHOUT_NAMES)
