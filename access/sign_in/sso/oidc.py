"""Signing in through a provider of OpenID Connect: discovery, and what mozilla-django-oidc leaves to its users.

The library makes state, nonce and PKCE, and exchanges the code. It does not look at who issued an ID token and for whom,
and needs a key's name that providers may leave out: both are done here. Import this module only where single sign-on is configured.
"""

import logging
import time
from collections.abc import Mapping
from typing import Any, Final

import jwt
import requests
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured, SuspiciousOperation
from django.http import HttpRequest
from django.urls import reverse
from mozilla_django_oidc.auth import OIDCAuthenticationBackend
from mozilla_django_oidc.views import OIDCAuthenticationRequestView

from access.errors import NotPermitted, Unavailable
from access.sign_in.sessions import SignInWay
from access.sign_in.sso.admission import Visitor

log = logging.getLogger(__name__)
TIMEOUT_S: Final = 5
_KEPT_S: Final = 3600  # how long a provider's configuration is used before it is read again
_SKEW_S: Final = 60  # how far the provider's clock may be off
_CALLBACK: Final = "people:oidc-callback"
STATES: Final = "oidc_states"  # where the library keeps what it sent, in the session
NEXT: Final = "oidc_login_next"  # as above
_ALGORITHMS: Final = (
    "RS256",
    "ES256",
    "RS384",
    "ES384",
    "RS512",
    "ES512",
)  # what the library can verify, best known first
UNREACHABLE: Final = "The sign-in provider does not answer."
_AGAIN: Final = "Try again, or log in with a password."
_found: dict[str, tuple[float, dict[str, Any]]] = {}


def _discover(issuer: str) -> dict[str, Any]:
    """The provider's configuration, cached for an hour.

    Raises:
        Unavailable: it cannot be read, or is that of another issuer.
    """
    read_at, found = _found.get(issuer, (0.0, {}))
    if found and time.monotonic() - read_at < _KEPT_S:
        return found
    try:
        response = requests.get(
            issuer.rstrip("/") + "/.well-known/openid-configuration", timeout=TIMEOUT_S, allow_redirects=False
        )
        response.raise_for_status()
        found = response.json()
    except (requests.RequestException, ValueError) as error:
        raise Unavailable(UNREACHABLE, hint=_AGAIN) from error
    wanted = ("issuer", "authorization_endpoint", "token_endpoint", "jwks_uri")
    if not isinstance(found, dict) or not all(isinstance(found.get(name), str) for name in wanted):
        raise Unavailable("The sign-in provider's configuration is incomplete.", hint=_AGAIN)
    if found["issuer"].rstrip("/") != issuer.rstrip("/"):
        raise Unavailable(
            "The sign-in provider calls itself by another name than sign_in.oidc_issuer.",
            hint="An admin of Loci must correct that setting.",
        )
    _found[issuer] = (time.monotonic(), found)
    return found


def _library_setting(name: str, *default: Any) -> Any:
    """A setting of mozilla-django-oidc, from Loci's settings and the provider's configuration."""
    chosen = settings.LOCI.sign_in
    provider = _discover(chosen.oidc_issuer)
    methods = provider.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    offered = provider.get("id_token_signing_alg_values_supported") or ["RS256"]
    known = {
        "OIDC_OP_AUTHORIZATION_ENDPOINT": provider["authorization_endpoint"],
        "OIDC_OP_TOKEN_ENDPOINT": provider["token_endpoint"],
        "OIDC_OP_JWKS_ENDPOINT": provider["jwks_uri"],
        "OIDC_OP_USER_ENDPOINT": provider.get("userinfo_endpoint", ""),
        "OIDC_RP_CLIENT_ID": chosen.oidc_client_id,
        "OIDC_RP_CLIENT_SECRET": chosen.oidc_client_secret,
        "OIDC_RP_SCOPES": " ".join(chosen.oidc_scopes),
        "OIDC_RP_SIGN_ALGO": next((each for each in _ALGORITHMS if each in offered), "RS256"),
        "OIDC_TOKEN_USE_BASIC_AUTH": "client_secret_post" not in methods,
        "OIDC_USE_PKCE": True,
        "OIDC_TIMEOUT": TIMEOUT_S,
        "OIDC_AUTHENTICATION_CALLBACK_URL": _CALLBACK,
    }
    if name in known:
        return known[name]
    if default:
        return default[0]
    raise ImproperlyConfigured(name)


class ToProvider(OIDCAuthenticationRequestView):  # type: ignore[misc]  # the library has no types
    """Redirects to the provider, with state, nonce and PKCE kept in the session."""

    get_settings = staticmethod(_library_setting)


