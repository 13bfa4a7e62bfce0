"""What an evaluation found, as tables: Markdown for the documentation, plain text for the terminal."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from access.errors import InvalidInput
from loci_site.evaluation.ablation import MEASURES, CrossValidationFold
from loci_site.evaluation.abstention import AbstentionPoint, Judgement, curve
from loci_site.evaluation.metrics import Scores, difference_interval
from loci_site.evaluation.run import ModeReport, QuerySet
from memories.recall.weights import STEPS
from sources.importing.texts import CORPUS

ANSWERABLE = "answerable"  # the kind of questions that have an answer
SHOWN = ("R@10", "MRR", "nDCG@10")
BEGIN, END = "<!-- table: {} -->", "<!-- end of {} -->"


@dataclass
class Measurements:
    """Everything that was measured on some sets; what was not asked for is empty.

    `rooms` has each set's questions asked within their groups, and in all groups at once.
    """

    modes: dict[str, list[ModeReport]] = field(default_factory=dict)
    rooms: dict[str, tuple[ModeReport, ModeReport]] = field(default_factory=dict)
    gains: dict[str, dict[str, Scores]] = field(default_factory=dict)
    folds: list[CrossValidationFold] = field(default_factory=list)
    judgements: dict[str, list[Judgement]] = field(default_factory=dict)
    questions: dict[str, QuerySet] = field(default_factory=dict)

    def as_dict(self, *, with_intervals: bool) -> dict[str, Any]:
        """Give the findings as JSON values; of one set's modes alone, those at the top."""
        sets = {name: _modes_dict(reports, with_intervals) for name, reports in self.modes.items()}
        told: dict[str, Any] = next(iter(sets.values())) if len(sets) == 1 else {"sets": sets} if sets else {}
        if self.rooms:
            told["everywhere"] = {
                name: {"within": within.scores, "everywhere": everywhere.scores}
                for name, (within, everywhere) in self.rooms.items()
            }
        if self.gains:
            told["ablation"] = self.gains
        if self.folds:
            told["folds"] = {f.name: {"chosen": f.chosen, "usual": f.usual} for f in self.folds}
        if self.judgements:
            told["abstention"] = [vars(point) for point in curve(_all(self.judgements))]
        if self.questions:
            told["questions"] = {name: queries.as_dict() for name, queries in self.questions.items()}
        return told

    def left_out(self) -> list[str]:
        """Say of each set what of its questions no measure can count right."""
        said = []
        for name, queries in self.questions.items():
            if queries.unanswered:
                unasked = "" if name in self.judgements else ", not asked (--abstain judges them)"
                said.append(f"{name}: questions without an answer{unasked}: {len(queries.unanswered)}")
            if queries.unknown_ids:
                said.append(
                    f"{name}: ids of answers that no line of {CORPUS} has, which count as not found: {queries.unknown_ids}"
                )
        return said

    def tables(self) -> dict[str, list[list[str]]]:
        """Give the tables that there is something for, by name: rows of cells, the head first."""
        made = {
            "modes": _modes_table(self.modes),
            "intervals": _interval_table(self.modes),
            "everywhere": _room_table(self.rooms),
            "ablation": _gain_table(self.gains),
            "folds": _fold_table(self.folds),
            "abstention": _curve_table(self.judgements),
            "unrelated": _kind_table(self.judgements),
            "separation": _separation_table(self.judgements),
        }
        return {name: rows for name, rows in made.items() if len(rows) > 1}


def as_markdown(rows: Sequence[Sequence[str]]) -> str:
    """Give a table as Markdown has it."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def as_text(rows: Sequence[Sequence[str]]) -> str:
    """Give a table in columns of even width."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def write_between_marks(path: Path, tables: Mapping[str, Sequence[Sequence[str]]]) -> list[str]:
    """Put tables into a Markdown file between their marks; give the names of those whose marks are there.

    Raises:
        InvalidInput: the file has no mark for any of them, or one that does not end.
    """
    text = path.read_text(encoding="utf-8")
    written = []
    for name, rows in tables.items():
        begin, end = BEGIN.format(name), END.format(name)
        if begin not in text:
            continue
        before, rest = text.split(begin, 1)
        if end not in rest:
            raise InvalidInput(f"{path.name} has '{begin}' without '{end}'.", field="write_docs")
        text = f"{before}{begin}\n{as_markdown(rows)}\n{end}{rest.split(end, 1)[1]}"
        written.append(name)
    if not written:
        raise InvalidInput(
            f"{path.name} has no marks for tables.",
            hint=f"Put '{BEGIN.format('modes')}' and '{END.format('modes')}' where it belongs.",
            field="write_docs",
        )
    path.write_text(text, encoding="utf-8")
    return written


