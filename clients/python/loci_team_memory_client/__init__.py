"""A client for Loci, the long-term memory that a team's AI agents share."""

from loci_team_memory_client import calls
from loci_team_memory_client.client import AsyncLoci, Loci
from loci_team_memory_client.sending import (
    OMIT,
    Call,
    Conflict,
    InvalidInput,
    LociError,
    NotAuthenticated,
    NotFound,
    NotPermitted,
    TooLarge,
    Unavailable,
)

__all__ = [
    "OMIT",
    "AsyncLoci",
    "Call",
    "Conflict",
    "InvalidInput",
    "Loci",
    "LociError",
    "NotAuthenticated",
    "NotFound",
    "NotPermitted",
    "TooLarge",
    "Unavailable",
    "calls",
]
