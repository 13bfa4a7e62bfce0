"""Loci's own keys in a client's file: merged into its bytes, or taken out of them. Nothing here touches a disk."""

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any, Final

from access.errors import InvalidInput

BEGIN, END = "# loci: begin (written by 'loci connect'; 'loci disconnect' removes it)", "# loci: end"
_OWN_HOOK: Final = ("loci-hook", "loci_site/hooks/client.py")  # how a hook of Loci is known again
_BLOCK = re.compile(rf"(?:\r?\n)?{re.escape(BEGIN)}.*?{re.escape(END)}(?:\r?\n)?", re.S)


class NotMergeable(InvalidInput):
    """A client's file that Loci leaves alone: the person merges the snippet by hand."""

    code = "not_mergeable"


def merge_json(
    old: bytes,
    *,
    server_keys: tuple[str, ...],
    server: dict[str, Any] | None,
    hooks: Mapping[str, dict[str, Any]],
    always: Mapping[str, Any],
) -> bytes:
    """The file with the server under its keys and one hook for each event, in place of earlier ones of Loci.

    Raises:
        NotMergeable: the file has comments, does not parse, or has something else where Loci's keys belong.
    """
    data = parse_json(old)
    _remove_own(data, server_keys)
    for name, value in always.items():
        data.setdefault(name, value)
    if server is not None:
        place = data
        for name in server_keys[:-1]:
            place = child(place, name, {})
        if server_keys[-1] in place:
            raise NotMergeable(f"There is another server called '{server_keys[-1]}' already.")
        place[server_keys[-1]] = server
    if hooks:
        events = child(data, "hooks", {})
        for event, hook in hooks.items():
            child(events, event, []).append(hook)
    return _render_json(data, like=old)


def unmerge_json(old: bytes, server_keys: tuple[str, ...]) -> bytes:
    """The file without what belongs to Loci, empty objects and lists that this leaves included."""
    data = parse_json(old)
    _remove_own(data, server_keys)
    return _render_json(data, like=old)


def _remove_own(data: dict[str, Any], server_keys: tuple[str, ...]) -> None:
    if server_keys:
        place = data.get(server_keys[0])
        if isinstance(place, dict) and _is_own_server(place.get(server_keys[-1])):
            del place[server_keys[-1]]
            if not place:
                del data[server_keys[0]]
    events = data.get("hooks")
    if not isinstance(events, dict):
        return
    for event, entries in list(events.items()):
        if isinstance(entries, list) and any(map(_is_own_hook, entries)):
            events[event] = [entry for entry in entries if not _is_own_hook(entry)]
            if not events[event]:
                del events[event]
    if not events:
        del data["hooks"]


def _is_own_server(server: Any) -> bool:
    """Whether a server is Loci's: its address ends as Loci's does."""
    urls = (server.get(name) for name in ("url", "httpUrl", "serverUrl")) if isinstance(server, dict) else ()
    return any(isinstance(url, str) and url.rstrip("/").endswith("/mcp") for url in urls)


def _is_own_hook(entry: Any) -> bool:
    text = json.dumps(entry)
    return any(name in text for name in _OWN_HOOK)


def child(data: dict[str, Any], name: str, empty: Any) -> Any:
    """The value under a name, made if it is missing; NotMergeable if it is of another kind."""
    value = data.setdefault(name, empty)
    if type(value) is not type(empty):
        raise NotMergeable(f"'{name}' holds something else than expected.")
    return value


def parse_json(old: bytes) -> dict[str, Any]:
    """The object in a file; an empty file has an empty one. Raises NotMergeable."""
    try:
        text = old.decode("utf-8-sig")
        found = json.loads(text, object_pairs_hook=_once_each) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise NotMergeable(f"It has comments or is not plain JSON ({error}).") from None
    if not isinstance(found, dict):
        raise NotMergeable("It does not hold a JSON object.")
    return found


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs as a dict; ValueError if a name comes twice, since one of them would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _render_json(data: dict[str, Any], *, like: bytes) -> bytes:
    """The data in the manner of the earlier bytes: their indentation, line ends, mark of order and last line end."""
    text = like.decode("utf-8-sig", errors="replace")
    found = re.search(r"\n([ \t]+)\S", text)
    indent: str | int = found[1] if found else 2
    out = json.dumps(data, indent=indent, ensure_ascii=False)
    out += "\n" if not text or text.endswith("\n") else ""
    if "\r\n" in text:
        out = out.replace("\n", "\r\n")
    return (b"\xef\xbb\xbf" if like.startswith(b"\xef\xbb\xbf") else b"") + out.encode()


def merge_toml(old: bytes, block: str) -> bytes:
    """The file with Loci's block at its end, in place of an earlier one; nothing else changes."""
    plain = unmerge_toml(old)
    text = _read_toml(plain)
    if "loci" in tomllib.loads(text).get("mcp_servers", {}):
        raise NotMergeable("There is another server called 'loci' already.")
    end = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text or text.endswith("\n") else end
    merged = f"{text}{gap}{end if text else ''}{BEGIN}\n{block}\n{END}\n".replace("\r\n", "\n").replace(
        "\n", end
    )
    _read_toml(merged.encode())
    return merged.encode()


def unmerge_toml(old: bytes) -> bytes:
    return _BLOCK.sub("", _read_toml(old)).encode()


def _read_toml(old: bytes) -> str:
    """The text of a file that parses. Raises NotMergeable."""
    try:
        text = old.decode()
        tomllib.loads(text)
    except ValueError as error:
        raise NotMergeable(f"It is not valid TOML ({error}).") from None
    return text
