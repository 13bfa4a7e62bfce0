"""What no text has: NUL, and half of a surrogate pair. No database keeps them and no answer can hold them."""

from access.errors import InvalidInput


def refuse_unstorable(raw: str, *, field: str) -> None:
    """Raise InvalidInput where a text holds NUL or half of a surrogate pair; the message says where."""
    at = raw.find("\x00")
    if at >= 0:
        raise InvalidInput(
            f"'{field}' holds a NUL character at position {at}.",
            hint="Send text, not binary data.",
            field=field,
        )
    try:
        raw.encode()
    except UnicodeEncodeError as broken:
        raise InvalidInput(
            f"'{field}' holds half of a surrogate pair at position {broken.start}, which is no character.",
            hint="Send valid Unicode.",
            field=field,
        ) from None
