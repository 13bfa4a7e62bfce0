"""The packages in clients/: the client fits the API, and neither side imports the other. `make clients` runs their own tests."""

import ast
import sys
import tomllib
from pathlib import Path

import pytest

from bench import client
from storage.version import __version__
from tests.architecture import LAYERS
from tests.loci_site.api.document import document
from tests.settings import REPOSITORY

CLIENTS = REPOSITORY / "clients"
PACKAGES = {
    folder.parent.name: tomllib.loads(folder.read_text(encoding="utf-8"))["project"]
    for folder in sorted(CLIENTS.glob("*/pyproject.toml"))
}


def test_the_client_is_what_the_generator_writes_for_the_api() -> None:
    assert client.FILE.read_text(encoding="utf-8") == client.render(document()), (
        "run 'python -m bench.client'"
    )


def imported(path: Path) -> set[str]:
    """The packages that a file imports."""
    nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return {name.partition(".")[0] for name in names}


def files_of(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((REPOSITORY / folder).rglob("*.py"))]


def test_neither_side_imports_the_other() -> None:
    ours = {name.replace("-", "_") for name in (project["name"] for project in PACKAGES.values())}
    assert len(ours) == 3
    server = {*LAYERS, "bench", "tests", "django"}
    assert not [path for path in files_of("clients") if imported(path) & server]
    assert not [path for path in files_of(*LAYERS) if imported(path) & ours]


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_imports_what_it_requires(name: str) -> None:
    needs = {
        "python": {"httpx", "pydantic"},
        "anthropic-tool": {"anthropic", "loci_team_memory_client"},
        "langgraph-store": {"langgraph", "loci_team_memory_client"},
    }[name]
    folder = PACKAGES[name]["name"].replace("-", "_")
    outside = set[str]().union(*map(imported, files_of(f"clients/{name}/{folder}")))
    assert outside - set(sys.stdlib_module_names) - {folder} == needs
    required = {
        each.partition(">")[0].partition("=")[0].replace("-", "_") for each in PACKAGES[name]["dependencies"]
    }
    assert {each.removesuffix("_checkpoint") for each in required} == needs


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_has_the_servers_version(name: str) -> None:
    assert PACKAGES[name]["version"] == __version__
    for each in PACKAGES[name]["dependencies"]:
        minor = ".".join(__version__.split(".")[:2])
        assert not each.startswith("loci-") or each == f"loci-team-memory-client=={minor}.*"
