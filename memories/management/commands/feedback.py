"""`manage.py feedback`: say which recalled memories were used, and which were wrong."""

from typing import Any, Final

from django.core.management.base import CommandParser

from access.tokens import operator
from memories.language.plurals import format_memory_count
from memories.management.output import FaceCommand
from memories.models import FeedbackVerdict
from memories.review.feedback import feedback_json, give_feedback

EXAMPLES: Final = """\
examples:
  loci feedback used 0c07398f
  loci feedback wrong 0c07398f 55aa01c2
  loci feedback used 0c07398f --recall ID          of a recall that 'loci recalls' lists

People see it in review and on the memory's page; the order of answers never depends on it.

exit status: 0 stored (also if it was said before), 1 an error, 2 wrong usage
"""


class Command(FaceCommand):
    """Stores a verdict about memories that a recall returned."""

    help = "Say which recalled memories were used, and which were wrong."
    examples = EXAMPLES
    takes_group = False

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("verdict", choices=FeedbackVerdict.values)
        parser.add_argument("ids", nargs="+", metavar="ID", help="ids of memories, full or short")
        parser.add_argument(
            "--recall",
            default="",
            metavar="ID",
            help="default: your newest recall of the last 24 hours that returned it",
        )

    def act(self, options: dict[str, Any]) -> int:
        given = give_feedback(operator(), recall=options["recall"], **{options["verdict"]: options["ids"]})
        body = feedback_json(given)
        if options["json"]:
            self.print_json(body)
        else:
            said = format_memory_count(len(given))
            self.stdout.write(f"Noted as {options['verdict']}: {said}, {body['recorded']} new.")
        return 0
