"""Tables of the access package: users, groups, tokens, preferences and the audit log."""

from access.models.audit import AuditEntry, AuditHead, AuditPayload, RowChange
from access.models.group import CandidatePolicy, CaptureRule, CleanupRule, Group, Membership, Role, ScopeRule
from access.models.person import Attempts, Identity, PersonWrites, Preference, Theme
from access.models.token import ApiToken, Pairing, StoredAnswer

__all__ = [
    "ApiToken",
    "Attempts",
    "AuditEntry",
    "AuditHead",
    "AuditPayload",
    "CandidatePolicy",
    "CaptureRule",
    "CleanupRule",
    "Group",
    "Identity",
    "Membership",
    "Pairing",
    "PersonWrites",
    "Preference",
    "Role",
    "RowChange",
    "ScopeRule",
    "StoredAnswer",
    "Theme",
]
