"""Tables of the access room: groups, members, tokens and the audit log."""

from access.models.audit import AuditEntry, AuditHead, AuditPayload
from access.models.group import CandidatePolicy, Group, Membership, Role
from access.models.token import ApiToken

__all__ = [
    "ApiToken",
    "AuditEntry",
    "AuditHead",
    "AuditPayload",
    "CandidatePolicy",
    "Group",
    "Membership",
    "Role",
]
