"""Passwords: generated for reading aloud, or read without appearing on a command line."""

import getpass
import secrets
import sys

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError

from access.errors import InvalidInput

# No look-alike characters; 20 characters out of 31 have 99 bits.
ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
PARTS, PART_LENGTH = 4, 5
MAX_CHARS = 4096


def generated_password() -> str:
    """A random password that is easy to read out and type: four parts of five characters."""
    parts = ("".join(secrets.choice(ALPHABET) for _ in range(PART_LENGTH)) for _ in range(PARTS))
    return "-".join(parts)


def typed_password() -> str:
    """Ask for a password twice at the terminal, without echo.

    Raises:
        InvalidInput: there is no terminal, or the two inputs differ.
    """
    if not sys.stdin.isatty():
        raise InvalidInput(
            "There is no terminal to ask for a password.",
            hint="Use --password-stdin, or --generate.",
            field="password",
        )
    first = getpass.getpass("Password: ")
    if first != getpass.getpass("Password (again): "):
        raise InvalidInput(
            "The two passwords differ.", hint="Nothing was changed. Try again.", field="password"
        )
    return first


def piped_password() -> str:
    """The first line of standard input.

    Raises:
        InvalidInput: the line is empty.
    """
    line = sys.stdin.readline(MAX_CHARS).rstrip("\r\n")
    if not line:
        raise InvalidInput(
            "Standard input holds no password.", hint="Put it on the first line.", field="password"
        )
    return line


def check_password(password: str, user: User) -> None:
    """Raise InvalidInput if the password is too weak for this user; the message never contains it."""
    try:
        validate_password(password, user)
    except ValidationError as weak:
        raise InvalidInput(" ".join(weak.messages), hint="Choose another one.", field="password") from None
