"""The log file: text or JSON, rotated while several processes write to it, and made by the server alone."""

import json
import logging
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import settings

from loci_site.config import load_config
from loci_site.config.logs import (
    SERVING_VARIABLE,
    JsonLine,
    RotatingFile,
    file_handler,
    line_format,
    logging_settings,
)  # fmt: skip
from tests.guard.samples import secret_samples
from tests.settings import REPOSITORY

WRITER = """
import logging, sys
from pathlib import Path
from loci_site.config.logs import RotatingFile
logger = logging.getLogger("writer")
logger.addHandler(RotatingFile(Path(sys.argv[1]), max_bytes=2_000, kept=50))
for number in range(300):
    logger.warning("%s %03d", sys.argv[2], number)
"""


def record(message: str, **more: object) -> logging.LogRecord:
    return logging.makeLogRecord({"msg": message, "levelname": "INFO", "name": "maintenance", **more})


def test_no_line_is_lost_while_three_processes_share_and_rotate_the_file(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "loci.log"
    command = [sys.executable, "-c", WRITER, str(path)]
    writers = [subprocess.Popen([*command, name], cwd=REPOSITORY) for name in ("a", "b", "c")]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    files = list(path.parent.glob("loci.log*"))
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    assert sorted(lines) == [f"{name} {number:03d}" for name in "abc" for number in range(300)]
    assert len(files) > 2
    assert all(file.stat().st_size < 2_200 for file in files)
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


def test_only_so_many_old_files_are_kept(tmp_path: Path) -> None:
    handler = RotatingFile(tmp_path / "loci.log", max_bytes=10, kept=2)
    for number in range(5):
        handler.emit(record(f"line number {number}"))
    handler.close()
    assert {path.name: path.read_text() for path in tmp_path.glob("loci.log*")} == {
        "loci.log.1": "line number 4\n",
        "loci.log.2": "line number 3\n",
    }


def test_json_has_a_line_for_each_record_with_its_traceback() -> None:
    try:
        raise ValueError("too\nlong")
    except ValueError:
        line = JsonLine().format(record("It failed:\n%s", args=("née",), exc_info=sys.exc_info(), process=7))
    assert "\n" not in line
    found = json.loads(line)
    assert (found["level"], found["logger"], found["process"]) == ("INFO", "maintenance", 7)
    assert found["message"] == "It failed:\nnée"
    assert found["error"].endswith("ValueError: too\nlong")
    assert found["time"].endswith("+00:00")


def test_a_command_writes_no_log_file_and_the_server_does(tmp_path: Path) -> None:
    config = load_config({"LOCI_HOME": str(tmp_path), "LOCI_SERVER_LOG_FILE_MB": "1"})
    assert [*logging_settings(config, {})["handlers"]] == ["stderr"]
    assert logging_settings(config, {SERVING_VARIABLE: "1"})["root"]["handlers"] == ["stderr", "file"]
    off = replace(config, server=replace(config.server, log_file_mb=0))
    assert [*logging_settings(off, {SERVING_VARIABLE: "1"})["handlers"]] == ["stderr"]
    assert not (tmp_path / "logs").exists()  # it opens with the first line
    assert Path(file_handler(config).baseFilename) == tmp_path / "logs" / "loci.log"
    assert SERVING_VARIABLE not in os.environ
    assert [*settings.LOGGING["handlers"]] == ["stderr"]


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_line_holds_a_secret(form: str) -> None:
    token = secret_samples()["github-token"]
    try:
        raise ValueError(f"no such key: {token}")
    except ValueError:
        failed = record("Not Found: %s", args=(f"/api/memories/{token}",), exc_info=sys.exc_info())
    line = line_format(form).format(failed)
    assert token not in line
    assert line.count("[github-token:masked]") >= 2
    assert "Not Found: /api/memories/[github-token:masked]" in line
    plain = record("cycle: 01a20c6a-d200-712c-86bd-3a7d82669c89, loci-20261124T071739Z-9cce.zip")
    assert plain.getMessage() in line_format(form).format(plain)
