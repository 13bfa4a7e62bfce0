"""Fixtures of all tests; `tests/settings.py` has created the home folder before."""

import gc
import os
import shutil
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from pytest_django import DjangoDbBlocker

from tests.emptying import empty_only_what_tests_fill
from tests.fresh_homes import migrated
from tests.postgres import copy_template
from tests.settings import HOME, IS_ENCRYPTED, IS_POSTGRES, MODELS

WEIGHTS = MODELS.parent / "weights"
ON_SQLITE, ON_PLAIN = "of SQLite alone: ", "of a plain store alone: "
# Set by .ci/run: a machine that must run everything shall not pass because something was left out.
NO_SKIP = os.environ.get("LOCI_TEST_NO_SKIP") == "1"

# What tests start as a process of its own runs with the real settings, in the same home.
os.environ["DJANGO_SETTINGS_MODULE"] = "loci_site.settings"


@pytest.fixture(autouse=True)
def no_waiting_recalls() -> Iterator[None]:
    """Recalls that one test did not write must not be written in the next, whose groups are others."""
    yield
    # Not imported for a test that does not need Django.
    if counting := sys.modules.get("memories.recall_log"):
        counting.COUNTER._pending.clear()


@pytest.fixture(scope="session")
def weights() -> Path:
    """A folder with the two published files: fetched once for this checkout, as an installation would."""
    # Not imported for a test that does not need Django.
    from memories.embedding.install import locked_folder
    from memories.embedding.install.sources import SourceFailed, default_sources
    from memories.embedding.manifest import TOKENIZER_FILE, WEIGHTS_FILE

    WEIGHTS.mkdir(parents=True, exist_ok=True)
    with locked_folder(WEIGHTS):
        reasons = []
        for source in default_sources(WEIGHTS / ".download", hub=True):
            if (WEIGHTS / WEIGHTS_FILE).is_file() and (WEIGHTS / TOKENIZER_FILE).is_file():
                return WEIGHTS
            try:
                source.fetch(WEIGHTS, lambda there, total: None)
            except SourceFailed as error:
                reasons.append(str(error))
    if not (WEIGHTS / WEIGHTS_FILE).is_file():
        pytest.skip(f"the published weights cannot be fetched: {' '.join(reasons)}")
    return WEIGHTS


@pytest.fixture(scope="session")
def django_db_keepdb(django_db_modify_db_settings: None) -> bool:
    """Put a copy of the migrated tables in the place of this process's database, and say that it is to be used."""
    name = connection.settings_dict["TEST"]["NAME"]
    if IS_POSTGRES:
        copy_template(name)
    else:
        shutil.copy(migrated(), name)
        empty_only_what_tests_fill()
    return True


@pytest.fixture(scope="module")
def shared_rows(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """A transaction around the tests of a file that share a store, written once by a fixture of the file.

    Each test still rolls back what it did itself. None of them may be marked `django_db(transaction=True)`.
    """
    block = transaction.atomic()
    block._from_testcase = True  # type: ignore[attr-defined]  # as around a single test
    with django_db_blocker.unblock(), block:
        yield
        transaction.set_rollback(True)


@pytest.fixture
def home() -> Path:
    """LOCI_HOME of this test process."""
    return HOME


@pytest.hookimpl(optionalhook=True)  # without pytest-xdist there is no such hook
def pytest_xdist_auto_num_workers() -> int:
    """One more than the cores, since some tests wait; each process collects all tests itself, which a core does in 10 s."""
    return min((os.cpu_count() or 1) + 1, 9)


# What takes long begins first, the longest before all, so that at the end no worker waits for another's one long file.
# Browsers and small proofs come after: their first files wait for a home that one worker makes.
LONG = (
    "/server/test_hostile_folder",
    "/guard/test_every_face",
    "/server/test_celery",
    "/memories/test_changes",
    "/test_wheel",
    "/test_matrix",
    "/browser/",
    "/server/",
    "/test_round_trip",
    "/test_visibility",
    "/test_deletion",
)


# Collecting makes millions of objects that stay; looking through them again and again took a third of its time.
gc.disable()


def pytest_collection_finish() -> None:
    """Leave what was collected out of later searches for garbage, which come seldom: they took a tenth of a run."""
    gc.freeze()
    gc.set_threshold(50_000)
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put long files first, and in a file what begins with empty tables; leave out what cannot run here."""
    twice = [name for name, count in Counter(item.nodeid for item in items).items() if count > 1]
    if twice:  # pytest-xdist runs one of them and says nothing of the others
        raise pytest.UsageError(f"More than one test has the id {twice[0]}.")
    paths = sorted(dict.fromkeys(item.path for item in items), key=_place_of_long)
    files = {path: number for number, path in enumerate(paths)}
    items.sort(key=lambda item: (files[item.path], "shared_rows" in getattr(item, "fixturenames", ())))
    if IS_ENCRYPTED:
        skip_marked(items, "plain", ON_PLAIN)
    if IS_POSTGRES:
        skip_marked(items, "sqlite", ON_SQLITE)
    else:
        others = [item for item in items if item.get_closest_marker("postgresql")]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]
    if MODELS.is_dir() and any(MODELS.iterdir()):
        return
    missing = pytest.mark.skip(reason=f"the model is not in {MODELS}: run `make test` once")
    for item in items:
        if item.get_closest_marker("model"):
            item.add_marker(missing)


def _place_of_long(path: Path) -> int:
    """The file's place in LONG; behind it for all others."""
    return next((place for place, part in enumerate(LONG) if part in path.as_posix()), len(LONG))


def skip_marked(items: list[pytest.Item], name: str, why: str) -> None:
    """Skip the tests with this mark; each mark has its reason."""
    for item in items:
        if mark := item.get_closest_marker(name):
            item.add_marker(pytest.mark.skip(reason=f"{why}{mark.kwargs['reason']}"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List what a run on PostgreSQL or on an encrypted store left out, by reason."""
    for why, title in ((ON_SQLITE, "on SQLite alone"), (ON_PLAIN, "on a plain store alone")):
        reasons = Counter(
            str(report.longrepr[2]).partition(why)[2]
            for report in terminalreporter.getreports("skipped")
            if isinstance(report.longrepr, tuple) and why in str(report.longrepr[2])
        )
        if reasons:
            terminalreporter.section(title)
        for reason, count in sorted(reasons.items()):
            terminalreporter.line(f"{count:5} {reason}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skipped test into a failed one under LOCI_TEST_NO_SKIP=1."""
    report = yield
    if (
        NO_SKIP
        and report.skipped
        and not hasattr(report, "wasxfail")
        and not any(why in str(report.longrepr) for why in (ON_SQLITE, ON_PLAIN))
    ):
        _fail(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn a skipped file into a failed one under LOCI_TEST_NO_SKIP=1."""
    report = yield
    if NO_SKIP and report.skipped:
        _fail(report)
    return report


def _fail(report: Any) -> None:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
    report.outcome = "failed"
    report.longrepr = f"nothing may be skipped in this run, but this was: {reason}"