class Provider(OIDCAuthenticationBackend):  # type: ignore[misc]  # as above
    """The provider: exchanges a code for claims, without logging anybody in."""

    get_settings = staticmethod(_library_setting)

    def retrieve_matching_jwk(self, token: str) -> jwt.PyJWK:
        """The provider's key that signed the token: the one it names, or the only one for the algorithm."""
        response = requests.get(self.OIDC_OP_JWKS_ENDPOINT, timeout=TIMEOUT_S, allow_redirects=False)
        response.raise_for_status()
        named = jwt.get_unverified_header(token).get("kid")
        family = {"R": "RSA", "E": "EC"}[self.OIDC_RP_SIGN_ALGO[0]]
        keys = [each for each in response.json()["keys"] if each.get("kty") == family]
        fitting = [
            each
            for each in keys
            if (named is None or each.get("kid") == named) and each.get("use", "sig") == "sig"
        ]
        if len(fitting) != 1:
            raise SuspiciousOperation("No key of the provider, or more than one, fits the ID token.")
        return jwt.PyJWK(fitting[0], algorithm=self.OIDC_RP_SIGN_ALGO)

    def _verify_jws(self, payload: str, key: Any) -> dict[str, Any]:
        """The ID token's claims, after checking signature, issuer, audience and expiry."""
        issuer = _discover(settings.LOCI.sign_in.oidc_issuer)["issuer"]
        claims: dict[str, Any] = jwt.decode(
            payload,
            key,
            algorithms=[self.OIDC_RP_SIGN_ALGO],
            audience=self.OIDC_RP_CLIENT_ID,
            issuer=issuer,
            leeway=_SKEW_S,
            options={"require": ["iss", "aud", "exp", "iat", "sub"]},
        )
        if claims.get("azp", self.OIDC_RP_CLIENT_ID) != self.OIDC_RP_CLIENT_ID:
            raise SuspiciousOperation("The ID token is meant for another program.")
        return claims

    def read_claims(self, request: HttpRequest, *, code: str, kept: Mapping[str, Any]) -> dict[str, Any]:
        """The claims about the person, from the ID token and the provider's userinfo endpoint."""
        answer = self.get_token(
            {
                "client_id": self.OIDC_RP_CLIENT_ID,
                "client_secret": self.OIDC_RP_CLIENT_SECRET,
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": request.build_absolute_uri(reverse(_CALLBACK)),
                "code_verifier": kept.get("code_verifier"),
            }
        )
        claims: dict[str, Any] = self.verify_token(answer["id_token"], nonce=kept.get("nonce"))
        if not self.OIDC_OP_USER_ENDPOINT:
            return claims
        further = self.get_userinfo(answer["access_token"], answer["id_token"], claims)
        if further.get("sub") != claims["sub"]:
            raise SuspiciousOperation("The provider's answers are about two people.")
        return {**further, **claims}


def read_answer(request: HttpRequest) -> tuple[Visitor, str]:
    """The visitor that the provider sent back, and the page to open after the login.

    Raises:
        NotPermitted: the person declined, or the answer is not the one to this browser's question, or not valid.
        Unavailable: the provider does not answer.
    """
    states = request.session.get(STATES) or {}  # stored when this browser was sent to the provider
    kept = states.pop(request.GET.get("state", ""), None)
    request.session.modified = True
    if not isinstance(kept, dict):
        raise NotPermitted("This sign-in has expired or began in another browser.", hint=_AGAIN)
    if request.GET.get("error"):
        raise NotPermitted("The sign-in provider did not let you through.", hint=_AGAIN)
    try:
        claims = Provider().read_claims(request, code=request.GET.get("code", ""), kept=kept)
    except requests.HTTPError as error:
        raise NotPermitted("The sign-in provider refused the answer.", hint=_AGAIN) from error
    except requests.RequestException as error:
        raise Unavailable(UNREACHABLE, hint=_AGAIN) from error
    except (jwt.PyJWTError, SuspiciousOperation, KeyError, TypeError, ValueError, AttributeError) as error:
        log.warning("a sign-in failed: %s: %s", type(error).__name__, error)
        raise NotPermitted("The sign-in provider's answer is not valid.", hint=_AGAIN) from error
    chosen = settings.LOCI.sign_in
    named = claims.get(chosen.groups_claim)
    values = [named] if isinstance(named, str) else named
    is_verified = claims.get("email_verified") in (True, "true")
    return Visitor(
        SignInWay.OIDC,
        name=str(claims.get(chosen.name_claim) or ""),
        email=str(claims.get("email") or "") if is_verified else "",
        issuer=chosen.oidc_issuer,
        subject=str(claims["sub"]),
        groups=frozenset(map(str, values)) if isinstance(values, list) else None,
    ), str(request.session.pop(NEXT, None) or "")
