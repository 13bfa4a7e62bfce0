"""Errors that callers see: each has a code, an HTTP status, a message and a hint on what to do next."""

from typing import ClassVar

from storage.faults import StorageFault, find_storage_fault, is_unreachable


class LociError(Exception):
    """An error that the caller can act on; interfaces render `as_dict()` and never a traceback."""

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500

    def __init__(self, message: str, *, hint: str = "", field: str = "", wait_s: int = 0) -> None:
        super().__init__(message)
        # The message may quote the caller's input, which may contain text that cannot be encoded in a response.
        self.message = message.encode("utf-8", "backslashreplace").decode()
        self.hint = hint.encode("utf-8", "backslashreplace").decode()
        self.field = field
        self.wait_s = wait_s  # of an error that passes: seconds until the next attempt

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()

    def as_dict(self) -> dict[str, str]:
        """The dict `{code, message, hint}`, with `field` if one value caused the error."""
        answer = {"code": self.code, "message": self.message, "hint": self.hint}
        return answer | {"field": self.field} if self.field else answer


class InvalidInput(LociError):
    """A value is not allowed; `field` names it."""

    code = "invalid_input"
    status = 422


class SensitiveText(InvalidInput):
    """The text holds what the group's policy does not store, such as a password; `field` names the part."""

    code = "sensitive_text"
    may_allow = False  # the sender may vouch for all that was found


class TooLarge(LociError):
    """The request is larger than the limit."""

    code = "too_large"
    status = 413


class NotAuthenticated(LociError):
    """There is no token, or it is unknown, revoked or expired."""

    code = "not_authenticated"
    status = 401


class NotPermitted(LociError):
    """The caller may see the object but not do this."""

    code = "not_permitted"
    status = 403


class NotFound(LociError):
    """The object does not exist or the caller may not see it."""

    code = "not_found"
    status = 404


class GroupNotFound(NotFound):
    """The group does not exist or the caller may not see it."""

    code = "group_not_found"


class GroupRequired(LociError):
    """The call names no group and there is no default."""

    code = "group_required"
    status = 422


class Conflict(LociError):
    """The object changed in the meantime, or its current state forbids the operation."""

    code = "conflict"
    status = 409


class GroupFull(Conflict):
    """The group holds as many memories, or as much text, as it may."""

    code = "group_full"


class InFlight(Conflict):
    """A write with the same key is under way; the header `Retry-After` holds the seconds to wait."""

    code = "in_flight"


class TooManyAttempts(LociError):
    """Too many failures from this address; the header `Retry-After` holds the seconds to wait."""

    code = "too_many_attempts"
    status = 429


class TooManyWrites(TooManyAttempts):
    """The person has written `access.chars_per_day`; the header `Retry-After` holds the seconds to wait."""

    code = "too_many_writes"


class Unavailable(LociError):
    """A required component does not work at the moment."""

    code = "unavailable"
    status = 503


class OutOfTime(Unavailable):
    """The answer took longer than it may take, or its caller has gone."""

    code = "out_of_time"

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"The answer took longer than {seconds:g} s and was ended.",
            hint="Ask in fewer words, or narrow the question to a group, a type or a time.",
        )


class TooManyReads(TooManyAttempts):
    """More requests of one person wait than are kept; the header `Retry-After` holds the seconds to wait."""

    code = "too_many_reads"


class StorageFull(LociError):
    """The disk is full or read-only or reports an error; reads go on, and writes work again as soon as it does."""

    code = "storage_full"
    status = 507

    def __init__(self, fault: StorageFault) -> None:
        super().__init__(f"It was not saved: {fault}.", hint=_STORAGE_HINTS[fault])
        self.fault = fault


_STORAGE_HINTS = {
    StorageFault.FULL: "Free space on the disk that holds LOCI_HOME; writing then works again without a restart.",
    StorageFault.READ_ONLY: "Make the files in LOCI_HOME writable for the user that runs Loci.",
    StorageFault.BROKEN: "Check the disk and the system's log, then run 'loci doctor'.",
}


def as_storage_error(error: BaseException | None) -> StorageFull | Unavailable | None:
    """The error to show if the disk, or a database server that does not answer, caused this one; None for any other cause."""
    if (fault := find_storage_fault(error)) is not None:
        return StorageFull(fault)
    if is_unreachable(error):
        return Unavailable(
            "The database does not answer.",
            hint="Try again in a moment. A write may have been saved all the same: sent again with its idempotency key, it"
            " is not written twice.",
        )
    return None


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