def _modes_dict(reports: Sequence[ModeReport], with_intervals: bool) -> dict[str, Any]:
    told = {}
    for report in reports:
        told[report.mode] = report.as_dict()
        if with_intervals:
            told[report.mode]["intervals"] = report.intervals()
    return told


def _percent(value: float) -> str:
    return f"{value * 100:.1f}"


def _signed(value: float) -> str:
    shown = f"{value * 100:+.1f}"
    return "0" if float(shown) == 0 else shown.replace("-", "−")


def _modes_table(sets: Mapping[str, Sequence[ModeReport]]) -> list[list[str]]:
    modes = list(dict.fromkeys(report.mode for reports in sets.values() for report in reports))
    rows = [["set (questions)", *modes]]
    for name, reports in sets.items():
        by_mode = {report.mode: report for report in reports}
        cells = [" / ".join(_percent(by_mode[mode].scores[m]) for m in SHOWN) for mode in modes]
        rows.append([f"{name} ({len(reports[0].times_ms)})", *cells])
    return rows


def _interval_table(sets: Mapping[str, Sequence[ModeReport]]) -> list[list[str]]:
    """Hybrid's intervals, and its difference to the better of its arms."""
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
        rows.append([name, *cells, *(_against(ours, by_mode, m) for m in ("R@10", "R@5", "MRR"))])
    return rows


def _against(ours: ModeReport, by_mode: Mapping[str, ModeReport], measure: str) -> str:
    better = max((by_mode["keyword"], by_mode["vector"]), key=lambda report: report.scores[measure])
    low, high = difference_interval([s[measure] for s in ours.each], [s[measure] for s in better.each])
    mean = ours.scores[measure] - better.scores[measure]
    return f"{_signed(mean)} ({_signed(low)} to {_signed(high)})"


def _room_table(sets: Mapping[str, tuple[ModeReport, ModeReport]]) -> list[list[str]]:
    rows = [["set", "within its group", "in all groups at once", "R@10 lost"]]
    for name, reports in sets.items():
        cells = [" / ".join(_percent(report.scores[m]) for m in SHOWN) for report in reports]
        within, everywhere = (report.scores["R@10"] for report in reports)
        rows.append([name, *cells, _percent(within - everywhere)])
    return rows


def _gain_table(sets: Mapping[str, Mapping[str, Scores]]) -> list[list[str]]:
    rows = [["step", *sets]]
    for step in STEPS:
        cells = [" / ".join(_signed(gains[step][m]) for m in MEASURES) for gains in sets.values()]
        rows.append([step, *cells])
    return rows if sets else []


def _fold_table(folds: Sequence[CrossValidationFold]) -> list[list[str]]:
    rows = [["set", "chosen on the other folds", "the numbers in use"]]
    for fold in folds:
        cells = [" / ".join(_percent(scores[m]) for m in MEASURES) for scores in (fold.chosen, fold.usual)]
        rows.append([fold.name, *cells])
    return rows


def _all(sets: Mapping[str, Sequence[Judgement]]) -> list[Judgement]:
    return [judgement for own in sets.values() for judgement in own]


def _curve_table(sets: Mapping[str, Sequence[Judgement]]) -> list[list[str]]:
    rows = [["limit", "precision", "recall", "R@5 lost"]]
    every = _all(sets)
    points: list[AbstentionPoint] = curve(every) if every else []
    for point in points:
        limit = "as it is" if point.offset == 0 else f"{point.offset:+.2f}".replace("-", "−")
        precision = "–" if point.precision is None else _percent(point.precision)
        rows.append([limit, precision, _percent(point.recall), _percent(point.lost)])
    return rows


def _kind_table(sets: Mapping[str, Sequence[Judgement]]) -> list[list[str]]:
    """The share of questions of each kind on which recall abstains, by set, and what that costs."""
    kinds = list(dict.fromkeys(j.kind for j in _all(sets)))
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


def _separation_table(sets: Mapping[str, Sequence[Judgement]]) -> list[list[str]]:
    """How well the margin tells each kind of questions without an answer from the answerable, whatever the limit."""
    kinds = [kind for kind in dict.fromkeys(j.kind for j in _all(sets)) if kind != ANSWERABLE]
    rows = [["questions", *sets]]
    for kind in kinds:
        pairs = [(_margins(own, ANSWERABLE), _margins(own, kind)) for own in sets.values()]
        rows.append([kind, *(_percent(above_share(*pair)) if all(pair) else "–" for pair in pairs)])
    return rows


def above_share(high: Sequence[float], low: Sequence[float]) -> float:
    """Give the share (0–1) of pairs in which the one of `high` is greater than the one of `low`; an even pair is half one."""
    ordered = sorted(low)
    won = sum(bisect_left(ordered, value) + bisect_right(ordered, value) for value in high)
    return won / 2 / (len(high) * len(low))


def _margins(judgements: Sequence[Judgement], kind: str) -> list[float]:
    return [j.margin for j in judgements if j.kind == kind]
