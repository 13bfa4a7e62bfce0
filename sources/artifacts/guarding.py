"""The gate for files: each chunk of a file is stored, held back or left out."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from access.groups.guarding import OnHold, admit, admit_parts, count_kinds
from guard import Door, Family, GuardTreatment, Policy, has_instruction
from sources.artifacts.chunking import FileChunk
from sources.models import ChunkState

SUSPECT_WEIGHT: Final = 0.3  # of a chunk's score if it has instructions to an AI that the policy only labels


@dataclass(frozen=True)
class GuardedFile:
    """The chunks of a file that may be stored, and what was found in the whole file; `refused` chunks are left out."""

    chunks: list[FileChunk]
    findings: Counter[str]
    refused: int


def guard_chunks(chunks: Sequence[FileChunk], policy: Policy) -> GuardedFile:
    """Apply the group's policy: values are masked, a chunk with instructions is held or weighs less, a refused one is left out."""
    policy = for_files(policy)
    admitted = admit_parts([chunk.text for chunk in chunks], Door.OUTSIDE, policy)
    found, kept = Counter[str](), list[FileChunk]()
    for chunk, part in zip(chunks, admitted, strict=True):
        counts = count_kinds(part.findings)
        found.update(counts)
        if part.refusal is None:
            is_held = any(each.treatment is GuardTreatment.QUARANTINE for each in part.findings)
            # A heading has words of other lines, so it is looked at by itself.
            heading = admit(chunk.heading, Door.OUTSIDE, policy, on_hold=OnHold.MASK).value
            kept.append(
                replace(
                    chunk,
                    text=part.value.strip() or "[hidden text]",
                    heading=heading,
                    state=ChunkState.HELD if is_held else ChunkState.LIVE,
                    weight=SUSPECT_WEIGHT if has_instruction(counts) else 1.0,
                    findings=dict(sorted(counts.items())),
                )
            )
    return GuardedFile(kept, found, len(chunks) - len(kept))


def for_files(policy: Policy) -> Policy:
    """The policy for files: guessed secrets are masked unless the group has a rule, as no sender can confirm them."""
    if Family.GUESSED in policy.own:
        return policy
    return replace(policy, own={**policy.own, Family.GUESSED.value: GuardTreatment.MASK})
