"""A small instance: what a started Loci takes, next to a bare process that loads Django and the encoder's library."""

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.fresh_homes import with_tables
from tests.loci_site.server.running import environment, running
from tests.settings import MODELS

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(sys.platform != "linux", reason="memory and processor time are read by Linux's means"),
]
_BARE = f"""
import sys
import django
from django.conf import settings
settings.configure(INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes"])
django.setup()
import django.core.handlers.asgi, django.urls
import numpy, onnxruntime
session = onnxruntime.InferenceSession({str(next(MODELS.glob("*/model.onnx"), ""))!r}, providers=["CPUExecutionProvider"])
ids = numpy.ones((1, 8), dtype=numpy.int64)
session.run(["embedding"], {{"input_ids": ids, "attention_mask": ids}})
print("ready", flush=True)
input()
"""


@pytest.mark.model
def test_all_processes_take_little_more_than_a_bare_one(tmp_path: Path) -> None:
    """Both measured at the same time, so that what else runs slows both down and shares the same libraries."""
    with (
        running(with_tables(tmp_path / "home"), web_processes=0, with_worker=True) as up,
        subprocess.Popen(
            [sys.executable, "-c", _BARE], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as bare,
    ):
        assert bare.stdout is not None
        assert bare.stdout.readline() == b"ready\n"
        while up.health()[1]["checks"]["model"]["detail"] != "loaded":
            time.sleep(0.1)
        web, worker = up.child("server"), up.child("worker")  # one of each
        assert _pss_mb(up.process.pid) < 0.5 * _pss_mb(bare.pid)
        assert _cpu_s(web) < 5 * _cpu_s(bare.pid)
        assert sum(map(_pss_mb, (up.process.pid, web, worker))) < 4 * _pss_mb(bare.pid)
        bare.communicate(b"\n")


@pytest.mark.parametrize(
    ("module", "without"),
    [
        ("loci_site.server.up", ["django.db.models", "numpy", "pydantic", "celery", "uvicorn", "guard"]),
        (
            "loci_site.asgi",
            ["celery", "ninja", "psycopg", "unfold.admin", "loci_site.app.urls", "onnxruntime"],
        ),
        ("loci_site.worker.process", ["uvicorn", "mcp", "ninja", "pydantic", "numpy", "unfold.admin"]),
    ],
)
def test_a_process_imports_only_what_it_needs(tmp_path: Path, module: str, without: Sequence[str]) -> None:
    code = f"import sys, {module}; print(*({set(without)} & {{*sys.modules}}))"
    env = environment(tmp_path)
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def _pss_mb(pid: int) -> float:
    """The memory of a process; what it shares with others counts in parts."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:"))


def _cpu_s(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / 100
