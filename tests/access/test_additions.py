"""What apps add to packages below them: each dotted name exists, and each kind is asked for."""

import re

import pytest
from django.apps import apps
from django.utils.module_loading import import_string

from bench.proof.proof import REPOSITORY
from maintenance.schedule import JOBS
from tests import architecture

ADDED = [
    (kind, path)
    for config in apps.get_app_configs()
    for kind, paths in getattr(config, "adds", {}).items()
    for path in paths
]


@pytest.mark.parametrize(("kind", "path"), ADDED)
def test_what_an_app_adds_exists(kind: str, path: str) -> None:
    assert import_string(path) is not None


def test_each_kind_is_asked_for() -> None:
    code = "\n".join(source.text for source in architecture.sources(REPOSITORY, folders=architecture.LAYERS))
    asked = {*re.findall(r'additions\(\s*"([^"]+)"', code), "import", "notify", "embed_chunks"}
    assert {kind for kind, _ in ADDED} == asked


def test_the_work_of_each_job_exists() -> None:
    code = (REPOSITORY / "maintenance/schedule/__init__.py").read_text(encoding="utf-8")
    paths = re.findall(r'late\(\s*"([^"]+)"', code)
    assert all(callable(import_string(path)) for path in paths)
    assert {job.name for job in JOBS} >= {"import", "notify", "embed_chunks", "backup"}
