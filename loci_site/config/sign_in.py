"""The settings of single sign-on: [sign_in], and the errors between them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_network

from access.sign_in.sso.mapping import WrongRule, read_rules
from loci_site.config.keys import key

HEADER = re.compile(r"[A-Za-z][A-Za-z0-9-]*")


@dataclass(frozen=True)
class SignIn:
    """[sign_in] logging in through a provider of OpenID Connect, or by a header of a proxy."""

    oidc_issuer: str = key(
        "",
        "Address of the OpenID Connect provider, as its own configuration names it; empty: off.",
        variable="LOCI_OIDC_ISSUER",
    )
    oidc_client_id: str = key("", "Name that the provider gave to this Loci.", variable="LOCI_OIDC_CLIENT_ID")
    oidc_client_secret: str = key(
        "", "Secret that the provider gave to this Loci.", variable="LOCI_OIDC_CLIENT_SECRET", secret=True
    )
    oidc_label: str = key("single sign-on", "What the button of the login page names after 'Log in with'.")
    oidc_scopes: tuple[str, ...] = key(("openid", "profile", "email"), "What Loci asks the provider for.")
    name_claim: str = key("preferred_username", "Claim with the name of a new person.")
    groups_claim: str = key("groups", "Claim with the provider's groups of a person.")
    groups: tuple[str, ...] = key(
        (),
        "Roles by the provider's groups, each as VALUE=GROUP:ROLE, such as engineering=ledger:contributor; the groups"
        " named here follow the provider.",
    )
    curators: tuple[str, ...] = key(
        (), "The provider's groups whose people may enter the admin; empty: an admin decides."
    )
    create: bool = key(False, "Whether people whom Loci does not know get an account as they log in.")
    proxy_header: str = key(
        "",
        "Header in which a proxy names the person it let in, such as X-Remote-User; empty: off.",
        variable="LOCI_PROXY_HEADER",
    )
    proxy_groups_header: str = key(
        "", "Header in which it lists the person's groups, with commas between them."
    )
    proxy_peers: tuple[str, ...] = key(
        (),
        "Addresses or networks of the proxies whose header counts, such as 127.0.0.1.",
        variable="LOCI_PROXY_PEERS",
    )


def find_sign_in_conflicts(sign_in: SignIn) -> Iterator[str]:
    """Errors in combinations of these settings, or inside their values."""
    if sign_in.oidc_issuer:
        if not sign_in.oidc_issuer.startswith(("https://", "http://")):
            yield f"sign_in.oidc_issuer is {sign_in.oidc_issuer!r}; it must be an address such as https://login.example.org"
        for name in ("oidc_client_id", "oidc_client_secret"):
            if not getattr(sign_in, name):
                yield f"sign_in.{name} is empty; the provider of sign_in.oidc_issuer gives one to each program"
        if "openid" not in sign_in.oidc_scopes:
            yield "sign_in.oidc_scopes must contain openid"
    if sign_in.proxy_header and not sign_in.proxy_peers:
        yield "sign_in.proxy_header is set, but sign_in.proxy_peers is empty: list the proxy's address, such as 127.0.0.1"
    for name in ("proxy_header", "proxy_groups_header"):
        if (value := getattr(sign_in, name)) and not HEADER.fullmatch(value):
            yield f"sign_in.{name} is {value!r}; it must be the name of a header, of letters, digits and hyphens"
    for peer in sign_in.proxy_peers:
        try:
            ip_network(peer)
        except ValueError:
            yield f"sign_in.proxy_peers has {peer!r}; each must be an address or a network such as 10.0.0.0/24"
    try:
        read_rules(sign_in.groups)
    except WrongRule as wrong:
        yield f"sign_in.groups has {wrong}; each must have the form VALUE=GROUP:ROLE, with the role viewer, contributor, curator or admin"
