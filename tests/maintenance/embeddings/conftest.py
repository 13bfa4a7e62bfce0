"""A home with models of the test's own."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from django.db import connection
from pytest_django import Settings

from memories.embedding.loader import choose_model, model_folder
from memories.models import IndexState
from memories.search.schema import remake_vector_tables


@pytest.fixture
def home(tmp_path: Path, settings: Settings) -> Iterator[Path]:
    """A home whose models are the test's own, and MiniLM."""
    minilm = model_folder(settings.LOCI.home).path
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / minilm.name).symlink_to(minilm)
    settings.LOCI = replace(settings.LOCI, home=tmp_path)
    yield tmp_path
    # The next test finds empty tables, as wide as they were.
    choose_model(model_folder(tmp_path, minilm.name))
    IndexState.objects.all().delete()
    remake_vector_tables(connection)
