"""Which rows are a person's: by their account, or by the name in the row, "ann" or for a token "ann/laptop"."""

from typing import Final

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, QuerySet

from access import actor
from access.models import ApiToken
from memories.models import Memory, Thread

# Columns that name people, in whatever table.
NAMING: Final = frozenset(
    {
        "actor", "author_name", "closed_by", "created_by", "settled_by", "lifted_by", "undone_by", "added_by", "paused_by",
        "asked_by", "made_by", "released_by",
    }
)  # fmt: skip


def named(user: User, column: str) -> Q:
    """Condition: the column has the name of the person or of one of their tokens."""
    return actor.named(user.get_username(), column)


def names_of(user: User) -> frozenset[str]:
    """The names that rows have for the person: the login, and one for each token."""
    tokens = ApiToken.objects.filter(user=user).values_list("name", flat=True)
    return frozenset((user.get_username(), *(f"{user.get_username()}/{name}" for name in tokens)))


def authored(user: User) -> Q:
    """Condition: the row's author is the person."""
    return Q(author=user) | named(user, "author_name")


def is_author(user: User, row: Memory) -> bool:
    """authored() for one memory."""
    return row.author_id == user.pk or row.author_name.partition("/")[0] == user.get_username()


def own_threads(user: User) -> QuerySet[Thread]:
    """The conversations that their browser sent, and those in which no one else has a turn."""
    turns = Memory.objects.filter(thread=OuterRef("pk"))
    alone = Exists(turns.filter(authored(user))) & ~Exists(turns.exclude(authored(user)))
    return Thread.objects.filter(Q(owner=user) | alone)
