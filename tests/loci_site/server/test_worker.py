"""The worker's queue: folders readable by their owner only, or Redis if configured."""

from dataclasses import replace
from pathlib import Path

from pytest_django import Settings

from loci_site.worker import broker_settings
from loci_site.worker.process import create_queue_folders, worker_options


def test_the_queue_is_for_its_owner_alone(settings: Settings, tmp_path: Path) -> None:
    settings.LOCI = replace(settings.LOCI, home=tmp_path / "home")
    create_queue_folders()
    made = [tmp_path / "home" / "queue" / name for name in (".", "messages", "control")]
    assert [folder.stat().st_mode & 0o777 for folder in made] == [0o700, 0o700, 0o700]


def test_without_redis_the_queue_is_files_in_the_home(tmp_path: Path) -> None:
    options = broker_settings(tmp_path, "")["broker_transport_options"]
    assert options["data_folder_in"] == str(tmp_path / "queue" / "messages")
    assert options["control_folder"] == str(tmp_path / "queue" / "control")


def test_redis_is_taken_where_it_is_set(tmp_path: Path) -> None:
    assert broker_settings(tmp_path, "redis://localhost:6379/0") == {"broker_url": "redis://localhost:6379/0"}


def test_the_worker_brings_the_clock_and_no_second_process_for_the_work() -> None:
    options = worker_options()
    assert "-B" in options
    assert options[options.index("--pool") + 1] == "threads"
