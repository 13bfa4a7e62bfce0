"""`manage.py search`: another name of `recall`."""

from memories.management.commands.recall import Command as Recall


class Command(Recall):
    """As recall."""

    help = "Recall what is known about a question (the same as recall)."
