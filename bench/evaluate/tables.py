"""Tables of an evaluation's findings: Markdown for the documentation, plain text for the terminal."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from access.errors import InvalidInput
from bench.evaluate.abstention import AbstentionPoint, Judgement, curve
from bench.evaluate.aging import AgedReport
from bench.evaluate.budgets import BUDGETS, BudgetPoint
from bench.evaluate.fitting import FEATURES, FITTED, MEASURES, Fit
from bench.evaluate.metrics import Scores, difference_interval
from bench.evaluate.question_files import Query, QuerySet
from bench.evaluate.run import ModeReport
from bench.proof.report import put_between
from memories.recall.weights import WEIGHTS
from sources.importing.importer import CORPUS

ANSWERABLE = "answerable"  # kind of the questions that have an answer
SHOWN = ("R@10", "MRR", "nDCG@10")
MAX_FAULTS = 5  # named; the others are counted
BEGIN, END = "<!-- table: {} -->", "<!-- end of {} -->"
_MARK = re.compile(BEGIN.format(r"(\w+)"))


@dataclass
class Measurements:
    """All measurements of some sets; those that were not requested are empty.

    `scopes` has each set's questions within their groups, and in all groups at once.
    """

    modes: dict[str, list[ModeReport]] = field(default_factory=dict)
    scopes: dict[str, tuple[ModeReport, ModeReport]] = field(default_factory=dict)
    gains: dict[str, dict[str, Scores]] = field(default_factory=dict)
    fit: Fit | None = None
    judgements: dict[str, list[Judgement]] = field(default_factory=dict)
    questions: dict[str, QuerySet] = field(default_factory=dict)
    cycles: dict[str, list[AgedReport]] = field(default_factory=dict)
    budgets: dict[str, list[BudgetPoint]] = field(default_factory=dict)

    def add(self, other: "Measurements") -> None:
        """Add the measurements of other sets."""
        for name in ("modes", "scopes", "gains", "judgements", "questions", "cycles", "budgets"):
            getattr(self, name).update(getattr(other, name))
        self.fit = other.fit or self.fit

    def as_dict(self, *, with_intervals: bool, with_each: bool = False) -> dict[str, Any]:
        """The findings as JSON values; the modes of a single set are at the top level."""
        sets = {
            name: modes_json(reports, with_intervals, self.questions[name].answerable if with_each else ())
            for name, reports in self.modes.items()
        }
        result: dict[str, Any] = (
            next(iter(sets.values())) if len(sets) == 1 else {"sets": sets} if sets else {}
        )
        if self.scopes:
            result["everywhere"] = {
                name: {"within": within.scores, "everywhere": everywhere.scores}
                for name, (within, everywhere) in self.scopes.items()
            }
        if self.gains:
            result["ablation"] = self.gains
        if self.fit:
            result["fit"] = self.fit.as_dict()
        if self.judgements:
            result["abstention"] = [vars(point) for point in curve(all_judgements(self.judgements))]
        if self.cycles:
            result["cycles"] = {name: [each.as_dict() for each in aged] for name, aged in self.cycles.items()}
        if self.budgets:
            result["budgets"] = {name: [vars(point) for point in own] for name, own in self.budgets.items()}
        if self.questions:
            result["questions"] = {name: queries.as_dict() for name, queries in self.questions.items()}
        return result

    def left_out(self) -> list[str]:
        """For each set, the questions and answers that no measure counts correctly."""
        notes = []
        for name, queries in self.questions.items():
            if queries.unanswered:
                skipped = "" if name in self.judgements else ", not run (--abstain judges them)"
                notes.append(f"{name}: questions without an answer{skipped}: {len(queries.unanswered)}")
            if queries.unknown_ids:
                notes.append(
                    f"{name}: ids of answers missing in {CORPUS}, counted as not found: {queries.unknown_ids}"
                )
            if queries.held:
                notes.append(f"{name}: texts that the guard quarantined, never found: {queries.held}")
            notes += [f"{name}: left out: {fault}" for fault in queries.faults[:MAX_FAULTS]]
            if len(queries.faults) > MAX_FAULTS:
                notes.append(f"{name}: {len(queries.faults) - MAX_FAULTS} more lines were left out.")
        return notes

    def tables(self) -> dict[str, list[list[str]]]:
        """The tables that are not empty, by name: rows of cells, the head first."""
        made = {
            "modes": modes_table(self.modes),
            "received": received_table(self.modes),
            "intervals": interval_table(self.modes),
            "everywhere": group_scope_table(self.scopes),
            "ablation": gain_table(self.gains),
            "weights": weight_table(self.fit),
            "fit": fit_table(self.fit),
            "abstention": abstention_table(self.judgements),
            "unrelated": kind_table(self.judgements),
            "separation": separation_table(self.judgements),
            "cycles": cycles_table(self.cycles),
            "budgets": budget_table(self.budgets),
        }
        return {name: rows for name, rows in made.items() if len(rows) > 1}


def as_words(name: str) -> str:
    """A feature's name in a table."""
    return name.replace("_", " ")


