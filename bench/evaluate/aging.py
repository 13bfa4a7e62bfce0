"""What a caller receives after cycles: a store grows older, week by week, and the same questions are asked again."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.conf import settings
from django.db import connections
from django.utils import timezone

from access.tokens import operator
from bench.evaluate.metrics import Scores
from bench.evaluate.question_files import Query
from bench.evaluate.run import Progress, run_queries
from bench.evaluate.scratch_database import use_database
from maintenance.cycle import RunPlan, run_cycle
from memories.embedding import Encoder
from memories.models import Memory
from memories.types import State


@dataclass(frozen=True)
class AgedReport:
    """After `cycles` weekly cycles: the scores of the rankings and of what a caller receives, and the share of live rows."""

    cycles: int
    scores: Scores
    received: Scores
    unanswered: float
    live: float

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {
            "cycles": self.cycles,
            "all": self.scores,
            "received": {**self.received, "nothing": self.unanswered},
            "live": self.live,
        }


def run_cycles(
    queries: Sequence[Query], counts: Sequence[int], *, encoder: Encoder, progress: Progress
) -> list[AgedReport]:
    """Ask before the first and after each of these numbers of cycles, in a copy of the current database."""
    with TemporaryDirectory(prefix="loci-aged-") as folder:
        copy = Path(folder) / "aged.db"
        shutil.copy(connections["default"].settings_dict["NAME"], copy)
        with use_database(copy):
            done, reports = 0, []
            for count in (0, *counts):
                while done < count:
                    done += 1
                    run_cycle(operator(), RunPlan(now=timezone.now() + timedelta(weeks=done)))
                    progress("cycle", done)
                reports.append(_ask(queries, done, encoder=encoder, progress=progress))
            return reports


def _ask(queries: Sequence[Query], done: int, *, encoder: Encoder, progress: Progress) -> AgedReport:
    mode = settings.LOCI.retrieval.mode
    report = run_queries(operator(), queries, mode=mode, encoder=encoder, progress=progress)
    live = Memory.objects.filter(state=State.LIVE, summary=None).count() / max(1, Memory.objects.count())
    return AgedReport(done, report.scores, report.received, report.unanswered, round(live, 4))
