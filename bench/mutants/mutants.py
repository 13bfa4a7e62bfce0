"""The mutants. Not here yet: verbs, undo, restore, purge. A new mutant is a line; its old text must be in its file exactly once."""

from typing import Final, NamedTuple

# The tests of an area in runs of pytest, those first that kill most; all of them run for a mutant that survives.
AREAS: Final = {
    "store": ("tests/memories/store/test_store.py", "tests/memories/store"),
    "queries": ("tests/memories/queries/test_recallable.py", "tests/memories/queries"),
    "recall": (
        "tests/memories/queries/test_recallable.py",
        "tests/memories/queries",
        "tests/memories/recall",
    ),
    "audit": ("tests/access/audit/test_chains.py", "tests/access/audit"),
    "access": (
        "tests/access/test_rights.py tests/access/tokens tests/access/sign_in/test_invitations.py",
        "tests/access",
    ),
    "cycle": ("tests/maintenance/cycle",),
    "backups": ("tests/maintenance/backups/test_stricter.py", "tests/maintenance/backups/test_restore.py"),
}


class Mutant(NamedTuple):
    """A fault in words, its area, the file, the text that it replaces, and the new text."""

    name: str
    area: str
    file: str
    old: str
    new: str


_DECIDE, _POLICY = "memories/store/decide.py", "memories/store/policy.py"
_VISIBILITY, _VERSIONS = "memories/queries/visibility.py", "memories/queries/versions.py"
_TOKENS, _CHAINS, _VERIFY = "access/tokens/__init__.py", "access/audit/chains.py", "access/audit/verify.py"
# fmt: off
MUTANTS: Final = (
    Mutant("a quarantined exact text may be reinforced", "store", _DECIDE, "exact.trust in (Trust.REJECTED, Trust.QUARANTINED)", "exact.trust in (Trust.REJECTED,)"),
    Mutant("a doubt does not hold back a text that was superseded", "store", _DECIDE, "find_withdrawn_doubt(actor, context) or write_doubt(actor, context)\n    return", "find_withdrawn_doubt(actor, context)\n    return"),
    Mutant("an unprobed text may be current again", "store", _DECIDE, "is_held = not context.is_probed or find", "is_held = find"),
    Mutant("a private group takes global memories", "store", _DECIDE, "if context.group.private and context.draft.scope", "if False and context.draft.scope"),
    Mutant("a writer may make a memory global", "store", _DECIDE, "and widens and not actor.may(CURATE,", "and widens and not actor.may(WRITE,"),
    Mutant("a restatement crosses scopes", "store", _DECIDE, "is_own = memory.group_id == context.group.key and memory.scope == context.draft.scope", "is_own = memory.group_id == context.group.key"),
    Mutant("an event is restated by another", "store", _DECIDE, "if context.draft.type == Type.EPISODIC or context.replaces is not None", "if context.replaces is not None"),
    Mutant("a place is refused to later versions", "store", "memories/store/threads.py", "position=draft.position, root=None).exists()", "position=draft.position).exists()"),
    Mutant("the least confidence waits too", "store", _POLICY, "if confidence < group.policy_confidence", "if confidence <= group.policy_confidence"),
    Mutant("confidence rises at each restatement", "store", "memories/store/writes/reinforce.py", "if not is_counted:", "if True:"),
    Mutant("a lifted tombstone still bars", "store", "memories/store/withdrawn/marks.py", "tombstones.filter(lifted_at=None)", "tombstones"),
    Mutant("a contradiction restates", "store", "memories/store/neighbours.py", "        if self.contradiction is not None:\n            return False\n        is_unsure", "        is_unsure"),
    Mutant("a memory ends a moment late", "queries", _VERSIONS, "memory.valid_to <= at", "memory.valid_to < at"),
    Mutant("a memory expires a moment late", "queries", _VERSIONS, "memory.expires_at <= at", "memory.expires_at < at"),
    Mutant("what was not known then counts in a row", "queries", _VISIBILITY, "return m.created_at <= v.known_at and", "return"),
    Mutant("an end that was not known yet counts", "queries", _VISIBILITY, "is_true |= Q(valid_to_known_at__gt=v.known_at)", "pass"),
    Mutant("a successor that came at once counts as dated ahead", "queries", _VISIBILITY, '        Q(valid_to__gt=F("valid_to_known_at")),  # dated ahead, not replaced while somebody asked\n', ""),
    Mutant("two equal moments are refused", "queries", "memories/queries/where.py", "narrowing.after > narrowing.before", "narrowing.after >= narrowing.before"),
    Mutant("a row that counts now was shown then", "queries", "memories/queries/known_then.py", "elif state in _HIDDEN:", "else:"),
    Mutant("recall returns candidates", "recall", _VISIBILITY, "trusts=RECALLED, narrowing=narrow", "trusts=EVERY_TRUST, narrowing=narrow"),
    Mutant("recall returns history", "recall", _VISIBILITY, "(HISTORY_STATES if is_history else frozenset())", "HISTORY_STATES"),
    Mutant("memories of missing commits stay hidden when asked for", "recall", _VISIBILITY, "if not missing or visibility.include_orphans:", "if not missing:"),
    Mutant("memories of missing commits are recalled", "recall", _VISIBILITY, "    if v.orphans:\n        condition &= ~Q(key__in=v.orphans)\n", ""),
    Mutant("recall without a group reads every group", "recall", "access/visibility.py", "groups = None if actor.all_groups else frozenset(actor.roles)", "groups = None"),
    Mutant("recall asks no right to read", "recall", "access/visibility.py", "if not actor.may(READ, group.key if group else None):", "if False:"),
    Mutant("an expired fact is recalled", "recall", _VISIBILITY, "condition &= Q(expires_at=None) | Q(expires_at__gt=v.now)", "pass"),
    Mutant("a head moves without a comparison", "audit", _CHAINS, "AuditHead.objects.filter(pk=key, seq=before)", "AuditHead.objects.filter(pk=key)"),
    Mutant("a digest has no salt", "audit", _CHAINS, 'f"{salt}:{canonical_json(payload)}"', 'f"{canonical_json(payload)}"'),
    Mutant("all chains begin alike", "audit", _CHAINS, "hash_line(join_json(end, chain))", "hash_line(join_json(end))"),
    Mutant("a missing payload needs no purge", "audit", _VERIFY, "error = error or (\"\" if is_front else purges.find_error(entry))", "pass"),
    Mutant("a cleared group excuses later rows", "audit", _VERIFY, "entry.chain == chain and entry.seq < seq", "entry.chain == chain"),
    Mutant("a link may be removed", "audit", _VERIFY, "if linked.get(chain, 0) < seq:", "if False:"),
    Mutant("the first kept row is dropped", "audit", "access/audit/retention.py", 'return int(remaining) - 1', 'return int(remaining)'),
    Mutant("a token needs no scope", "access", "access/actor.py", "        if right not in self.scopes:\n            return False\n", ""),
    Mutant("a role includes less", "access", "access/actor.py", "Membership.RANK[role] >= Membership.RANK", "Membership.RANK[role] > Membership.RANK"),
    Mutant("a superuser's bound token reaches every group", "access", _TOKENS, "        everywhere = False\n", ""),
    Mutant("a browser's token works elsewhere", "access", _TOKENS, "if token.origin and token.origin != origin:", "if False:"),
    Mutant("a token grants what its maker lacks", "access", _TOKENS, "beyond = sorted(scopes - actor.scopes)", "beyond = []"),
    Mutant("a token may resume itself", "access", "access/tokens/suspend.py", "    if not actor.is_person:\n", "    if False:\n"),
    Mutant("a token works at its last moment", "access", "access/models/token.py", "self.expires_at > timezone.now()", "self.expires_at >= timezone.now()"),
    Mutant("a curator changes members", "access", "access/groups/members.py", "if not actor.may(ADMIN, group.key):", 'if not actor.may("curate", group.key):'),
    Mutant("the last superuser may leave", "access", "access/sign_in/users.py", "if not User.objects.filter(is_superuser=True, is_active=True).exists():", "if False:"),
    Mutant("a deactivated person's tokens work again", "access", "access/sign_in/users.py", "    tokens.update(revoked_at=timezone.now())\n", ""),
    Mutant("recalls do not slow decay", "cycle", "maintenance/cycle/decay.py", "recalls=memory.access_count", "recalls=0"),
    Mutant("a quarter of the sources is enough", "cycle", "maintenance/cycle/compaction/__init__.py", "(sources + 1) // 2)", "(sources + 3) // 4)"),
    Mutant("an event that became old enough is not new", "cycle", "maintenance/cycle/compaction/buckets.py", " or at >= mark.horizon", ""),
    Mutant("a changed event is not new", "cycle", "maintenance/cycle/compaction/buckets.py", " or updated > mark.seen", ""),
    Mutant("a suspended token comes back with a restore", "backups", "maintenance/backups/stricter.py", '        StrictField("suspended_at", either,', '        StrictField("suspended_at", lambda now, then: then,'),
)
# fmt: on
