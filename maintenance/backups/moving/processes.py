"""Work on the target in processes of their own: each process of Loci knows one database."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from access.errors import Unavailable
from maintenance.backups.moving.compare import GroupQuestion

DOCTOR = ["-m", "django", "doctor", "--json"]
ANSWERS = ["-c", "import django; django.setup(); from maintenance.backups.moving.answers import main; main()"]
ROOT = Path(__file__).resolve().parents[3]  # where the packages are


def migrate_target(environment: Mapping[str, str]) -> None:
    """Make the tables, or bring them up to date."""
    run(["-m", "django", "migrate", "-v0", "--skip-checks"], environment)


def target_faults(environment: Mapping[str, str]) -> list[str]:
    """What the doctor finds wrong in the target and not in the store."""
    here, there = (wrong_checks(run(DOCTOR, each, may_fail=True)) for each in ({}, environment))
    return [f"{check}: {detail}" for check, detail in there.items() if check not in here]


def wrong_checks(told: str) -> dict[str, str]:
    """The details of the checks that found something wrong."""
    findings = json.loads(told)["findings"]
    return {each["check"]: each["detail"] for each in findings if each["verdict"] == "wrong"}


def overlap_of_answers(questions: Sequence[GroupQuestion], environment: Mapping[str, str]) -> float:
    """The mean share of the memories of the store's answers that the target's have too; 1.0 without questions."""
    if not questions:
        return 1.0
    asked = json.dumps(questions)
    here, there = (json.loads(run(ANSWERS, each, stdin=asked)) for each in ({}, environment))
    shares = [len({*old} & {*new}) / len(old) for old, new in zip(here, there, strict=True) if old]
    return sum(shares) / len(shares) if shares else 1.0


def run(
    arguments: Sequence[str], environment: Mapping[str, str], *, stdin: str = "", may_fail: bool = False
) -> str:
    """The output of a Python process of Loci with these variables; Unavailable if it fails."""
    around: dict[str, Any] = {**os.environ, "DJANGO_SETTINGS_MODULE": "loci_site.settings", **environment}
    done = subprocess.run(  # noqa: S603 - our own interpreter and modules
        [sys.executable, *arguments],
        cwd=ROOT,
        env=around,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode and not may_fail:
        lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise Unavailable(f"The target cannot be used: {lines[-1]}", hint="The store is unchanged.")
    return done.stdout
