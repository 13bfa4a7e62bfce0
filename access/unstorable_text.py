"""Characters that no text may contain: NUL and unpaired surrogates. Neither databases nor responses can hold them."""

from access.errors import InvalidInput


def refuse_unstorable(raw: str, *, field: str) -> None:
    """Raise InvalidInput, with the position, if a text contains NUL or an unpaired surrogate."""
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
            f"'{field}' holds half of a surrogate pair at position {broken.start}, which is not a character.",
            hint="Send valid Unicode.",
            field=field,
        ) from None
