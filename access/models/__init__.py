"""Tables of the access package: users, groups, tokens, preferences and the audit log."""

from access.models.attempt import Attempts
from access.models.audit import AuditEntry, AuditHead, AuditPayload
from access.models.group import CandidatePolicy, CaptureRule, Group, Membership, Role, ScopeRule
from access.models.identity import Identity
from access.models.pairing import Pairing
from access.models.person_writes import PersonWrites
from access.models.preference import Preference, Theme
from access.models.row_change import RowChange
from access.models.stored_answer import StoredAnswer
from access.models.token import ApiToken

__all__ = [
    "ApiToken",
    "Attempts",
    "AuditEntry",
    "AuditHead",
    "AuditPayload",
    "CandidatePolicy",
    "CaptureRule",
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
