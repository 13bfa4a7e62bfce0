"""Copies that dry runs work on are gone at their end; what a killed one left goes with the next purge."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.conf import settings

from access.tokens import operator
from maintenance.dry_run import Trials, _holding, tried
from memories.lifecycle.verbs import purge
from memories.models import Memory

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
    """A copy as a dry run that was killed leaves it."""
    folder = Path(settings.LOCI.home) / ".trial-left"
    folder.mkdir()
    with _holding(folder):
        (folder / "memory.db").write_text(SECRET)
    return folder


def test_a_purge_removes_the_copy_of_a_dry_run_that_was_killed(remember: Remember, left: Path) -> None:
    done = purge(operator(), remember(SECRET).id)
    assert done.certificate is not None
    assert not left.exists()
    assert done.certificate.remains == ()


def test_a_purge_names_the_copies_that_are_worked_on(remember: Remember, left: Path) -> None:
    with _holding(left):
        done = purge(operator(), remember(SECRET).id)
    assert left.exists()
    assert done.certificate is not None
    assert done.certificate.remains == (
        "copies of the store that dry runs work on may hold it until these end: 1",
    )


def test_a_dry_run_holds_its_copy_as_long_as_it_works() -> None:
    seen = tried(lambda: Trials().clear(frozenset(), ()).remains)
    assert len(seen) == 1
    assert copies() == []


def test_a_folder_that_is_just_being_made_is_left() -> None:
    folder = Path(settings.LOCI.home) / ".trial-new"
    folder.mkdir()
    Trials().clear(frozenset(), ())
    assert folder.exists()
