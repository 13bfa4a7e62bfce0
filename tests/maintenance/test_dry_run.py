"""A dry run deletes its copy when it ends; the next purge deletes the copy of a killed one."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.conf import settings

from access.tokens import operator
from maintenance.dry_run import DryRunCopies, hold_copy, run_on_copy
from memories.lifecycle.verbs import purge
from memories.models import Memory
from memories.store.places import PurgedTexts
from storage.dialect import dialect

Remember = Callable[..., Memory]
pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "Quokkazebu rides to Xanthippolis"


def copies() -> list[Path]:
    return list(Path(settings.LOCI.home).glob(".trial-*"))


@pytest.fixture(autouse=True)
def no_copies() -> Iterator[None]:
    yield
    for folder in copies():
        shutil.rmtree(folder)


@pytest.fixture
def left() -> Path:
    """The copy of a killed dry run."""
    folder = Path(settings.LOCI.home) / ".trial-left"
    folder.mkdir()
    with hold_copy(folder):
        (folder / "memory.db").write_text(SECRET)
    return folder


def test_a_purge_removes_the_copy_of_a_dry_run_that_was_killed(remember: Remember, left: Path) -> None:
    done = purge(operator(), remember(SECRET).id)
    assert done.certificate is not None
    assert not left.exists()
    assert done.certificate.remains == dialect().purge_leaves


def test_a_purge_reports_copies_in_use(remember: Remember, left: Path) -> None:
    with hold_copy(left):
        done = purge(operator(), remember(SECRET).id)
    assert left.exists()
    assert done.certificate is not None
    assert done.certificate.remains == (
        *dialect().purge_leaves,
        "copies of the store used by dry runs may contain it until those end: 1",
    )


@pytest.mark.sqlite(reason="dry runs on a copy of the database's file")
def test_a_dry_run_holds_its_copy_until_it_ends() -> None:
    seen = run_on_copy(lambda: DryRunCopies().find(PurgedTexts((), ())))
    assert len(seen) == 1
    assert copies() == []


def test_a_folder_that_is_just_being_created_is_left() -> None:
    folder = Path(settings.LOCI.home) / ".trial-new"
    folder.mkdir()
    DryRunCopies().clear(PurgedTexts((), ()), note="")
    assert folder.exists()
