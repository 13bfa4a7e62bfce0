"""The registry of options: what several commands and verbs share stands here once, with its help."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

YES_NO: Final = {"yes": True, "no": False}


@dataclass(frozen=True)
class Option:
    """An argument of a command: its names, argparse's keywords, and how its text is read, if it is given."""

    names: tuple[str, ...]
    how: dict[str, Any] = field(default_factory=dict)
    read: Callable[..., Any] | None = None  # (value, field=NAME)

    def but(self, **how: Any) -> "Option":
        """The same option with other keywords, such as its help."""
        return replace(self, how=self.how | how)


@dataclass(frozen=True)
class Either:
    """Options of which one at most may be given; with `required`, one must be."""

    options: tuple[Option, ...]
    required: bool = False


def option(*names: str, read: Callable[..., Any] | None = None, **how: Any) -> Option:
    """An option, or with a name without dashes an argument by place."""
    return Option(names, how, read)


def flag(name: str, meaning: str, **how: Any) -> Option:
    """An option without a value."""
    return Option((name,), {"action": "store_true", "help": meaning, **how})


def many(name: str, metavar: str | None, meaning: str, **how: Any) -> Option:
    """An option that may be repeated."""
    how = {"action": "append", "default": [], **({"metavar": metavar} if metavar else {}), **how}
    return Option((name,), how | {"help": f"{meaning}; repeat for more"})


def either(*options: Option, required: bool = False) -> Either:
    """Options that exclude each other."""
    return Either(options, required)


def add_options(parser: argparse.ArgumentParser, options: tuple[Option | Either, ...]) -> None:
    """Add the options to a parser."""
    for each in options:
        if isinstance(each, Either):
            group = parser.add_mutually_exclusive_group(required=each.required)
            for one in each.options:
                group.add_argument(*one.names, **one.how)
        else:
            parser.add_argument(*each.names, **each.how)


def read_options(values: dict[str, Any], options: tuple[Option | Either, ...]) -> dict[str, Any]:
    """The values of a command line with those of options that have a reader read; raises what the reader raises."""
    done = dict(values)
    for each in options:
        if isinstance(each, Option) and each.read is not None:
            name = str(each.how.get("dest") or each.names[-1].lstrip("-").replace("-", "_"))
            done[name] = each.read(values[name], field=name) if values[name] else None
    return done


JSON: Final = flag("--json", "answer as one JSON object")
DRY_RUN: Final = flag("--dry-run", "show what would happen, change nothing")
YES: Final = flag("--yes", "confirm")
REASON: Final = option("--reason", default="", help="kept in the audit log")
GROUP: Final = option("--group", metavar="SLUG", help="default: LOCI_GROUP")
GROUPS: Final = many("--group", "SLUG", "only this group")
THREAD: Final = option("--thread", default="", metavar="NAME", help="the thread (conversation) it belongs to")
SOURCE: Final = option("--source", default="", metavar="NAME", help="only from this source")
LIMIT: Final = option("--limit", type=int, metavar="N", help="how many at most")
CURSOR: Final = option("--cursor", default="", help="the `next` value of the previous page")
ALLOW: Final = many("--allow", "KIND", "a guessed secret that is none, such as password")
TO_FILE: Final = option("--to", type=Path, metavar="FILE")
PORT: Final = option("--port", help="port to listen on; default: the setting server.port")
USER: Final = option("--user", help="the user that the token acts for; default: the first superuser")
EMAIL: Final = option("--email", help="e-mail address")
NAME: Final = option("name", help="login name")
