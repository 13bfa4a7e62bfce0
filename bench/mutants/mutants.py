"""The mutants. A new mutant is a line; its old text must be in its file exactly once."""

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
    "undo": (
        "tests/memories/lifecycle/test_undo.py tests/storage/test_changes.py tests/memories/lifecycle/test_verbs.py",
        "tests/maintenance/cycle/test_undo.py",
        "tests/memories/lifecycle",
    ),
    "lifecycle": (
        "tests/memories/lifecycle/test_verbs.py tests/memories/lifecycle/test_approve.py tests/memories/lifecycle/test_merge.py",
        "tests/memories/lifecycle/test_superseding.py tests/memories/lifecycle/test_doubt.py tests/memories/review/test_proposals.py",
        "tests/memories/lifecycle",
    ),
    "purge": (
        "tests/memories/lifecycle/test_destroy.py tests/memories/lifecycle/test_purge.py tests/memories/lifecycle/test_left_behind.py",
        "tests/memories/lifecycle tests/maintenance/test_retention.py",
    ),
    "review": (
        "tests/memories/review/test_decide.py tests/memories/review/test_proposals.py",
        "tests/memories/review",
    ),
    "gate": ("tests/access/groups", "tests/guard"),
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
_UNDO, _REVERSE, _ADMIT = (
    "memories/lifecycle/undo/__init__.py",
    "memories/lifecycle/undo/reverse.py",
    "memories/lifecycle/undo/reverse.py",
)
_RESTORE, _EDIT, _MERGE = (
    "memories/lifecycle/restore.py",
    "memories/lifecycle/edit.py",
    "memories/lifecycle/merge.py",
)
_PURGE, _PLACES = "memories/lifecycle/purge/__init__.py", "memories/lifecycle/purge/places.py"
_SUPERSEDE, _GATE = "memories/store/supersede.py", "access/groups/guarding.py"
_TOKENS, _CHAINS, _VERIFY = "access/tokens/__init__.py", "access/audit/__init__.py", "access/audit/verify.py"
# fmt: off
MUTANTS: Final = (
    Mutant("a quarantined exact text may be reinforced", "store", _DECIDE, "    if exact.trust in WITHDRAWN_TRUSTS:", "    if exact.trust == Trust.REJECTED:"),
    Mutant("a doubt does not hold back a text that was superseded", "store", _DECIDE, "restated or _write_doubt(actor, context)\n    return", "restated\n    return"),
    Mutant("an unprobed text may be current again", "store", _DECIDE, "is_held = not context.is_probed or restated", "is_held = restated"),
    Mutant("a private group takes global memories", "store", _DECIDE, "if not context.group.may_hold(context.draft.scope)", "if False"),
    Mutant("a writer may make a memory global", "store", _DECIDE, "and widens and not actor.may(CURATE,", "and widens and not actor.may(WRITE,"),
    Mutant("a restatement crosses scopes", "store", _DECIDE, "is_own = memory.group_id == context.group.key and memory.scope == context.draft.scope", "is_own = memory.group_id == context.group.key"),
    Mutant("an event is restated by another", "store", _DECIDE, "if context.draft.type == Type.EPISODIC or context.replaces is not None", "if context.replaces is not None"),
    Mutant("a place is refused to later versions", "store", "memories/store/threads.py", "position=draft.position, root=None).exists()", "position=draft.position).exists()"),
    Mutant("the least confidence waits too", "store", _POLICY, "if confidence < group.policy_confidence", "if confidence <= group.policy_confidence"),
    Mutant("confidence rises at each restatement", "store", "memories/store/rows.py", "if not is_counted:", "if True:"),
    Mutant("a lifted tombstone still bars", "store", "memories/store/withdrawn/marks.py", "tombstones.filter(lifted_at=None)", "tombstones"),
    Mutant("a contradiction restates", "store", "memories/store/neighbours.py", "        if self.contradiction is not None:\n            return False\n        is_unsure", "        is_unsure"),
    Mutant("a memory ends a moment late", "queries", _VERSIONS, "memory.valid_to <= at", "memory.valid_to < at"),
    Mutant("a memory expires a moment late", "queries", _VERSIONS, "memory.expires_at <= at", "memory.expires_at < at"),
    Mutant("what was not known then counts in a row", "queries", _VISIBILITY, '        yield _Test("created_at", "<=", v.known_at)\n', ""),
    Mutant("an end that was not known yet counts", "queries", _VISIBILITY, 'true_then += (_Test("valid_to_known_at", ">", v.known_at),)', "true_then += ()"),
    Mutant("a successor that came at once counts as dated ahead", "queries", _VISIBILITY, '            _Test("valid_to", "> column", "valid_to_known_at"),\n', ""),
    Mutant("two equal moments are refused", "queries", "memories/queries/where.py", "narrowing.after > narrowing.before", "narrowing.after >= narrowing.before"),
    Mutant("a row that counts now was shown then", "queries", "memories/queries/known_then.py", "elif state in _HIDDEN:", "else:"),
    Mutant("recall returns candidates", "recall", _VISIBILITY, "trusts=RECALLED, narrowing=narrow", "trusts=EVERY_TRUST, narrowing=narrow"),
    Mutant("recall returns history", "recall", _VISIBILITY, "(HISTORY_STATES if is_history else frozenset())", "HISTORY_STATES"),
    Mutant("memories of missing commits stay hidden when asked for", "recall", _VISIBILITY, "if not missing or visibility.include_orphans:", "if not missing:"),
    Mutant("memories of missing commits are recalled", "recall", _VISIBILITY, '        ("key", "not in", v.orphans),\n', ""),
    Mutant("recall without a group reads every group", "recall", "access/visibility.py", "groups = None if actor.all_groups else frozenset(actor.roles)", "groups = None"),
    Mutant("recall asks no right to read", "recall", "access/visibility.py", "if not actor.may(READ, group.key if group else None):", "if False:"),
    Mutant("an expired fact is recalled", "recall", _VISIBILITY, '            _until("expires_at", moment),\n', ""),
    Mutant("a head moves without a comparison", "audit", _CHAINS, "AuditHead.objects.filter(pk=key, seq=before)", "AuditHead.objects.filter(pk=key)"),
    Mutant("a digest has no salt", "audit", _CHAINS, 'f"{salt}:{canonical_json(payload)}"', 'f"{canonical_json(payload)}"'),
    Mutant("all chains begin alike", "audit", _CHAINS, "_hash_line(_join_json(end, chain))", "_hash_line(_join_json(end))"),
    Mutant("a missing payload needs no purge", "audit", _VERIFY, "error = error or (\"\" if is_front else purges.find_error(entry))", "pass"),
    Mutant("a cleared group excuses later rows", "audit", _VERIFY, "entry.chain == chain and entry.seq < seq", "entry.chain == chain"),
    Mutant("a link may be removed", "audit", _VERIFY, "if linked.get(chain, 0) < seq:", "if False:"),
    Mutant("the first kept row is dropped", "audit", "access/audit/retention.py", 'return int(remaining) - 1', 'return int(remaining)'),
    Mutant("a token needs no scope", "access", "access/actor.py", "        if right not in self.scopes:\n            return False\n", ""),
    Mutant("a role includes less", "access", "access/actor.py", "Membership.RANK[role] >= Membership.RANK", "Membership.RANK[role] > Membership.RANK"),
    Mutant("a superuser's bound token reaches every group", "access", _TOKENS, "        everywhere = False\n", ""),
    Mutant("a browser's token works elsewhere", "access", _TOKENS, "if token.origin and token.origin != origin:", "if False:"),
    Mutant("a token grants what its maker lacks", "access", _TOKENS, "beyond = sorted(scopes - actor.scopes)", "beyond = []"),
    Mutant("a token may resume itself", "access", "access/tokens/__init__.py", "    if not actor.is_person:\n", "    if False:\n"),
    Mutant("a token works at its last moment", "access", "access/models/token.py", "self.expires_at > timezone.now()", "self.expires_at >= timezone.now()"),
    Mutant("a curator changes members", "access", "access/groups/members.py", "if not actor.may(ADMIN, group.key):", 'if not actor.may("curate", group.key):'),
    Mutant("the last superuser may leave", "access", "access/sign_in/users.py", "if not User.objects.filter(is_superuser=True, is_active=True).exists():", "if False:"),
    Mutant("a deactivated person's tokens work again", "access", "access/sign_in/users.py", "    tokens.update(revoked_at=timezone.now())\n", ""),
    Mutant("another token takes a write back", "undo", _UNDO, '"actor": actor.name, "token": actor.token_id}', '"actor": actor.name}'),
    Mutant("an undo passes the group's policy", "undo", _UNDO, "    _refuse_held(actor, TELLING[operation], [each for each in entries if each.operation == operation])\n", ""),
    Mutant("another token of a person counts as oneself", "undo", _REVERSE, "since.exclude(actor=self.actor.name, token=self.actor.token_id)", "since.exclude(actor=self.actor.name)"),
    Mutant("a memory that was judged since is hidden", "undo", _REVERSE, "if touched and (self.terms.partial or _DECIDED & touched):", "if touched and self.terms.partial:"),
    Mutant("what was changed after a restore is hidden with its undo", "undo", _REVERSE, "if _goes_away(row) and not self.terms.partial:", "if False:"),
    Mutant("an undo closes what a person has decided about", "undo", _REVERSE, "if self._is_decided(found, row):", "if False:"),
    Mutant("a run's undo overwrites a decision made since", "undo", _REVERSE, "if changed and (not self.terms.partial or is_whole):", "if changed and not self.terms.partial:"),
    Mutant("an undo forgets the recalls since", "undo", _REVERSE, "max(0, found.access_count - (after - old))", "old"),
    Mutant("a move is undone without a right in the other group", "undo", _REVERSE, 'for group in row.values["group_id"]:', "for group in ():"),
    Mutant("what was taken back is not marked", "undo", _REVERSE, ".update(undone_by=current_change())", ".update(undone_by=None)"),
    Mutant("a text that comes back passes no guard", "undo", _ADMIT, 'return {"trust": Trust.QUARANTINED} if _is_held(as_new, as_new.group) else {}', "return {}"),
    Mutant("a global memory comes back into a private group", "undo", _ADMIT, "    check_scope(as_new)\n", ""),
    Mutant("a column changed twice comes back half way", "undo", "memories/lifecycle/undo/rows.py", "first = row.values.get(name, (table.typed(name, old), None))[0]\n", "first = table.typed(name, old)\n"),
    Mutant("a purge inside a change keeps values", "undo", "storage/changes.py", "number is None or open_ == _NOT_KEPT else", "number is None else"),
    Mutant("a fraction comes back rounded", "undo", "storage/journal.py", "%!.17g", "%.15g"),
    Mutant("another token of a person takes a retraction back", "lifecycle", _RESTORE, "return (last.actor, last.token) == (actor.name, actor.token_id)", "return last.actor == actor.name"),
    Mutant("an agent restores what a person forgot", "lifecycle", _RESTORE, "if is_persons and not actor.is_person else", "if False else"),
    Mutant("an unseen text stays verified", "lifecycle", _EDIT, "return Trust.ACTIVE if old.trust == Trust.VERIFIED and not is_curator else old.trust", "return old.trust"),
    Mutant("an edit overwrites one made meanwhile", "lifecycle", _EDIT, "state=State.LIVE, updated_at=old.updated_at)", "state=State.LIVE)"),
    Mutant("an agent's edit settles a dispute", "lifecycle", _EDIT, "    if actor.decides(old.group_id):  #", "    if True:  #"),
    Mutant("an approved edit loses the pin", "lifecycle", "memories/lifecycle/approve.py", '"valid_to_known_at", "pinned", "access_count"', '"valid_to_known_at", "access_count"'),
    Mutant("an approval settles every conflict", "lifecycle", _SUPERSEDE, "if ON_APPROVAL in link.evidence\n        and (head", "if (head"),
    Mutant("an earlier end of valid time is lost", "lifecycle", _SUPERSEDE, "if old.type == Type.EPISODIC or (old.valid_to is not None and old.valid_to <= end):", "if old.type == Type.EPISODIC:"),
    Mutant("a merge needs no right to curate the survivor", "lifecycle", _MERGE, "right = CURATE if actor.is_person else WRITE", "right = WRITE"),
    Mutant("a merge verifies a text from outside", "lifecycle", _MERGE, "if survivor.outside and not source.outside:", "if False:"),
    Mutant("what goes along with a change never waits", "lifecycle", "memories/lifecycle/propose.py", "why = why or held_with(actor, change, memory, reached())", "reached()"),
    Mutant("retention destroys what counts", "purge", _PURGE, "return row.expires_at is not None and row.expires_at <= now", "return True"),
    Mutant("a purge asks no right for what goes along", "purge", _PURGE, "if not all(actor.may(CURATE, row.group_id) for row in rows):", "if False:"),
    Mutant("retention bars the texts", "purge", _PURGE, "bars=because.why is Why.NAMED", "bars=True"),
    Mutant("the reason of a purge quotes the text", "purge", _PURGE, "reason = gone.quotes.blank(because.reason)", "reason = because.reason"),
    Mutant("a purge keeps former values", "purge", _PURGE, "with keeping_nothing(), transaction.atomic():\n        hold_groups({row.group_id for row in known.rows})", "with transaction.atomic():\n        hold_groups({row.group_id for row in known.rows})"),
    Mutant("a purge destroys what a run did to others", "purge", _PLACES, "row__in=doomed.keys) & ~Q(op=\"b\")", "row__in=doomed.keys)"),
    Mutant("a stored answer that names the memory stays", "purge", _PLACES, 'looks_for=attrgetter("named")', 'looks_for=attrgetter("quotes")'),
    Mutant("a plan's purge destroys what holds today", "purge", "memories/lifecycle/purge/targets.py", "return list(plan.rows) if holds and memory.key in {row.key for row in plan.rows} else versions", "return versions"),
    Mutant("an agent decides in the Review", "review", "memories/review/decide.py", '    require_person(actor, "review")\n', ""),
    Mutant("a reader undoes a decision about a link", "review", "memories/review/decide.py", "    require_right(actor, memory, right=CURATE)\n", ""),
    Mutant("a link to a memory of a closed group shows", "review", "memories/review/links.py", "links.filter(source__in=seen, target__in=seen)", "links.filter(source__in=seen)"),
    Mutant("a closed link is closed again", "review", "memories/review/links.py", "filter(pk=link.pk, status=LinkStatus.OPEN)", "filter(pk=link.pk)"),
    Mutant("a stale proposal is carried out", "review", "memories/review/proposals.py", "    if is_stale(proposal):\n        raise", "    if False:\n        raise"),
    Mutant("an approved successor waits again", "review", "memories/review/proposals.py", "successor=successor, reason=reason, is_decided=True)", "successor=successor, reason=reason)"),
    Mutant("a label waits unmasked", "gate", _GATE, "        if not waits:\n            return GuardTreatment.MASK\n", ""),
    Mutant("instructions pass a group that refuses them", "gate", _GATE, "            and treatment is not GuardTreatment.REFUSE\n", ""),
    Mutant("a label clean at one door is clean at all", "gate", _GATE, '(f"{before}{text}", self.door, words)', '(f"{before}{text}", words)'),
    Mutant("a key that is cut in two is masked in the first part", "gate", _GATE, "if each.span[1] > at and each.span[0] < end", "if at <= each.span[0] < end"),
    Mutant("a rule for a kind goes below the floor of its family", "gate", _GATE, "floor.get(name, floor.get(family, GuardTreatment.ALLOW))", "floor.get(name, GuardTreatment.ALLOW)"),
    Mutant("a secret in the name of a value stays", "gate", _GATE, "keys = [name.value if name.findings else key for name, key in zip(names, value, strict=True)]", "keys = list(value)"),
    Mutant("a refused part of JSON is stored", "gate", _GATE, "refusal = next((part.refusal for part in every if part.refusal is not None), None)", "refusal = None"),
    Mutant("recalls do not slow decay", "cycle", "memories/decay.py", "log(1 + memory.access_count)", "log(1)"),
    Mutant("a summary quotes what moved away", "cycle", "maintenance/cycle/compaction/weeks.py", "filter(group=turn.group, scope__in", "filter(scope__in"),
    Mutant("what waits for its vector is skipped", "cycle", "maintenance/cycle/vectors.py", "if not waiting or key < min(waiting)", "if key not in waiting"),
    Mutant("a batch that was rolled back is counted", "cycle", "maintenance/cycle/__init__.py", "            self.run.cursor, self.run.counts, self.run.steps = before\n", ""),
    Mutant("a suspended token comes back with a restore", "backups", "maintenance/backups/stricter.py", '        _StrictField("suspended_at", either,', '        _StrictField("suspended_at", lambda now, then: then,'),
)
# fmt: on