def as_markdown(rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def as_text(rows: Sequence[Sequence[str]]) -> str:
    """A table as aligned text."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def marked_tables(path: Path) -> frozenset[str]:
    """The names of the tables that a Markdown file has marks for.

    Raises:
        InvalidInput: it has none.
    """
    names = frozenset(_MARK.findall(path.read_text(encoding="utf-8")))
    if not names:
        raise InvalidInput(f"{path.name} has no marks for tables.", field="write_docs")
    return names


def write_between_marks(path: Path, tables: Mapping[str, Sequence[Sequence[str]]]) -> list[str]:
    """Write tables between their marks in a Markdown file; return the names of those that have marks.

    Raises:
        InvalidInput: the file has no marks, or one without its end.
    """
    marked = marked_tables(path)
    written = [name for name in tables if name in marked]
    try:
        for name in written:
            put_between(path, BEGIN.format(name), END.format(name), as_markdown(tables[name]))
    except ValueError as error:
        raise InvalidInput(str(error), field="write_docs") from error
    return written


def modes_json(
    reports: Sequence[ModeReport], with_intervals: bool, queries: Sequence[Query] = ()
) -> dict[str, Any]:
    """Reports by mode as JSON values, with a row for each of `queries`."""
    result = {}
    for report in reports:
        result[report.mode] = report.as_dict()
        if with_intervals:
            result[report.mode]["intervals"] = report.intervals()
        if queries:
            result[report.mode]["each"] = [
                {"id": query.id, "category": query.category, "ranking": report.run[query.id][:10], **scores}
                for query, scores in zip(queries, report.each, strict=True)
            ]
    return result


def _percent(value: float) -> str:
    return f"{value * 100:.1f}"


def _signed(value: float) -> str:
    shown = f"{value * 100:+.1f}"
    return "0" if float(shown) == 0 else shown.replace("-", "−")


def modes_table(sets: Mapping[str, Sequence[ModeReport]]) -> list[list[str]]:
    """Scores of each set by mode."""
    modes = list(dict.fromkeys(report.mode for reports in sets.values() for report in reports))
    rows = [["set (questions)", *modes]]
    for name, reports in sets.items():
        by_mode = {report.mode: report for report in reports}
        cells = [" / ".join(_percent(by_mode[mode].scores[m]) for m in SHOWN) for mode in modes]
        rows.append([f"{name} ({len(reports[0].times_ms)})", *cells])
    return rows


def received_table(sets: Mapping[str, Sequence[ModeReport]]) -> list[list[str]]:
    """R@10 and MRR of the ranking and of what a caller receives, and the share of questions answered with nothing."""
    rows = [["set", "mode", "ranking", "as received", "answered with nothing"]]
    for name, reports in sets.items():
        for report in reports:
            if not report.received:
                continue
            both = (report.scores, report.received)
            cells = [" / ".join(_percent(scores[m]) for m in ("R@10", "MRR")) for scores in both]
            rows.append([name, report.mode, *cells, _percent(report.unanswered)])
    return rows


def interval_table(sets: Mapping[str, Sequence[ModeReport]]) -> list[list[str]]:
    """Intervals of hybrid search, and its difference to the better of keyword and vector search."""
    rows = [
        ["set", "R@10", "MRR", "nDCG@10", "R@10 against the better arm", "R@5 against it", "MRR against it"]
    ]
    for name, reports in sets.items():
        by_mode = {report.mode: report for report in reports}
        if {"hybrid", "keyword", "vector"} - by_mode.keys():
            continue
        ours = by_mode["hybrid"]
        bounds = ours.intervals()
        cells = [f"{_percent(bounds[m][0])} to {_percent(bounds[m][1])}" for m in SHOWN]
        rows.append([name, *cells, *(difference_cell(ours, by_mode, m) for m in ("R@10", "R@5", "MRR"))])
    return rows


def difference_cell(ours: ModeReport, by_mode: Mapping[str, ModeReport], measure: str) -> str:
    """Mean difference of a measure to the better of keyword and vector search, with its interval."""
    better = max((by_mode["keyword"], by_mode["vector"]), key=lambda report: report.scores[measure])
    low, high = difference_interval([s[measure] for s in ours.each], [s[measure] for s in better.each])
    mean = ours.scores[measure] - better.scores[measure]
    return f"{_signed(mean)} ({_signed(low)} to {_signed(high)})"


def group_scope_table(sets: Mapping[str, tuple[ModeReport, ModeReport]]) -> list[list[str]]:
    """Scores of each set within its groups and in all groups at once."""
    rows = [["set", "within its group", "in all groups at once", "R@10 lost"]]
    for name, reports in sets.items():
        cells = [" / ".join(_percent(report.scores[m]) for m in SHOWN) for report in reports]
        within, everywhere = (report.scores["R@10"] for report in reports)
        rows.append([name, *cells, _percent(within - everywhere)])
    return rows


def gain_table(sets: Mapping[str, Mapping[str, Scores]]) -> list[list[str]]:
    """Gain of each feature of recall by set."""
    rows = [["feature", *sets]]
    for name in FEATURES:
        cells = [" / ".join(_signed(gains[name][m]) for m in MEASURES) for gains in sets.values()]
        rows.append([as_words(name), *cells])
    return rows if sets else []


def weight_table(fit: Fit | None) -> list[list[str]]:
    """The weights that are fitted: in use, and as this fit has them."""
    head = ["feature", "in use", "fitted"]
    if fit is None:
        return [head]
    both = (WEIGHTS, fit.weights)
    return [head, *([as_words(name), *(f"{getattr(own, name):.2f}" for own in both)] for name in FITTED)]


def fit_table(fit: Fit | None) -> list[list[str]]:
    """Scores with the weights in use, and with those fitted without the questions: on other groups, on other sets."""
    rows = [["set", "in use", "fitted on other groups", "fitted on the other sets"]]
    for own in fit.sets if fit else ():
        each = (own.usual, own.other_groups, own.other_sets)
        cells = [" / ".join(_percent(scores[m]) for m in MEASURES) for scores in each]
        rows.append([own.name, *cells])
    return rows


def all_judgements(sets: Mapping[str, Sequence[Judgement]]) -> list[Judgement]:
    """Judgements of all sets together."""
    return [judgement for own in sets.values() for judgement in own]


def abstention_table(sets: Mapping[str, Sequence[Judgement]]) -> list[list[str]]:
    """Precision, recall and loss of abstaining by limit."""
    rows = [["limit", "precision", "recall", "R@5 lost"]]
    every = all_judgements(sets)
    points: list[AbstentionPoint] = curve(every) if every else []
    for point in points:
        limit = "as it is" if point.offset == 0 else f"{point.offset:+.2f}".replace("-", "−")
        precision = "–" if point.precision is None else _percent(point.precision)
        rows.append([limit, precision, _percent(point.recall), _percent(point.lost)])
    return rows


def kind_table(sets: Mapping[str, Sequence[Judgement]]) -> list[list[str]]:
    """Share of questions of each kind on which recall abstains, by set, and the loss that this causes."""
    kinds = list(dict.fromkeys(j.kind for j in all_judgements(sets)))
    rows = [["questions", *sets]]
    for kind in kinds:
        cells = []
        for own in sets.values():
            margins = _margins(own, kind)
            share = sum(margin < 0 for margin in margins) / len(margins) if margins else 0.0
            cells.append(f"{_percent(share)} of {len(margins)}" if margins else "–")
        rows.append([kind, *cells])
    lost = [_percent(point.lost) for own in sets.values() for point in curve(own, (0.0,))]
    return [*rows, ["R@5 lost", *lost]] if kinds else rows


def separation_table(sets: Mapping[str, Sequence[Judgement]]) -> list[list[str]]:
    """How well the margin separates each kind of unanswerable questions from answerable ones, independent of the limit."""
    kinds = [kind for kind in dict.fromkeys(j.kind for j in all_judgements(sets)) if kind != ANSWERABLE]
    rows = [["questions", *sets]]
    for kind in kinds:
        pairs = [(_margins(own, ANSWERABLE), _margins(own, kind)) for own in sets.values()]
        rows.append([kind, *(_percent(win_share(*pair)) if all(pair) else "–" for pair in pairs)])
    return rows


def cycles_table(sets: Mapping[str, Sequence[AgedReport]]) -> list[list[str]]:
    """R@10 and MRR as received after so many weekly cycles, and the share of memories that lists still show at the end."""
    counts = list(dict.fromkeys(aged.cycles for own in sets.values() for aged in own))
    rows = [["set", *(f"{count} cycles" for count in counts), "listed at the end"]]
    for name, own in sets.items():
        cells = [" / ".join(_percent(aged.received[m]) for m in ("R@10", "MRR")) for aged in own]
        rows.append([name, *cells, _percent(own[-1].live)])
    return rows


def budget_table(sets: Mapping[str, Sequence[BudgetPoint]]) -> list[list[str]]:
    """The share of questions with any, and with all, of their evidence in the answer, by way and budget."""
    rows = [["set", "way", *(f"{budget:,} tokens" for budget in BUDGETS)]]
    for name, points in sets.items():
        for way in dict.fromkeys(point.way for point in points):
            own = [point for point in points if point.way == way]
            rows.append([name, way, *(f"{_percent(point.any)} / {_percent(point.all)}" for point in own)])
    return rows


def win_share(high: Sequence[float], low: Sequence[float]) -> float:
    """Share (0–1) of pairs in which the value of `high` is greater than that of `low`; a tie counts half."""
    ordered = sorted(low)
    won = sum(bisect_left(ordered, value) + bisect_right(ordered, value) for value in high)
    return won / 2 / (len(high) * len(low))


def _margins(judgements: Sequence[Judgement], kind: str) -> list[float]:
    return [j.margin for j in judgements if j.kind == kind]
