"""What the client asks of the server: a token for a one-time code, who a token is, its captures, and its end."""

import json
import platform
import re
from http.client import HTTPException
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from access.errors import InvalidInput, LociError, NotAuthenticated, NotPermitted, Unavailable
from storage.version import __version__

_WAIT_S = 15.0
_MAX_ANSWER = 1 << 20
_MAX_SHOWN = 1000  # characters of a text that a server sent
# What clients put into a header: some of them expand ${NAME} there.
_TOKEN: Final = re.compile(r"loci_[A-Za-z0-9_-]{20,100}")
_CHECKED: Final = {"version": str, "user": str, "group": str, "example": str, "scopes": list, "groups": list, "include_global": bool}  # fmt: skip

_CAPTURED: Final = ("at", "client", "group", "memory", "outcome", "text")


class _NoRedirect(HTTPRedirectHandler):
    """Another address would get the token or the code."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        """None: the redirect is the answer."""


def exchange_code(url: str, code: str) -> str:
    """The token for a one-time code. Raises LociError."""
    return checked_token(
        _post(f"{url}/connect/token", {"code": code, "machine": platform.node()}).get("token")
    )


def checked_token(token: object) -> str:
    """The token. Raises InvalidInput if it is none of Loci's."""
    if isinstance(token, str) and _TOKEN.fullmatch(token):
        return token
    raise InvalidInput(
        "This is not a token of Loci.",
        hint="One begins with loci_ and has no spaces or signs.",
        field="token",
    )


def ask_server(url: str, token: str, place: dict[str, Any]) -> dict[str, Any]:
    """Who the token is, what it may, the group of the place (`cwd`, `loci`), and a memory of it: `TokenCheck` as JSON.

    Raises:
        Unavailable: there is no answer, it is not one of Loci, or the server asks to wait or has a fault.
        NotAuthenticated: the token is wrong.
        NotPermitted: it may be used here alone.
        InvalidInput: the server has another version.
    """
    told = _post(f"{url}/connect/check", place, token)
    if not all(isinstance(told.get(name), kind) for name, kind in _CHECKED.items()):
        raise _not_loci(url, "it does not say who the token is")
    theirs = told["version"]
    if theirs.split(".")[:2] != __version__.split(".")[:2]:
        raise InvalidInput(
            f"The server at {url} is Loci {theirs}, this is {__version__}.",
            hint="Take the line of its page My account, Connect your client: it brings the right version.",
            field="url",
        )
    return told


def captured_at(url: str, token: str, undo: str = "") -> list[dict[str, Any]]:
    """What hooks captured with the person's tokens, newest first; `undo` is the id of one to forget before. Raises LociError."""
    rows = _post(f"{url}/connect/captured", {"undo": undo}, token).get("captured")
    if not isinstance(rows, list) or not all(
        isinstance(row, dict) and {*_CAPTURED} <= row.keys() for row in rows
    ):
        raise _not_loci(url, "it does not say what was captured")
    return [{name: str(row[name]) for name in _CAPTURED} for row in rows]


def revoke_at(url: str, token: str) -> bool:
    """Have the server revoke the token; False if it may still work."""
    try:
        _post(f"{url}/connect/revoke", {}, token)
    except NotAuthenticated:  # it does not work any more
        return True
    except LociError:
        return False
    return True


def _post(address: str, body: dict[str, Any], token: str = "") -> dict[str, Any]:
    """The answer, sent as the hooks send: by no proxy, and followed nowhere else."""
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    site = address.partition("/connect/")[0]
    try:
        request = Request(address, json.dumps(body).encode(), headers)  # noqa: S310 - http or https, looked at before
        with build_opener(_NoRedirect, ProxyHandler({})).open(request, timeout=_WAIT_S) as answer:
            told: dict[str, Any] = _shown(dict(json.loads(answer.read(_MAX_ANSWER))))
            return told
    except HTTPError as error:
        with error:
            raise _refusal(error, site) from None
    except (OSError, ValueError, TypeError, RecursionError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise Unavailable(
            f"No Loci answers at {site} ({reason}).",
            hint="Start it there with 'loci up', or correct the address.",
        ) from None


def _shown(value: Any) -> Any:
    """An answer's texts as a terminal may show them."""
    if isinstance(value, str):
        return "".join(filter(str.isprintable, " ".join(value.split())))[:_MAX_SHOWN]
    if isinstance(value, list):
        return [_shown(each) for each in value]
    return {str(key): _shown(each) for key, each in value.items()} if isinstance(value, dict) else value


def _not_loci(site: str, why: str) -> Unavailable:
    return Unavailable(
        f"What answers at {site} is not a Loci of this version ({why}).", hint="Correct the address."
    )


def _refusal(error: HTTPError, site: str) -> Exception:
    """What the server said, with what to do about it."""
    try:
        said = _shown(dict(json.loads(error.read(_MAX_ANSWER))))
        message = f"{site} refused: {said['message']}"
    except (OSError, ValueError, TypeError, KeyError, RecursionError, HTTPException):
        return _not_loci(site, f"status {error.code}")
    kind = NotAuthenticated if error.code == 401 else NotPermitted
    passes = error.code == 429 or error.code >= 500
    return (Unavailable if passes else kind)(message, hint=str(said.get("hint", "")))
