"""`python -m bench.evaluate`: measures recall on questions with known answers."""

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.test.utils import override_settings
from tqdm import tqdm

from access.errors import LociError
from access.tokens import operator
from bench.evaluate.abstention import judge_all
from bench.evaluate.aging import run_cycles
from bench.evaluate.budgets import measure_budgets
from bench.evaluate.cached_database import cached_database, fingerprint
from bench.evaluate.fitting import TrialSet, ablate, fit, gather_trials
from bench.evaluate.layouts import UNITS, open_set
from bench.evaluate.metrics import Scores
from bench.evaluate.question_files import QuerySet
from bench.evaluate.run import ModeReport, run_queries, store_corpus
from bench.evaluate.tables import Measurements, as_text, marked_tables, write_between_marks
from bench.evaluate.vector_cache import CachedEncoder, VectorCache
from guard.judge import JudgeError, JudgeUse, find_judge
from loci_site.config import Config
from memories.embedding import Encoder, get_encoder, model_status
from memories.embedding.manifest import MINILM
from memories.models import Memory
from memories.recall.scoring import MODES
from memories.types import Trust
from sources.importing.importer import CORPUS

MODEL_WAIT_S: Final = 60.0
CACHE: Final = Path("cache") / "vectors.bin"
STORES: Final = Path("cache") / "evaluation"
COLUMNS: Final = ["R@5", "R@10", "R@20", "any@1", "any@5", "any@10", "all@5", "all@10", "MRR", "nDCG@10"]
EXAMPLES: Final = """\
examples:
  python -m bench.evaluate my_set                        the mode of the settings
  python -m bench.evaluate my_set --mode all             every mode, side by side
  python -m bench.evaluate my_set --mode hybrid keyword --json
  python -m bench.evaluate my_set --mode rrf --run rrf.json
  python -m bench.evaluate my_set --mode all --interval  with 95 % intervals over the questions
  python -m bench.evaluate sets/* --ablate --json        the gain of each feature of recall
  python -m bench.evaluate sets/* --fit                  recall's weights fitted anew, and how they carry
  python -m bench.evaluate sets/* --budgets              how much evidence 250 to 4,000 tokens hold
  python -m bench.evaluate sets/* --abstain              how often recall abstains, rightly and wrongly
  python -m bench.evaluate sets/* --judge FOLDER         with a judge of questions and memories, and its time
  python -m bench.evaluate sets/* --everywhere           each question asked in all groups of its set at once
  python -m bench.evaluate sets/* --write-docs docs/dev/recall.md   the tables of the page
  python -m bench.evaluate longmemeval_s.json            LongMemEval as published; --unit turn: its turns
  python -m bench.evaluate locomo10.json                 LoCoMo as published; --unit session: its sessions
  python -m bench.evaluate BEAM/chats/100K               BEAM's conversations of one size
  python -m bench.evaluate longmemeval_s.json --json --each     with a row for each question

A folder of your own has corpus.jsonl, lines of {id, text, group, timestamp, session}, and queries.jsonl, lines of
{id, text, group, category, relevant: [ids], asked}, where `asked` is the day, if not today. They are loaded into a
database of their own; the store is not touched. Each set's figures are printed as soon as it is measured. A line or a
question that cannot be used is left out, counted and named.
A question without an answer has relevant: []. It is only counted; --abstain judges whether recall abstains on it, and on
the questions of files queries_*.jsonl, which look answerable but are not, whatever their `relevant` lists. Ids in
`relevant` that are not in the corpus count as not found; their number is reported.
Vectors and the filled databases are cached in LOCI_HOME/cache, so a second run takes seconds.
"As received" is what a caller gets: at most as many as an answer has, nothing where recall knows of nothing.
R@k: share of the relevant texts among the first k. any@k: at least one of them. all@k: all of them. Times cover search and
ranking without the embedding of the question.
"""


@dataclass(frozen=True)
class EvaluationPlan:
    """The measurements to make."""

    modes: list[str]
    split: str
    limit: int | None
    with_fit: bool
    with_intervals: bool
    with_ablation: bool
    with_abstention: bool
    with_everywhere: bool
    with_budgets: bool
    cycles: tuple[int, ...] = ()
    unit: str = ""
    with_each: bool = False


