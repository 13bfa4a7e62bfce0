"""Backups that were made to do harm are refused in a sentence, and nothing of them stays."""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from access.errors import InvalidInput, Unavailable
from access.tokens import operator
from maintenance.backups import archive, make_backup
from maintenance.backups.folder import backups_folder
from maintenance.backups.restore import preview_restore, restore_backup
from memories.models import Memory
from memories.search.base import search_index
from tests.maintenance.backups.forgeries import BOMB_BYTES, FORGERIES, forgeries
from tests.maintenance.folders import empty_folder

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.sqlite(reason="forged database files"),
    pytest.mark.plain(reason="forged manifests"),
]
Remember = Callable[..., Memory]


@pytest.fixture(autouse=True)
def no_backups() -> Iterator[None]:
    empty_folder(backups_folder())
    yield
    empty_folder(backups_folder())


def everything() -> set[Path]:
    """All files of the home, and those in the folder for temporary files."""
    home = Path(settings.LOCI.home)
    folders = (home, home / "keys", home / "backups", Path(tempfile.gettempdir()))
    return {path for folder in folders for path in folder.iterdir()}


def test_each_is_refused_and_leaves_nothing(
    remember: Remember, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Not the folder of the whole machine, where other test processes work.
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    remember("The port is 8081")
    good = make_backup(operator(), to=tmp_path / "good.zip").path
    remember("The owner is Dana")
    before = everything()
    written: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda handle: written.append(os.fstat(handle).st_size))
    tried = []
    for name, path in forgeries(good, tmp_path):
        tried.append(name)
        if name != "more memories":  # counted once the copy is migrated
            with pytest.raises((InvalidInput, Unavailable)):
                preview_restore(operator(), path)
        with pytest.raises((InvalidInput, Unavailable)) as refusal:
            restore_backup(operator(), path)
        assert path.name in str(refusal.value) or "copy" in str(refusal.value), name
        left = {path for path in everything() - before if not path.name.startswith(("before-restore", "."))}
        assert left == set(), name
    assert tried == list(FORGERIES)
    assert max(written) < BOMB_BYTES  # what is too large is not unpacked
    assert sorted(Memory.objects.values_list("content", flat=True)) == [
        "The owner is Dana",
        "The port is 8081",
    ]
    assert search_index().find_errors() == []
    monkeypatch.undo()
    restore_backup(operator(), good)
    assert Memory.objects.get().content == "The port is 8081"


def test_the_command_says_it_without_a_traceback(remember: Remember, tmp_path: Path) -> None:
    remember("The port is 8081")
    good = make_backup(operator(), to=tmp_path / "good.zip").path
    for name, path in forgeries(good, tmp_path):
        if name in ("damaged pages", "no database"):
            with pytest.raises(CommandError, match=r"cannot be used|is damaged"):
                call_command("restore", str(path), "--dry-run")


def test_a_backup_that_does_not_fit_the_disk_is_refused_before_it_is_unpacked(
    remember: Remember, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember("The port is 8081")
    good = make_backup(operator(), to=tmp_path / "good.zip").path
    real = archive.shutil.disk_usage
    monkeypatch.setattr(archive.shutil, "disk_usage", lambda path: real(path)._replace(free=1000))
    with pytest.raises(Unavailable, match="the disk has less"):
        preview_restore(operator(), good)
