"""The matrix covers everything that Loci offers, and nothing else."""

import json
import re
from collections.abc import Iterator

import pytest
from asgiref.sync import async_to_sync
from django.core.management import get_commands
from django.urls import URLPattern, URLResolver, get_resolver

from access.actor import CURATE, WRITE, Via
from access.tokens import operator
from bench.reference.errors import PACKAGES
from loci_site.mcp.tools import TOOLS
from loci_site.oauth.urls import urlpatterns as oauth_patterns
from maintenance.schedule import JOBS
from memories.lifecycle.verbs import Face, offered_by
from tests.access.matrix import PLACES, read_matrix
from tests.access.rights_page import PAGE, rights_page
from tests.loci_site.api.document import document
from tests.mcp_server import client_of

OURS = (*PACKAGES, "loci_site.hooks")
# The right that a rule of the matrix demands in the memory's group.
RIGHTS = {
    "memory-write": WRITE,
    "memory-curate": CURATE,
    "person-curate": CURATE,
    "person-verify": CURATE,
}
# Django's admin makes these for each model; what each model's own pages say of them is tested by rule.
EACH_MODEL = ("changelist", "add", "history", "delete", "change")


def declared(kind: str) -> set[str]:
    return {face.declared for face in read_matrix().of(kind)}


def routes(resolver: URLResolver, before: str = "") -> Iterator[str]:
    for pattern in resolver.url_patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield route
        else:
            yield from routes(pattern, route)


def test_every_operation_of_rest_is_in_the_matrix() -> None:
    paths = document()["paths"]
    offered = {
        f"{method.upper()} {path.removeprefix('/api')}"
        for path, methods in paths.items()
        for method in methods
    }
    assert declared("rest") == offered


def test_every_tool_resource_and_prompt_is_in_the_matrix() -> None:
    async def listed() -> tuple[set[str], set[str]]:
        async with client_of(operator(Via.MCP)) as client:
            templates = (await client.list_resource_templates()).resource_templates
            prompts = (await client.list_prompts()).prompts
            return {template.uri_template for template in templates}, {prompt.name for prompt in prompts}

    resources, prompts = async_to_sync(listed)()
    assert (declared("tool"), declared("resource"), declared("prompt")) == (set(TOOLS), resources, prompts)


def test_every_verb_of_rest_is_in_the_matrix_with_its_right() -> None:
    rules = {face.name.rpartition("/")[2]: face.rule for face in read_matrix().of("rest")}
    rules = {name.removeprefix("{verb=").removesuffix("}"): rule for name, rule in rules.items()}
    for name, verb in offered_by(Face.REST).items():
        assert name in rules, f"matrix.txt has no line for the verb '{name}' over REST"
        assert RIGHTS[rules[name]] == verb.right, name


def test_every_verb_of_agents_is_in_the_matrix_with_its_right() -> None:
    faces = [face for face in read_matrix().of("tool") if face.name == "forget_memory"]
    rules = {json.loads(face.sent).get("verb", "forget"): face.rule for face in faces}
    for name, verb in offered_by(Face.AGENTS).items():
        assert name in rules, f"matrix.txt has no line for forget_memory with the verb '{name}'"
        assert RIGHTS[rules[name]] == verb.right, name


def in_order(route: str) -> str:
    """The route with the app names in order: Django lists them in the order in which their admin modules were imported."""
    return re.sub(r"(?<=<app_label>)[\w|]+", lambda names: "|".join(sorted(names[0].split("|"))), route)


def test_every_page_is_in_the_matrix() -> None:
    """REST has its own list; OAuth's URLs exist only if OAuth is enabled."""
    found = map(in_order, routes(get_resolver("loci_site.urls")))
    every = {route for route in found if not route.startswith("api/m")}
    site = {
        route for route in every if not route.startswith("api/") or route in ("api/docs", "api/openapi.json")
    }
    oauth = {str(pattern.pattern) for pattern in oauth_patterns}
    assert set(map(in_order, declared("page"))) == site | oauth


def test_every_command_is_in_the_matrix() -> None:
    assert declared("command") == {name for name, app in get_commands().items() if app in OURS}


def test_every_job_is_in_the_matrix() -> None:
    assert declared("job") == {job.name for job in JOBS}


def test_every_rule_that_is_named_is_explained() -> None:
    matrix = read_matrix()
    ruled = {rule for rule, _ in matrix.outcomes}
    assert {face.rule for face in matrix.of("rest", "tool", "resource", "prompt")} <= ruled
    assert ruled <= {face.rule for face in matrix.faces}
    assert {place for _, place in matrix.outcomes} <= set(PLACES)


def test_a_face_that_is_not_listed_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TOOLS, "new_tool", TOOLS["store_memory"])
    assert declared("tool") != set(TOOLS)


def test_the_reference_page_is_that_of_the_matrix() -> None:
    assert PAGE.read_text(encoding="utf-8") == rights_page(), "python -m tests.access.rights_page writes it"
