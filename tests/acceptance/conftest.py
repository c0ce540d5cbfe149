"""Real servers at the other end of an outlet, for the tests that need one."""

import pytest


@pytest.fixture(scope="session")
def prepared_wiki(tmp_path_factory):
    """A MediaWiki to be copied, made once for each process of tests."""
    from contracts.real_wiki import prepare_wiki

    return prepare_wiki(tmp_path_factory.mktemp("prepared") / "wiki")


@pytest.fixture(scope="session")
def wiki(prepared_wiki, tmp_path_factory):
    """A running MediaWiki that tests share; each has pages of its own."""
    from contracts.real_wiki import Wiki

    with Wiki(prepared_wiki, tmp_path_factory.mktemp("shared") / "wiki") as wiki:
        yield wiki


@pytest.fixture
def own_wiki(prepared_wiki, tmp_path):
    """A running MediaWiki that a test may stop and change."""
    from contracts.real_wiki import Wiki

    with Wiki(prepared_wiki, tmp_path / "wiki") as wiki:
        yield wiki


@pytest.fixture(scope="session")
def prepared_node(tmp_path_factory):
    """A Bitcoin node to be copied, made once for each process of tests."""
    from contracts.real_node import prepare_node

    return prepare_node(tmp_path_factory.mktemp("prepared") / "node")


@pytest.fixture(scope="session")
def node(prepared_node, tmp_path_factory):
    """A running Bitcoin node that tests share; each has transactions of its own."""
    from contracts.real_node import Node

    with Node(prepared_node, tmp_path_factory.mktemp("shared") / "node") as node:
        yield node


@pytest.fixture
def own_node(prepared_node, tmp_path):
    """A running Bitcoin node that a test may stop, with a chain of its own."""
    from contracts.real_node import Node

    with Node(prepared_node, tmp_path / "node") as node:
        yield node
