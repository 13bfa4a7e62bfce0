"""`loci memory relate`: a relation between two memories or names."""

from typing import Any, Final

from access.management.command import GROUP, CommandAnswer, CommandVerb, many, option
from access.tokens import operator
from memories.browse.serializers import RelationStoredOut
from memories.draft import DEFAULT_CONFIDENCE
from memories.entities.store_relation import RelationDraft, store_relation
from memories.language.cleaning import parse_moment
from memories.management.output import in_lines, printable


def relate(options: dict[str, Any]) -> CommandAnswer:
    """Store one relation; names that are not known yet become entities."""
    names = ("subject", "predicate", "object", "group", "confidence", "valid_from", "valid_to")
    draft = RelationDraft(evidence=tuple(options["evidence"]), **{name: options[name] for name in names})
    stored = store_relation(operator(), draft)
    new = " (a new group)" if stored.group_created else ""
    line = f"{stored.subject.content} —{stored.relation.predicate}→ {stored.object.content}"
    why = f": {stored.why}" if stored.why else ""
    text = f"{stored.outcome.capitalize()} {stored.relation.id} in {stored.group}{new}: {line}{why}"
    made = f"New entities: {', '.join(stored.entities_created)}." if stored.entities_created else ""
    return CommandAnswer(RelationStoredOut.json(stored), in_lines(printable(text), printable(made)))


RELATE: Final = CommandVerb(
    relate,
    'relate two memories or names, for questions such as "which team owns the invoice service?"',
    (
        option("subject", help="a name, or the id of a memory"),
        option("predicate", help="what holds between them, such as owned_by_team"),
        option("object", help="a name, or the id of a memory"),
        GROUP,
        many("--evidence", "ID", "a memory that proves it"),
        option("--confidence", type=float, default=DEFAULT_CONFIDENCE, metavar="0..1", help="default: %(default)s"),
        option("--valid-from", metavar="TIME", read=parse_moment, help="since when it is true"),
        option("--valid-to", metavar="TIME", read=parse_moment, help="until when it is true"),
    ),
    uses_model=True,
)  # fmt: skip
