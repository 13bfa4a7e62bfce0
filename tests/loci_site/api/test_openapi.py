"""The OpenAPI document tells the truth, and nothing that it allows or forbids breaks the application."""

from collections.abc import Iterator
from html.parser import HTMLParser

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from django.test import Client
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance

from tests.loci_site.api.conftest import Caller
from tests.loci_site.api.document import document
from tests.sizes import IS_WHOLE, part

pytestmark = [pytest.mark.django_db, pytest.mark.model]
DOCUMENT = document()
CHECKS = (not_a_server_error, response_schema_conformance, content_type_conformance)
SMALL = settings(
    max_examples=5 if IS_WHOLE else 2,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
METHODS = {"get", "post", "patch", "delete"}
OPERATIONS = [
    f"{method.upper()} /api{path.removeprefix('/api')}"
    for path, operations in DOCUMENT["paths"].items()
    for method in operations
    if method in METHODS
]
CHOSEN = part(OPERATIONS, 6)
PAIRING = "/api/pair"  # a code in the body is its secret


@pytest.fixture
def one_connection() -> Iterator[None]:
    """Requests leave the test's connection open, as they do under Django's own test client."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def document(request: pytest.FixtureRequest, one_connection: None) -> BaseSchema:
    """The document as the application serves it."""
    request.node._nodeid = request.node.nodeid  # schemathesis 4.32 reads it, pytest 9.2 has it no more
    return schemathesis.openapi.from_wsgi("/api/openapi.json", get_wsgi_application())


schema = schemathesis.pytest.from_fixture("document").include(
    lambda context: context.operation.label in CHOSEN
)
asked: set[str] = set()


# One test with a subtest for each operation: pytest 9.2 gives tests that schemathesis makes itself one id, of which
# pytest-xdist runs one.
@schema.parametrize()
@SMALL
def test_whatever_is_sent_is_answered_as_documented(case: schemathesis.Case, owner: Caller) -> None:
    asked.add(case.operation.label)
    response = case.call(headers={"Authorization": f"Bearer {owner.secret}"})
    case.validate_response(response, checks=CHECKS)


def test_every_chosen_operation_was_asked() -> None:
    assert len(OPERATIONS) >= 59
    assert asked == set(CHOSEN)


def test_without_a_valid_token_every_address_answers_401(nobody: Caller) -> None:
    for path, operations in DOCUMENT["paths"].items():
        if path == PAIRING:
            continue
        for method in METHODS & set(operations):
            address = path.removeprefix("/api").replace("{", "").replace("}", "")
            for nobody.secret in ("", "loci_broken"):
                assert nobody.send(method, address, status=401)["code"] == "not_authenticated"


class Loaded(HTMLParser):
    """Collects what a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]


def test_the_page_of_documents_loads_nothing_from_elsewhere(client: Client) -> None:
    page = client.get("/api/docs").content.decode()
    loaded = Loaded()
    loaded.feed(page)
    assert len(loaded.addresses) >= 3
    for address in loaded.addresses:
        assert address.startswith(("/static/ninja/", "/static/loci/", "/admin/")), address
        assert client.get(address).status_code == (302 if address == "/admin/" else 200)
    assert "<title>Loci REST API</title>" in page
    # The page's own script would else ask a public service to check the document.
    assert '"validatorUrl": null' in page


def test_the_root_leads_to_the_documents(client: Client) -> None:
    assert client.get("/api/")["Location"] == "/api/docs"
    assert client.get("/api/openapi.json").json()["info"]["title"] == "Loci"


def test_every_operation_says_what_it_does_and_needs() -> None:
    operations = [op for path in DOCUMENT["paths"].values() for op in path.values()]
    assert len(operations) >= 31
    for operation in operations:
        assert operation["description"]
        ways = [next(iter(way)) for way in operation.get("security", ())]
        if "captures" in operation["tags"]:  # a browser extension's alone; pairing has its secret in the body
            assert ways == ["ExtensionToken"] or operation is DOCUMENT["paths"][PAIRING]["post"]
        else:
            assert ways == ["Token", "Session"]
        assert {400, 401, 403, 404, 413, 422} <= {int(status) for status in operation["responses"]}
