"""The guard for files: the whole text is searched once, then each chunk gets its own findings."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from access.errors import SensitiveText
from access.groups.guarding import apply_policy, find_all, mask_all
from guard import Family, GuardFinding, GuardTreatment, Policy, has_instruction
from memories.draft.guarding import read_text
from sources.artifacts.chunking import FileChunk
from sources.models import ChunkState

SUSPECT_WEIGHT: Final = 0.3  # of a chunk's score if it has instructions to an AI that the policy only labels


@dataclass(frozen=True)
class GuardedChunk:
    """A chunk as it may be stored: its state, weight and findings by kind."""

    chunk: FileChunk
    state: ChunkState
    weight: float
    findings: dict[str, int]


@dataclass(frozen=True)
class GuardedFile:
    """The chunks of a file that may be stored, and what was found in the whole file; `refused` chunks are left out."""

    chunks: list[GuardedChunk]
    findings: Counter[str]
    refused: int


def guard_chunks(chunks: Sequence[FileChunk], policy: Policy) -> GuardedFile:
    """Apply the group's policy: values are masked, a chunk with instructions is held or weighs less, a refused one is left out.

    Chunks that follow each other are searched together, so that a key of many lines is found where it is cut.
    """
    found: Counter[str] = Counter()
    kept: list[GuardedChunk] = []
    refused = 0
    text = "\n".join(chunk.text for chunk in chunks)
    findings = find_all(text) if text else []
    policy, at = for_files(policy), 0
    for chunk in chunks:
        if findings and chunk.heading:  # it may be of another chunk's lines
            chunk = replace(chunk, heading=str(mask_all(chunk.heading, policy)))
        own = [
            GuardFinding(each.kind, (max(each.span[0] - at, 0), min(each.span[1] - at, len(chunk.text))), each.confidence)
            for each in findings
            if each.span[1] > at and each.span[0] < at + len(chunk.text)
        ]  # fmt: skip
        at += len(chunk.text) + 1
        if not own:
            kept.append(GuardedChunk(chunk, ChunkState.LIVE, 1.0, {}))
            continue
        found.update(each.kind for each in own)
        try:
            kept.append(guard_chunk(chunk, own, policy))
        except SensitiveText:
            refused += 1
    return GuardedFile(kept, found, refused)


def for_files(policy: Policy) -> Policy:
    """The policy for files: guessed secrets are masked unless the group has a rule, as no sender can confirm them."""
    if Family.GUESSED in policy.own:
        return policy
    return replace(policy, own={**policy.own, Family.GUESSED.value: GuardTreatment.MASK})


def read_chunk(content: str, vector: NDArray[np.float32], policy: Policy) -> GuardTreatment | None:
    """What becomes of a stored chunk that reads like an instruction to an AI, by its vector; None if it does not.

    Files are from outside. A chunk that is stored can no longer be refused: it is held.
    """
    told = read_text(content, [((0, len(content)), vector)], policy, outside=True)
    if told is None or told.treatment is GuardTreatment.LABEL:
        return told.treatment if told else None
    return GuardTreatment.QUARANTINE


def guard_chunk(chunk: FileChunk, found: Sequence[GuardFinding], policy: Policy) -> GuardedChunk:
    """One chunk with its findings. Raises SensitiveText if the policy refuses it."""
    text, told = apply_policy(chunk.text, found, policy, field="content", allowed=frozenset())
    treatments = {each.treatment for each in told}
    is_suspect = has_instruction(each.kind for each in told)
    held = GuardTreatment.QUARANTINE in treatments
    counts = Counter(each.kind for each in told)
    return GuardedChunk(
        replace(chunk, text=text.strip() or "[hidden text]"),
        ChunkState.HELD if held else ChunkState.LIVE,
        SUSPECT_WEIGHT if is_suspect else 1.0,
        dict(sorted(counts.items())),
    )
