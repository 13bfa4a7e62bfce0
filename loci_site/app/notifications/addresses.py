"""Checks of a webhook's address: resolved once, checked, then called at exactly that address."""

import socket
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings

from access.errors import InvalidInput

MAX_URL_CHARS: Final = 500
_DEFAULT_PORTS: Final = {"https": 443, "http": 80}
# With an IPv4 address in the last 32 bits: NAT64, and the former compatible and translated forms.
_EMBEDDING: Final = tuple(map(ip_network, ("64:ff9b::/96", "::/96", "::ffff:0:0:0/96")))
Address = IPv4Address | IPv6Address


@dataclass(frozen=True)
class _HookTarget:
    """A webhook's URL with the one address that it is called at."""

    scheme: str
    host: str
    port: int
    path: str
    address: str

    @property
    def url(self) -> str:
        """The URL with the address in place of the name, so that nothing is resolved again."""
        shown = f"[{self.address}]" if ":" in self.address else self.address
        return f"{self.scheme}://{shown}:{self.port}{self.path}"

    @property
    def host_header(self) -> str:
        """The Host header: the name, and the port if it is not the usual one."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == _DEFAULT_PORTS[self.scheme] else f"{name}:{self.port}"


def resolve(url: str) -> _HookTarget:
    """The target of a webhook's URL. Asks the name service once.

    Raises:
        InvalidInput: no https address, an unknown name, or an address of a private network that is not listed.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or _DEFAULT_PORTS.get(parts.scheme, 0)
    except ValueError:
        host, port = "", 0
    if not host or not port or len(url) > MAX_URL_CHARS or parts.username is not None or parts.fragment:
        raise _address_refusal(
            "must be an address such as https://hooks.example.org/loci, without a name or password in it"
        )
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise _address_refusal(f"names the host '{host[:80]}', which is not known") from None
    addresses = list(dict.fromkeys(ip_address(str(each[4][0]).partition("%")[0]) for each in found))
    # Every address must be allowed: the next answer of a hostile name service may put another one first.
    is_listed = all(_is_allowed_privately(host, each) for each in addresses)
    if not is_listed and not all(map(is_public, addresses)):
        raise _address_refusal(
            f"leads to a private address ({addresses[0]})",
            hint="Only hosts of notifications.webhook_hosts in config.toml may be private.",
        )
    if parts.scheme != "https" and not is_listed:
        raise _address_refusal(
            "must begin with https://", hint="http is for hosts of notifications.webhook_hosts alone."
        )
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return _HookTarget(parts.scheme, host, port, path, str(addresses[0]))


def _is_allowed_privately(host: str, address: Address) -> bool:
    """True if the settings list the host by name, or the address."""
    for entry in settings.LOCI.notifications.webhook_hosts:
        if entry.casefold() == host.casefold():
            return True
        try:
            if address in ip_network(entry):
                return True
        except ValueError:
            continue
    return False


def is_public(address: Address) -> bool:
    """True for a public address; an IPv4 address embedded in an IPv6 one must be public too."""
    inner = _embedded_ipv4(address)
    if inner is not None and not is_public(inner):
        return False
    return address.is_global and not address.is_multicast


def _embedded_ipv4(address: Address) -> IPv4Address | None:
    if isinstance(address, IPv4Address):
        return None
    if any(address in network for network in _EMBEDDING):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)


def _address_refusal(why: str, *, hint: str = "") -> InvalidInput:
    return InvalidInput(f"The webhook's address {why}.", hint=hint, field="url")
