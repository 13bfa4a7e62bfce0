"""`manage.py evaluate`: how well recall finds what answers questions whose answers are known."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from access.errors import LociError
from access.tokens import operator
from loci_site.scratch import scratch_database
from memories.embedding import get_encoder
from memories.recall.fusion import MODES
from sources.evaluation import ModeReport, Query, ask_all, fill, read_queries
from sources.metrics import Scores
from sources.vector_cache import CachedEncoder, VectorCache

MODEL_WAIT_S: Final = 60.0
CACHE: Final = Path("cache") / "vectors.bin"
COLUMNS: Final = ["R@1", "R@5", "R@10", "R@20", "H@1", "H@5", "H@10", "A@10", "MRR", "nDCG@10"]
EXAMPLES: Final = """\
examples:
  manage.py evaluate my_set                        the mode of the settings
  manage.py evaluate my_set --mode all             every mode, side by side
  manage.py evaluate my_set --mode hybrid keyword --json
  manage.py evaluate my_set --mode rrf --run rrf.json

The folder has corpus.jsonl, lines of {id, text, group, timestamp, session}, and queries.jsonl, lines of
{id, text, group, category, relevant: [ids]}. Both go through a scratch database; the store is not touched.
Vectors are kept in LOCI_HOME/cache, so that a second run takes seconds.
R@k: share of the right ones among the first k. H@k: any of them. A@k: all of them. The time is that of search and
ranking, without embedding the question.
"""


class Command(BaseCommand):
    """Parses, fills a scratch database, asks, renders."""

    help = "Measure recall on a folder of texts and questions whose answers are known."
    requires_system_checks = []  # the store is not used

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        parser.add_argument("dir", type=Path, help="the folder")
        parser.add_argument(
            "--mode",
            nargs="+",
            choices=[*MODES, "all"],
            metavar="MODE",
            help=f"of {', '.join(MODES)}, or all; default: the setting retrieval.mode",
        )
        parser.add_argument(
            "--split", default="", help="only the questions that split.json lists by this name"
        )
        parser.add_argument("--limit", type=_count, help="only the first so many questions")
        parser.add_argument("--run", type=Path, metavar="FILE", help="write the rankings: {question: [ids]}")
        parser.add_argument("--json", action="store_true", help="answer as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        modes = _modes(options["mode"])
        if options["run"] and len(modes) > 1:
            raise CommandError("--run writes the rankings of one mode: name one.")
        try:
            queries = read_queries(options["dir"], split=options["split"], limit=options["limit"])
            reports = _measure(options["dir"], queries, modes)
        except LociError as error:
            if options["json"]:
                self.stdout.write(json.dumps(error.as_dict()))
            raise CommandError(str(error)) from error
        if options["run"]:
            options["run"].write_text(json.dumps(reports[0].run), encoding="utf-8")
        self.stdout.write(_as_json(reports) if options["json"] else _as_text(reports))


def _measure(folder: Path, queries: list[Query], modes: list[str]) -> list[ModeReport]:
    actor = operator()
    encoder = get_encoder(timeout_s=MODEL_WAIT_S)
    cached = CachedEncoder(encoder, VectorCache(settings.LOCI.home / CACHE))
    with scratch_database(), Bars() as bars:
        fill(actor, folder, encoder=cached, progress=bars.show)
        cached.encode([query.text for query in queries])
        return [ask_all(actor, queries, mode=mode, encoder=cached, progress=bars.show) for mode in modes]


class Bars:
    """A counter on stderr for each thing that goes on, only where somebody looks at it."""

    def __init__(self) -> None:
        self._bar: tqdm[Any] | None = None
        self._name = ""

    def __enter__(self) -> "Bars":
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def show(self, name: str, done: int) -> None:
        """Draw how much of `name` is done."""
        if self._bar is None or name != self._name:
            self.__exit__()
            self._bar, self._name = tqdm(desc=name, file=sys.stderr, disable=None, leave=False), name
        self._bar.update(done - self._bar.n)


def _modes(asked: list[str] | None) -> list[str]:
    if not asked:
        return [settings.LOCI.retrieval.mode]
    return list(MODES) if "all" in asked else list(dict.fromkeys(asked))


def _count(text: str) -> int:
    try:
        count = int(text)
    except ValueError:
        count = 0
    if count < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of questions")
    return count


def _as_json(reports: list[ModeReport]) -> str:
    return json.dumps({report.mode: report.as_dict() for report in reports})


def _as_text(reports: list[ModeReport]) -> str:
    return "\n\n".join(_table(report) for report in reports)


def _table(report: ModeReport) -> str:
    lines: dict[str, Scores] = {"all": {**report.scores, "n": len(report.times_ms)}, **report.categories}
    width = max(len(report.mode), *map(len, lines))
    head = f"{report.mode:<{width}} {'n':>6}" + "".join(f"{column:>9}" for column in COLUMNS)
    rows = [
        f"{name:<{width}} {int(scores['n']):>6}" + "".join(f"{scores[column]:>9.4f}" for column in COLUMNS)
        for name, scores in lines.items()
    ]
    ms = report.as_dict()["ms"]
    return "\n".join([head, *rows, f"per question: p50 {ms['p50']} ms, p95 {ms['p95']} ms"])
