"""docs/reference/trust.md, generated from the table in memories/store/policy.py."""

from typing import Final

from access.models import CandidatePolicy
from bench.reference import markdown
from memories.store.policy import RULES, ActorKind, Change

INTRO: Final = """\
What happens to a change that its caller has the [right](rights.md) to make: it happens at once, it waits for a curator,
or it is refused. REST, MCP, the commands and the browser all read this table.

- **agent**: a call with a token. **person**: somebody logged in who does not curate the group. **curator**: somebody logged
  in who does, or the operator on the machine itself.
- **none**, **below**, **agents**, **all** are the policies of the memory's group. *below* applies to a change whose
  confidence is below the group's: the new text's, or else the memory's own.
- **verified or pinned**: a person verified or pinned the memory. The column says what happens whatever the group's policy;
  an empty cell: as the policy says. So does a change that would end, withdraw, hide or destroy such a memory, as restoring a plan does.
  A purge by an agent is refused also if only a former version was verified, or what was merged into the memory, or if it is
  itself merged or superseded by now.
- A policy holds back changes of memories that recall returns: active and verified ones.

A **dispute** is a fact next to trust. It changes neither the memory's trust nor its rank, and decay and cleanup take no
notice of it. Recall, lists, pages and commands label the memory "disputed by NAME: reason", and the Review has a card. A
curator settles it: *verify* or *approve* keeps the memory as it is, *reject* and *retract* withdraw it, and another text
in its place settles it too. One person has at most one open dispute of a memory, and 50 open disputes, 50 waiting proposals
and 50 waiting replacements in a group, over all tokens; an undo or a restore that would open more is refused. Jobs have no
such limit.

In an answer, a text that contradicts or nearly repeats a verified memory stands after it, whatever its importance or
confidence, and a contradiction is marked "contradicts what NAME verified".

A store with `supersedes` follows both rows, *store* and *supersede*. A restatement that names an earlier beginning moves
`valid_from` only where an *edit* of the time would happen now. A new text that waits is a candidate. Any other change that
waits is a proposal: the answer says `queued` and has its id (REST: status 202). [Review](../how-to/review.md) decides both."""
MEANINGS: Final[dict[Change, str]] = {
    Change.STORE: "store a new text",
    Change.EDIT: "edit the text, type or time",
    Change.LABEL: "edit tags, importance or metadata",
    Change.EXPIRE: "edit when it expires",
    Change.SUPERSEDE: "supersede, also by storing a text with `supersedes`",
    Change.RETRACT: "retract",
    Change.FORGET: "forget",
    Change.RESTORE_VERSION: "restore a former version; take back a retraction of one's own",
    Change.DISPUTE: "dispute",
    Change.RESTORE: "restore a hidden memory",
    Change.MERGE: "merge into another memory",
    Change.PIN: "pin",
    Change.UNPIN: "unpin",
    Change.PURGE: "purge",
    Change.JUDGE: "verify, approve, reject, quarantine",
}


def page() -> str:
    """The page as Markdown."""
    rows = [table_row(change, kind) for change in Change for kind in ActorKind]
    header = ["change", "who", *CandidatePolicy.values, "verified or pinned"]
    return markdown.page("Who changes what", INTRO, markdown.table(header, rows))


def table_row(change: Change, kind: ActorKind) -> list[str]:
    """One row: the treatment under each policy, and of a protected memory."""
    rule = RULES[change][kind]
    cells = [rule.held if policy_holds(policy, kind) else rule.plain for policy in CandidatePolicy.values]
    protected = str(rule.protected) if rule.protected is not None else ""
    return [MEANINGS[change] if kind is ActorKind.AGENT else "", kind.value, *map(str, cells), protected]


def policy_holds(policy: str, kind: ActorKind) -> bool:
    """True if the policy holds back the writes of such an actor (for *below*: those of low confidence)."""
    is_agent = kind is ActorKind.AGENT
    return policy in (CandidatePolicy.ALL, CandidatePolicy.BELOW) or (
        policy == CandidatePolicy.AGENTS and is_agent
    )
