"""Passwords: made so that they can be read out, and asked for without ever standing on a command line."""

import getpass
import secrets
import sys

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError

from access.errors import InvalidInput

# No characters that look alike; 20 of 31 are 99 bits.
ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
PARTS, PART_LENGTH = 4, 5
MAX_CHARS = 4096


def generated_password() -> str:
    """Give a password that can be read out and typed: four parts of five characters."""
    parts = ("".join(secrets.choice(ALPHABET) for _ in range(PART_LENGTH)) for _ in range(PARTS))
    return "-".join(parts)


def typed_password() -> str:
    """Ask for a password twice at the terminal, without showing it.

    Raises:
        InvalidInput: there is no terminal, or the two differ.
    """
    if not sys.stdin.isatty():
        raise InvalidInput(
            "There is no terminal to ask for a password.",
            hint="Use --password-stdin, or --generate.",
            field="password",
        )
    first = getpass.getpass("Password: ")
    if first != getpass.getpass("Password (again): "):
        raise InvalidInput("The two passwords differ.", hint="Nothing was done. Try again.", field="password")
    return first


def piped_password() -> str:
    """Give the first line of standard input.

    Raises:
        InvalidInput: it is empty.
    """
    line = sys.stdin.readline(MAX_CHARS).rstrip("\r\n")
    if not line:
        raise InvalidInput("Standard input holds no password.", hint="Put it on one line.", field="password")
    return line


def check_password(password: str, user: User) -> None:
    """Raise InvalidInput where a password is too weak for this person; the message never holds it."""
    try:
        validate_password(password, user)
    except ValidationError as weak:
        raise InvalidInput(" ".join(weak.messages), hint="Choose another one.", field="password") from None
