"""`manage.py evaluate`: how well recall finds what answers questions whose answers are known."""

import argparse
import json
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from access.errors import LociError
from access.tokens import operator
from loci_site.evaluation.ablation import TrialSet, ablate, cross_validate, gather_trials
from loci_site.evaluation.abstention import judge_all
from loci_site.evaluation.cached_database import cached_database, fingerprint
from loci_site.evaluation.metrics import Scores
from loci_site.evaluation.run import ModeReport, QuerySet, read_queries, run_queries, store_corpus
from loci_site.evaluation.tables import Measurements, as_text, write_between_marks
from loci_site.evaluation.vector_cache import CachedEncoder, VectorCache
from memories.embedding import Encoder, get_encoder, model_status
from memories.recall.fusion import MODES
from sources.importing.texts import CORPUS

MODEL_WAIT_S: Final = 60.0
CACHE: Final = Path("cache") / "vectors.bin"
STORES: Final = Path("cache") / "evaluation"
COLUMNS: Final = ["R@1", "R@5", "R@10", "R@20", "H@1", "H@5", "H@10", "A@10", "MRR", "nDCG@10"]
EXAMPLES: Final = """\
examples:
  manage.py evaluate my_set                        the mode of the settings
  manage.py evaluate my_set --mode all             every mode, side by side
  manage.py evaluate my_set --mode hybrid keyword --json
  manage.py evaluate my_set --mode rrf --run rrf.json
  manage.py evaluate my_set --mode all --interval  with 95 % intervals over the questions
  manage.py evaluate sets/* --ablate --json        what each step of recall brings
  manage.py evaluate sets/* --folds 5              its numbers chosen anew on four fifths of the groups
  manage.py evaluate sets/* --abstain              how often it says that it knows nothing
  manage.py evaluate sets/* --everywhere           each question asked in all groups of its set at once
  manage.py evaluate sets/* --write-docs docs/recall.md   all of it, into the page's tables

The folder has corpus.jsonl, lines of {id, text, group, timestamp, session}, and queries.jsonl, lines of
{id, text, group, category, relevant: [ids]}. Both go through a database of their own; the store is not touched.
A question without an answer has relevant: []. It is left out and counted; --abstain judges whether recall says that it knows
nothing. So it does with the questions of files queries_*.jsonl beside it, which look answerable and are not, whatever
their relevant names. An id in relevant that no line of the corpus has counts as not found, and is counted as well.
Vectors and the filled databases are kept in LOCI_HOME/cache, so that a second run takes seconds.
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
        parser.add_argument("dir", type=Path, nargs="+", help="the folder, or several")
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
        parser.add_argument("--interval", action="store_true", help="add 95 %% intervals (bootstrap)")
        parser.add_argument("--ablate", action="store_true", help="what each step of recall brings")
        parser.add_argument("--folds", type=_count, help="cross-validate recall's numbers over groups")
        parser.add_argument(
            "--everywhere", action="store_true", help="what asking in all groups at once loses"
        )
        parser.add_argument("--abstain", action="store_true", help="questions that have no answer")
        parser.add_argument(
            "--write-docs", type=Path, metavar="FILE", help="measure all, and write the tables into FILE"
        )
        parser.add_argument("--json", action="store_true", help="answer as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        wanted = _wanted(options)
        if options["run"] and (len(wanted.modes) != 1 or len(options["dir"]) > 1):
            raise CommandError("--run writes the rankings of one mode and one folder: name one.")
        try:
            findings = _measure(options["dir"], wanted)
            if options["write_docs"]:
                write_between_marks(options["write_docs"], findings.tables())
        except LociError as error:
            if options["json"]:
                self.stdout.write(json.dumps(error.as_dict()))
            raise CommandError(str(error)) from error
        if options["run"]:
            [[report]] = findings.modes.values()
            options["run"].write_text(json.dumps(report.run), encoding="utf-8")
        if options["json"]:
            self.stdout.write(json.dumps(findings.as_dict(with_intervals=wanted.with_intervals)))
        else:
            self.stdout.write(_as_text(findings, with_intervals=wanted.with_intervals))


@dataclass(frozen=True)
class EvaluationPlan:
    """What is to be measured."""

    modes: list[str]
    split: str
    limit: int | None
    folds: int
    with_intervals: bool
    with_ablation: bool
    with_abstention: bool
    with_everywhere: bool


def _wanted(options: dict[str, Any]) -> EvaluationPlan:
    is_all = bool(options["write_docs"])
    other = options["ablate"] or options["folds"] or options["abstain"] or options["everywhere"]
    modes = ["all"] if is_all else options["mode"]
    return EvaluationPlan(
        # Asked for something else alone, the modes are not measured beside it.
        modes=[] if other and not modes else _modes(modes),
        split=options["split"],
        limit=options["limit"],
        folds=options["folds"] or (5 if is_all else 0),
        with_intervals=options["interval"] or is_all,
        with_ablation=options["ablate"] or is_all,
        with_abstention=options["abstain"] or is_all,
        with_everywhere=options["everywhere"] or is_all,
    )


def _measure(folders: list[Path], wanted: EvaluationPlan) -> Measurements:
    read = [(folder, read_queries(folder, split=wanted.split, limit=wanted.limit)) for folder in folders]
    encoder = get_encoder(timeout_s=MODEL_WAIT_S)
    model = f"{encoder.model_id} {model_status().precision}"
    cached = CachedEncoder(encoder, VectorCache(settings.LOCI.home / CACHE), model=model)
    findings, trials = Measurements(), []
    with Bars() as bars:
        for folder, queries in read:
            mark = fingerprint(folder / CORPUS, model)
            name = folder.absolute().name
            fill_it = partial(store_corpus, operator(), folder, encoder=cached, progress=bars.show)
            with cached_database(settings.LOCI.home / STORES, name, mark, fill_it):
                trials.append(_measure_one(findings, folder, queries, wanted, cached, bars))
        if wanted.folds:
            findings.folds = cross_validate(trials, folds=wanted.folds, progress=bars.show)
    return findings


def _measure_one(
    findings: Measurements,
    folder: Path,
    queries: QuerySet,
    wanted: EvaluationPlan,
    encoder: Encoder,
    bars: "Bars",
) -> TrialSet:
    """Measure what the store of one set is needed for; give its questions for what is not."""
    actor, name = operator(), folder.absolute().name
    findings.questions[name] = queries
    ask = partial(run_queries, actor, queries.answerable, encoder=encoder, progress=bars.show)
    if wanted.modes:
        findings.modes[name] = [ask(mode=mode) for mode in wanted.modes]
    if wanted.with_everywhere:
        mode = settings.LOCI.retrieval.mode
        findings.scopes[name] = (ask(mode=mode), ask(mode=mode, is_everywhere=True))
    if wanted.with_abstention:
        findings.judgements[name] = judge_all(actor, folder, queries, encoder=encoder, progress=bars.show)
    if not (wanted.with_ablation or wanted.folds):
        return TrialSet(name, ())
    trials = gather_trials(actor, name, queries.answerable, encoder=encoder, progress=bars.show)
    if wanted.with_ablation:
        findings.gains[name] = ablate(trials, progress=bars.show)
    return trials


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


def _as_text(findings: Measurements, *, with_intervals: bool) -> str:
    tables = findings.tables()
    if not with_intervals:
        tables.pop("intervals", None)
    tables.pop("modes", None)  # told in full below
    reports = [(name, report) for name, own in findings.modes.items() for report in own]
    several = len(findings.modes) > 1
    full = [
        (f"{name}\n" if several else "") + _table(report, with_intervals=with_intervals)
        for name, report in reports
    ]
    told = [*full, *(f"{name}\n{as_text(rows)}" for name, rows in tables.items())]
    return "\n\n".join([*told, *findings.left_out()])


def _table(report: ModeReport, *, with_intervals: bool) -> str:
    lines: dict[str, Scores] = {"all": {**report.scores, "n": len(report.times_ms)}, **report.categories}
    width = max(len(report.mode), len("95 % from"), *map(len, lines))
    head = f"{report.mode:<{width}} {'n':>6}" + "".join(f"{column:>9}" for column in COLUMNS)
    rows = [
        f"{name:<{width}} {int(scores['n']):>6}" + "".join(f"{scores[column]:>9.4f}" for column in COLUMNS)
        for name, scores in lines.items()
    ]
    if with_intervals:
        bounds = report.intervals()
        for name, at in (("95 % from", 0), ("95 % to", 1)):
            rows.append(f"{name:<{width}} {'':>6}" + "".join(f"{bounds[c][at]:>9.4f}" for c in COLUMNS))
    ms = report.as_dict()["ms"]
    return "\n".join([head, *rows, f"per question: p50 {ms['p50']} ms, p95 {ms['p95']} ms"])
