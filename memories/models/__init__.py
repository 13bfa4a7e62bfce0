"""Tables of the app memories."""

from memories.models.feedback import Doubt, DoubtStatus, Feedback, FeedbackVerdict, RecallLog
from memories.models.finding import FindingStatus, MemoryFinding
from memories.models.link import REVIEWED_KINDS, Link, LinkKind, LinkStatus
from memories.models.memory import Memory, MovedSource
from memories.models.piece import IndexChange, IndexState, Piece, Unprobed
from memories.models.proposal import Proposal, ProposalStatus
from memories.models.thread import Checkpoint, Thread
from memories.models.tombstone import Tombstone, TombstoneKind

__all__ = [
    "REVIEWED_KINDS",
    "Checkpoint",
    "Doubt",
    "DoubtStatus",
    "Feedback",
    "FeedbackVerdict",
    "FindingStatus",
    "IndexChange",
    "IndexState",
    "Link",
    "LinkKind",
    "LinkStatus",
    "Memory",
    "MemoryFinding",
    "MovedSource",
    "Piece",
    "Proposal",
    "ProposalStatus",
    "RecallLog",
    "Thread",
    "Tombstone",
    "TombstoneKind",
    "Unprobed",
]
