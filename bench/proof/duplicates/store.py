"""Stores pairs of texts through store() in the home that LOCI_HOME names, and says what became of them.

`python -m bench.proof.duplicates.store`; it reads {"dedup", "pairs"} as JSON from stdin and prints counts as JSON.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import django

django.setup()  # LOCI_HOME and DJANGO_SETTINGS_MODULE are set by bench/proof/home.py

# Only after Django is set up can these be imported.
from django.conf import settings  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.db.models import Q  # noqa: E402

from access.actor import Actor, Via  # noqa: E402
from access.tokens import actor_for_user  # noqa: E402
from memories.draft import Draft  # noqa: E402
from memories.embedding import get_encoder  # noqa: E402
from memories.models import Link, LinkKind, Memory  # noqa: E402
from memories.store import StoreResult, store  # noqa: E402

GROUP = "harbour"
MODEL_WAIT_S = 60
TIES = (LinkKind.DUPLICATE, LinkKind.CONFLICT)


def main() -> None:
    """Store what stdin names."""
    told = json.load(sys.stdin)
    settings.LOCI = replace(settings.LOCI, storage=replace(settings.LOCI.storage, dedup=told["dedup"]))
    get_encoder(timeout_s=MODEL_WAIT_S)  # a text whose vector is owed is compared with nothing
    actor = actor_for_user(User.objects.get(username="prover"), via=Via.COMMAND)
    before = {kind: Link.objects.filter(kind=kind).count() for kind in TIES}
    answers = [(_store(actor, old), _store(actor, new)) for old, new in told["pairs"]]
    print(json.dumps(_counted(told["pairs"], answers, before)))


def _store(actor: Actor, text: str) -> StoreResult:
    return store(actor, Draft(text, group=GROUP))


def _counted(
    pairs: Sequence[tuple[str, str]],
    answers: Sequence[tuple[StoreResult, StoreResult]],
    before: dict[LinkKind, int],
) -> dict[str, Any]:
    texts = {text for pair in pairs for text in pair}
    live = set(Memory.objects.filter(state="live", content__in=texts).values_list("content", flat=True))
    kept = set(Memory.objects.filter(content__in=texts).values_list("content", flat=True))
    all_ties = {f"all_{kind}s": Link.objects.filter(kind=kind).count() - before[kind] for kind in TIES}
    return {
        "pairs": len(pairs),
        "lost": len(texts - live),
        "lost_texts": sorted(texts - live),
        "unkept": len(texts - kept),
        "reinforced": sum(new.outcome == "reinforced" and _is_one(old, new) for old, new in answers),
        "duplicates": sum(_are_tied(old, new, LinkKind.DUPLICATE) for old, new in answers),
        "conflicts": sum(_are_tied(old, new, LinkKind.CONFLICT) for old, new in answers),
        **all_ties,
    }


def _is_one(old: StoreResult, new: StoreResult) -> bool:
    return old.memory is not None and old.memory == new.memory


def _are_tied(old: StoreResult, new: StoreResult, kind: LinkKind) -> bool:
    if old.memory is None or new.memory is None or old.memory == new.memory:
        return False
    one, other = old.memory.root_key, new.memory.root_key
    ends = Q(source=one, target=other) | Q(source=other, target=one)
    return Link.objects.filter(ends, kind=kind).exists()


if __name__ == "__main__":
    main()
