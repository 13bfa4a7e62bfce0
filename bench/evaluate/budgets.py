"""What fits into a reader's budget: the share of questions whose evidence an answer holds, by its length in tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from access.actor import Actor
from access.groups import find_group
from bench.evaluate.question_files import Query
from bench.evaluate.run import Progress, shown_memories
from memories.embedding import Encoder
from memories.models import Memory
from memories.queries.visibility import recallable_by
from memories.recall import RecallRequest, recall
from memories.recall.budget import Notes, counting_encoder, pack
from memories.recall.pipeline import find_ranking
from memories.recall.question import understand
from memories.recall.scoring import Trace
from memories.search.rows import read_memories

BUDGETS: Final = (250, 500, 1000, 2000, 4000)
# Rankings that a reader could have without Loci: whole memories, best first, as many as fit.
PLAIN: Final = {"BM25": "keyword", "RRF": "rrf"}
_DEPTH: Final = 60


@dataclass(frozen=True)
class BudgetPoint:
    """Of answers within a budget: the share (0–1) with any and with all of the evidence, their mean tokens and memories."""

    way: str
    budget: int
    any: float
    all: float
    tokens: float = 0.0
    memories: float = 0.0


def measure_budgets(
    actor: Actor, queries: Sequence[Query], *, encoder: Encoder, progress: Progress
) -> list[BudgetPoint]:
    """Ask each question with each budget, and pack the plain rankings into the same ones."""
    held: dict[tuple[str, int], list[tuple[set[str], int, int]]] = {}
    for done, query in enumerate(queries, start=1):
        for budget in BUDGETS:
            request = RecallRequest(query=query.text, group=query.group, token_budget=budget, is_trial=True)
            answer = recall(actor, request)
            around = (turn.memory for item in answer.items for turn in item.around if not turn.is_cut)
            shown = {memory.source_ref for memory in (*shown_memories(answer), *around)}
            held.setdefault(("Loci", budget), []).append((shown, answer.tokens, len(answer.items)))
        for way, mode in PLAIN.items():
            best = _rank(actor, query, mode=mode, encoder=encoder)
            for budget in BUDGETS:
                portions, _ = pack(
                    best, token_budget=budget, encoder=counting_encoder(encoder), show=Notes(query.group).show,
                    is_ranked=True,
                )  # fmt: skip
                whole = [portion for portion in portions if not portion.is_cut]
                shown = {portion.memory.source_ref for portion in whole}
                tokens = sum(portion.tokens for portion in whole)
                held.setdefault((way, budget), []).append((shown, tokens, len(whole)))
        progress("budgets", done)
    return [
        BudgetPoint(
            way, budget,
            fmean(not shown.isdisjoint(query.relevant) for query, (shown, _, _) in zip(queries, each, strict=True)),
            fmean(shown.issuperset(query.relevant) for query, (shown, _, _) in zip(queries, each, strict=True)),
            fmean(tokens for _, tokens, _ in each),
            fmean(memories for _, _, memories in each),
        )
        for (way, budget), each in held.items()
    ]  # fmt: skip


def _rank(actor: Actor, query: Query, *, mode: str, encoder: Encoder) -> list[Memory]:
    visibility = recallable_by(actor, find_group(actor, query.group))
    question = understand(query.text, encoder=encoder, today=query.asked)
    keys = [key for key, _ in find_ranking(question, visibility, mode=mode, trace=Trace()).scores[:_DEPTH]]
    rows = read_memories(keys)
    return [rows[key] for key in keys if key in rows]
