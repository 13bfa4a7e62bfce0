"""Where a request comes from, and which addresses count as one."""

from ipaddress import IPv6Address, ip_address, ip_network

from django.http import HttpRequest

# Whoever has one IPv6 address has a whole network of them (RFC 6177: at least a /64 for a site).
IPV6_PREFIX = 64


def address_of(request: HttpRequest) -> str:
    """Give where a request comes from; the server has put a trusted proxy's word there."""
    return str(request.META.get("REMOTE_ADDR") or "unknown")


def network_of(address: str) -> str:
    """Give what is counted together: an IPv4 address by itself, an IPv6 address with its /64 network."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ip_network((parsed, IPV6_PREFIX), strict=False))
