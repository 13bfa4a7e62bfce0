"""Completion scripts for shells, written from the argument parsers: no program runs while a person types."""

import argparse
import sys
from collections.abc import Iterator
from typing import Final

import django
from django.core.management import get_commands, load_command_class
from django.core.management.base import DjangoHelpFormatter

from access.connect import SCRIPTS
from loci_site.management.command_list import GROUPS

_SHELLS: Final = ("bash", "zsh")
DJANGO_OPTIONS: Final = frozenset(DjangoHelpFormatter.show_last) - {"--help"}

# The command is the first word without a dash, the subcommand the second: "token create".
FUNCTION: Final = """\
_loci() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" place="" words="" word
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$place" in *" "*) break ;; esac
    case "$word" in -*) ;; *) place="${{place:+$place }}$word" ;; esac
  done
  while :; do
    case "$place" in
{cases}
      *" "*) place="${{place% *}}"; continue ;;
    esac
    break
  done
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _loci {programs}
"""


def completion_script(shell: str) -> str:
    """The script for one of _SHELLS; zsh runs bash's with its own emulation."""
    cases = "\n".join(f'      "{place}") words="{" ".join(words)}" ;;' for place, words in _completions())
    script = FUNCTION.format(cases=cases, programs=" ".join(SCRIPTS))
    head = (
        "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n"
        if shell == "zsh"
        else ""
    )
    return head + script


def print_completion(words: list[str]) -> None:
    """Write the script for the shell in `words`; ends the process with status 2 if that is none of _SHELLS."""
    if len(words) != 1 or words[0] not in _SHELLS:
        sys.stderr.write(f"Name the shell: --print-completion {' or '.join(_SHELLS)}\n")
        sys.exit(2)
    django.setup()
    sys.stdout.write(completion_script(words[0]))


def _completions() -> Iterator[tuple[str, list[str]]]:
    """Each place in a command line, such as "token create", with the words that may follow."""
    names = sorted(name for group in GROUPS.values() for name in group)
    yield "", [*names, "--help", "--version", "--print-completion"]
    for name in names:
        parser = load_command_class(str(get_commands()[name]), name).create_parser("loci", name)
        yield name, words_of(parser)
        for sub, child in _subcommands(parser).items():
            yield f"{name} {sub}", words_of(child)


def words_of(parser: argparse.ArgumentParser) -> list[str]:
    """Subcommands, choices of arguments, and long options of a parser."""
    words = [*_subcommands(parser)]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction) or action.help == argparse.SUPPRESS:
            continue
        if action.option_strings:
            words += [
                word for word in action.option_strings if word.startswith("--") and word not in DJANGO_OPTIONS
            ]
        else:
            words += [str(choice) for choice in action.choices or ()]
    return words


def _subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}
