"""The address of a request, and the network that it is counted under."""

from ipaddress import IPv6Address, ip_address, ip_network

from django.http import HttpRequest

# One IPv6 address comes with a whole network of them (RFC 6177: at least a /64 per site).
_IPV6_PREFIX = 64
PEER = "loci.peer"  # set by our server: who is at the other end of the connection


def address_of(request: HttpRequest) -> str:
    """The address that a request comes from; the server has already applied a trusted proxy's header."""
    return str(request.META.get("REMOTE_ADDR") or "unknown")


def peer_of(request: HttpRequest) -> str:
    """The address at the other end of the connection; X-Forwarded-For is ignored."""
    peer = getattr(request, "scope", {}).get(PEER)
    return str(peer[0]) if peer else address_of(request)


def network_of(address: str) -> str:
    """The key for counting: an IPv4 address itself, the /64 network of an IPv6 address."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ip_network((parsed, _IPV6_PREFIX), strict=False))
