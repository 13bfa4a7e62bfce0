"""Security headers of every response, and the settings that https enables."""

import os
import subprocess
import sys

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.people import alice
from tests.settings import REPOSITORY

__all__ = ["alice"]
HEADER = "Content-Security-Policy"


def directives(policy: str) -> dict[str, list[str]]:
    parts = [part.split() for part in policy.split(";")]
    return {part[0]: part[1:] for part in parts}


@pytest.mark.parametrize("address", ["/admin/", "/admin/memories/memory/", "/admin/access/apitoken/add/"])
def test_a_page_loads_nothing_from_elsewhere_and_runs_no_inline_script(alice: User, address: str) -> None:
    owner = Client()
    owner.force_login(alice)
    page = owner.get(address)
    policy = directives(page[HEADER])
    assert policy["default-src"] == ["'none'"]
    assert policy["script-src"] == ["'self'", "'unsafe-eval'"]
    assert policy["frame-ancestors"] == policy["base-uri"] == ["'none'"]
    assert policy["form-action"] == policy["connect-src"] == ["'self'"]
    text = page.content.decode()
    assert "<script>" not in text
    assert "onclick=" not in text
    assert "http://" not in text.replace("http://www.w3.org", "").replace("http://testserver", "").replace(
        "http://127.0.0.1", ""
    )


@pytest.mark.parametrize("address", ["/api/groups", "/health", "/api/openapi.json", "/mcp"])
def test_data_may_load_nothing_at_all(db: None, address: str) -> None:
    assert Client().get(address)[HEADER] == "default-src 'none'; frame-ancestors 'none'"


def test_the_documentation_page_needs_no_eval(db: None) -> None:
    assert directives(Client().get("/api/docs")[HEADER])["script-src"] == ["'self'"]


@pytest.mark.parametrize("is_https", [True, False])
def test_deployment_over_https_passes_djangos_own_check(tmp_path: object, is_https: bool) -> None:
    public = "https://loci.example" if is_https else "http://loci.example"
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("LOCI_", "DJANGO_"))
    } | {"LOCI_HOME": str(tmp_path), "LOCI_PUBLIC_URL": public}
    done = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert (done.returncode == 0) is is_https, done.stderr
    assert ("SESSION_COOKIE_SECURE" in done.stderr) is not is_https
