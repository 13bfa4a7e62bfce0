"""The errors a caller may see: each has a code, an HTTP status, a sentence and what to do next."""

from typing import ClassVar


class LociError(Exception):
    """Something the caller can decide about; faces render `as_dict()` and never a traceback."""

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500

    def __init__(self, message: str, *, hint: str = "", field: str = "") -> None:
        super().__init__(message)
        # A caller's own words stand in it, which may hold what no answer can be written with.
        self.message = message.encode("utf-8", "backslashreplace").decode()
        self.hint = hint.encode("utf-8", "backslashreplace").decode()
        self.field = field

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()

    def as_dict(self) -> dict[str, str]:
        """Give `{code, message, hint}`, and `field` where one value is at fault."""
        answer = {"code": self.code, "message": self.message, "hint": self.hint}
        return answer | {"field": self.field} if self.field else answer


class InvalidInput(LociError):
    """A value is not allowed; `field` names it."""

    code = "invalid_input"
    status = 422


class TooLarge(LociError):
    """More was sent than is taken at once."""

    code = "too_large"
    status = 413


class NotAuthenticated(LociError):
    """No token, or one that is unknown, revoked or expired."""

    code = "not_authenticated"
    status = 401


class NotPermitted(LociError):
    """The caller may know of the thing but not do this."""

    code = "not_permitted"
    status = 403


class NotFound(LociError):
    """There is no such thing among what the caller may see."""

    code = "not_found"
    status = 404


class GroupNotFound(NotFound):
    """There is no such group among those the caller may see."""

    code = "group_not_found"


class GroupRequired(LociError):
    """No group was named and there is no default."""

    code = "group_required"
    status = 422


class Conflict(LociError):
    """The thing changed, or something in its place forbids the step."""

    code = "conflict"
    status = 409


class TooManyAttempts(LociError):
    """It failed too often from this address; the header `Retry-After` has the seconds to wait."""

    code = "too_many_attempts"
    status = 429

    def __init__(self, message: str, *, wait_s: int, hint: str = "", field: str = "") -> None:
        super().__init__(message, hint=hint, field=field)
        self.wait_s = wait_s


class Unavailable(LociError):
    """A part that is needed does not work now."""

    code = "unavailable"
    status = 503
