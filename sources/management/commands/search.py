"""`manage.py search`: an alias of `recall`."""

from sources.management.commands.recall import Command as Recall


class Command(Recall):
    """The same as recall."""

    help = "Recall the memories that answer a question (the same as recall)."