class Command(BaseCommand):
    """Parses the options, measures on a cached database, renders the results."""

    help = "Measure recall on a folder of texts and questions with known answers."
    requires_system_checks = []  # the store is not used

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        parser.add_argument("dir", type=Path, nargs="+", help="folders, or public benchmarks as published")
        parser.add_argument(
            "--mode",
            nargs="+",
            choices=[*MODES, "all"],
            metavar="MODE",
            help=f"one or more of {', '.join(MODES)}, or all; default: the setting retrieval.mode",
        )
        parser.add_argument("--split", default="", help="only the questions of this split in split.json")
        parser.add_argument("--limit", type=parse_count, help="only the first N questions")
        parser.add_argument("--unit", choices=UNITS, default="", help="one memory of a public benchmark")
        parser.add_argument("--run", type=Path, metavar="FILE", help="write the rankings: {question: [ids]}")
        parser.add_argument("--interval", action="store_true", help="add 95 %% intervals (bootstrap)")
        parser.add_argument("--ablate", action="store_true", help="the gain of each feature of recall")
        parser.add_argument("--fit", action="store_true", help="recall's weights fitted anew on these sets")
        parser.add_argument(
            "--everywhere", action="store_true", help="the loss when all groups are searched at once"
        )
        parser.add_argument(
            "--cycles",
            type=parse_count,
            nargs="+",
            default=[],
            metavar="N",
            help="again after N weekly cycles",
        )
        parser.add_argument(
            "--budgets", action="store_true", help="the evidence in answers of 250 to 4,000 tokens"
        )
        parser.add_argument("--abstain", action="store_true", help="judge questions without an answer")
        parser.add_argument(
            "--judge", metavar="FOLDER", help="with this judge of recall, however long it takes"
        )
        parser.add_argument(
            "--write-docs",
            type=Path,
            metavar="FILE",
            help="measure what FILE has marks for and write the tables into it",
        )
        parser.add_argument(
            "--json", action="store_true", help="print a JSON object for each set, on a line of its own"
        )
        parser.add_argument("--each", action="store_true", help="add a row for each question to the JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        plan = plan_measurements(options)
        if options["run"] and (len(plan.modes) != 1 or len(options["dir"]) > 1):
            raise CommandError("--run writes the rankings of one mode and one folder: name one of each.")
        findings = Measurements()
        try:
            with override_settings(LOCI=_with_judge(settings.LOCI, options["judge"])):
                for name, found in measure(options["dir"], plan):
                    self.show(name, found, plan, is_json=options["json"])
                    findings.add(found)
            if options["write_docs"]:
                write_between_marks(options["write_docs"], findings.tables())
        except LociError as error:
            if options["json"]:
                self.stdout.write(json.dumps(error.as_dict()))
            raise CommandError(str(error)) from error
        if options["run"]:
            [[report]] = findings.modes.values()
            options["run"].write_text(json.dumps(report.run), encoding="utf-8")

    def show(self, name: str, found: Measurements, plan: EvaluationPlan, *, is_json: bool) -> None:
        """Print the measurements of a set as soon as it is done, so that a later fault loses nothing."""
        if is_json:
            told = found.as_dict(with_intervals=plan.with_intervals, with_each=plan.with_each)
            self.stdout.write(json.dumps({"set": name} | told))
        else:
            self.stdout.write(render_text(found, name=name, with_intervals=plan.with_intervals) + "\n")
        self.stdout.flush()


def _with_judge(config: Config, folder: str | None) -> Config:
    """The settings with this folder as the judge of recall, without a limit of time; without any other judge."""
    folders = (f"{JudgeUse.RECALL}={folder}",) if folder else ()
    try:
        find_judge(folders, JudgeUse.RECALL, MODEL_WAIT_S)
    except JudgeError as error:
        raise CommandError(f"--judge: {error.__cause__ or error}") from None
    return replace(config, judges=replace(config.judges, folders=folders, recall_ms=60_000))


def plan_measurements(options: dict[str, Any]) -> EvaluationPlan:
    """The plan that the command's options ask for; --write-docs measures what the file has marks for."""
    marked = marked_tables(options["write_docs"]) if options["write_docs"] else frozenset()

    def is_wanted(option: str, *tables: str) -> bool:
        return bool(options[option]) or not marked.isdisjoint(tables)

    special = {
        "with_fit": is_wanted("fit", "weights", "fit"),
        "with_ablation": is_wanted("ablate", "ablation"),
        "with_abstention": is_wanted("abstain", "abstention", "unrelated", "separation"),
        "with_everywhere": is_wanted("everywhere", "everywhere"),
        "with_budgets": is_wanted("budgets", "budgets"),
    }
    requested = ["all"] if marked & {"modes", "intervals"} else options["mode"]
    modes: list[str] = []
    if requested:
        modes = list(MODES) if "all" in requested else list(dict.fromkeys(requested))
    # A special measurement alone measures no mode too.
    elif "received" in marked or not any(special.values()):
        modes = [settings.LOCI.retrieval.mode]
    return EvaluationPlan(
        modes=modes,
        split=options["split"],
        limit=options["limit"],
        with_intervals=is_wanted("interval", "intervals"),
        cycles=tuple(sorted(options["cycles"])) or ((1, 5, 20) if "cycles" in marked else ()),
        unit=options["unit"],
        with_each=options["each"],
        **special,
    )


def measure(paths: list[Path], plan: EvaluationPlan) -> Iterator[tuple[str, Measurements]]:
    """Name and measurements of each set, in a database filled from its corpus; at the end those of all together."""
    with TemporaryDirectory(prefix="loci-sets-") as work, closing(Bars()) as bars:
        read = [
            open_set(path, Path(work), unit=plan.unit, split=plan.split, limit=plan.limit) for path in paths
        ]
        encoder = get_encoder(timeout_s=MODEL_WAIT_S)
        model = f"{encoder.model_id} {model_status().precision}"
        width, file = encoder.model.width, settings.LOCI.home / CACHE
        file = file if width == MINILM.width else file.with_suffix(f".{width}")
        cached = CachedEncoder(encoder, VectorCache(file, width), model=model)
        trials = []
        for folder, queries in read:
            mark = fingerprint(folder / CORPUS, model)
            name, findings = folder.absolute().name, Measurements()
            fill_it = partial(store_corpus, operator(), folder, encoder=cached, progress=bars.show)
            with cached_database(settings.LOCI.home / STORES, name, mark, fill_it):
                trials.append(measure_set(findings, folder, queries, plan, cached, bars))
                if plan.cycles:
                    findings.cycles[name] = run_cycles(
                        queries.answerable, plan.cycles, encoder=cached, progress=bars.show
                    )
            bars.close()
            yield name, findings
        if plan.with_fit:
            yield "all sets", Measurements(fit=fit(trials, progress=bars.show))


def measure_set(
    findings: Measurements,
    folder: Path,
    queries: QuerySet,
    plan: EvaluationPlan,
    encoder: Encoder,
    bars: "Bars",
) -> TrialSet:
    """Add to `findings` what needs the database of this set. Returns its trials for the cross-validation."""
    actor, name = operator(), folder.absolute().name
    held = Memory.objects.filter(trust=Trust.QUARANTINED).count()
    findings.questions[name] = replace(queries, held=held)
    ask = partial(run_queries, actor, queries.answerable, encoder=encoder, progress=bars.show)
    if plan.modes:
        findings.modes[name] = [ask(mode=mode) for mode in plan.modes]
    if plan.with_everywhere:
        mode = settings.LOCI.retrieval.mode
        findings.scopes[name] = (ask(mode=mode), ask(mode=mode, is_everywhere=True))
    if plan.with_budgets:
        findings.budgets[name] = measure_budgets(
            actor, queries.answerable, encoder=encoder, progress=bars.show
        )
    if plan.with_abstention:
        findings.judgements[name] = judge_all(actor, folder, queries, encoder=encoder, progress=bars.show)
    if not (plan.with_ablation or plan.with_fit):
        return TrialSet(name, ())
    trials = gather_trials(actor, name, queries.answerable, encoder=encoder, progress=bars.show)
    if plan.with_ablation:
        findings.gains[name] = ablate(trials, progress=bars.show)
    return trials


class Bars:
    """A progress bar on stderr for one task at a time, only on a terminal."""

    def __init__(self) -> None:
        self._bar: tqdm[Any] | None = None
        self._name = ""

    def close(self) -> None:
        """Take the bar off the terminal."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def show(self, name: str, done: int) -> None:
        """Show that `done` steps of the task `name` are done."""
        if self._bar is None or name != self._name:
            self.close()
            self._bar, self._name = tqdm(desc=name, file=sys.stderr, disable=None, leave=False), name
        self._bar.update(done - self._bar.n)


def parse_count(text: str) -> int:
    """A positive integer from the command line."""
    try:
        count = int(text)
    except ValueError:
        count = 0
    if count < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return count


def render_text(findings: Measurements, *, name: str, with_intervals: bool) -> str:
    """The findings of a set as text tables; the modes in full, with their categories."""
    tables = findings.tables()
    if not with_intervals:
        tables.pop("intervals", None)
    tables.pop("modes", None)  # replaced by the full tables below
    reports = [report for own in findings.modes.values() for report in own]
    full = [render_report(report, with_intervals=with_intervals) for report in reports]
    parts = [*full, *(f"{title}\n{as_text(rows)}" for title, rows in tables.items())]
    head = name
    if origin := name in findings.questions and findings.questions[name].origin:
        head = "{}: {layout} by {unit}, {file}, SHA-256 {sha256}".format(name, **origin)
    return "\n\n".join([head, *parts, *findings.left_out()])


def render_report(report: ModeReport, *, with_intervals: bool) -> str:
    """One mode: scores of all questions and of each category, intervals, and times."""
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
