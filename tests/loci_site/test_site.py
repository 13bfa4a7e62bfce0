"""The site as the server runs it: static files, hosts, cookies, logging."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.test import AsyncClient, Client

from loci_site.config import load_config
from tests.settings import REPOSITORY

CSS = "/static/admin/css/base.css"


def test_static_files_come_without_collecting_them(client: Client) -> None:
    answer = client.get(CSS)
    assert (answer.status_code, answer["Content-Type"]) == (200, 'text/css; charset="utf-8"')
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "Access-Control-Allow-Origin" not in answer


async def test_static_files_come_inside_the_event_loop_too(async_client: AsyncClient) -> None:
    answer = await async_client.get(CSS)
    assert answer.status_code == 200
    assert not answer.streaming
    again = await async_client.get(CSS, headers={"If-None-Match": answer["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    head = await async_client.head(CSS)
    assert (head.content, head["Content-Length"]) == (b"", str(len(answer.content)))


def test_the_packages_are_looked_through_once_in_a_process(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.get(CSS)
    monkeypatch.setattr("django.contrib.staticfiles.finders.get_finders", lambda: pytest.fail("again"))
    assert Client().get(CSS).status_code == 200


@pytest.mark.parametrize(
    "path", ["/static/../manage.py", "/static/admin/../../manage.py", "/static/nothing.css"]
)
def test_nothing_else_is_a_static_file(client: Client, path: str) -> None:
    assert client.get(path).status_code == 404


@pytest.mark.parametrize(
    ("host", "status"),
    [("127.0.0.1:8000", 404), ("localhost", 404), ("[::1]:8000", 404), ("evil.example", 400)],
)
def test_only_known_host_names_are_answered(client: Client, host: str, status: int) -> None:
    settings_hosts = [name for name in settings.ALLOWED_HOSTS if name != "testserver"]
    assert "*" not in settings_hosts
    assert client.get("/nothing", headers={"host": host}).status_code == status


def test_a_foreign_host_is_logged_in_one_line(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    client.get("/nothing", headers={"host": "evil.example"})
    (record,) = [record for record in caplog.records if record.name == "django.security.DisallowedHost"]
    assert record.getMessage().startswith("Refused a request for host 'evil.example'")
    assert record.exc_info is None


def ask_settings(home: Path, *names: str, **variables: str) -> dict[str, object]:
    program = "import json, sys, loci_site.settings as s; print(json.dumps({n: getattr(s, n) for n in sys.argv[1:]}))"
    env = {"LOCI_HOME": str(home), "PATH": os.environ["PATH"]} | variables
    done = subprocess.run(
        [sys.executable, "-c", program, *names],
        cwd=REPOSITORY,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_behind_https_cookies_are_secure_and_its_name_is_allowed(tmp_path: Path) -> None:
    names = ("SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "ALLOWED_HOSTS", "CSRF_TRUSTED_ORIGINS")
    found = ask_settings(tmp_path, *names, LOCI_PUBLIC_URL="https://memory.example.org:8443/")
    assert (found["SESSION_COOKIE_SECURE"], found["CSRF_COOKIE_SECURE"]) == (True, True)
    assert found["ALLOWED_HOSTS"] == ["127.0.0.1", "localhost", "::1", "[::1]", "memory.example.org"]
    assert found["CSRF_TRUSTED_ORIGINS"] == ["https://memory.example.org:8443"]


def test_debugging_is_off_unless_asked_for(tmp_path: Path) -> None:
    names = ("DEBUG", "SESSION_COOKIE_SECURE", "DATA_UPLOAD_MAX_MEMORY_SIZE")
    found = ask_settings(tmp_path, *names)
    assert (found["DEBUG"], found["SESSION_COOKIE_SECURE"]) == (False, False)
    body = load_config({"LOCI_HOME": str(tmp_path)}).server.max_body_bytes
    assert found["DATA_UPLOAD_MAX_MEMORY_SIZE"] == body + 65_536
    assert ask_settings(tmp_path, "DEBUG", LOCI_DEBUG="1") == {"DEBUG": True}


def test_a_skipped_test_fails_where_nothing_may_be_skipped(tmp_path: Path) -> None:
    (tmp_path / "test_skip.py").write_text(
        "import pytest\n"
        "def test_runs(): pass\n"
        "def test_skips(): pytest.skip('no reason')\n"
        "@pytest.mark.skipif(True, reason='not here')\ndef test_marked(): pass\n"
        "@pytest.mark.xfail\ndef test_expected(): assert False\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", str(tmp_path / "test_skip.py")]
    outcomes = {}
    for strict in ("0", "1"):
        env = os.environ | {"LOCI_TEST_NO_SKIP": strict}
        done = subprocess.run(command, cwd=REPOSITORY, env=env, capture_output=True, text=True, check=False)
        outcomes[strict] = (done.returncode, done.stdout.strip().splitlines()[-1].rsplit(" in ", 1)[0])
    assert outcomes == {
        "0": (0, "1 passed, 2 skipped, 1 xfailed"),
        "1": (1, "1 failed, 1 passed, 1 xfailed, 1 error"),
    }
