"""The toolkit's settings: what OAuth 2.1 and MCP require, without older grants."""

from typing import Any

from access import SCOPES

# No tool needs the scope `admin`.
OAUTH_SCOPES: dict[str, str] = {
    scope: allows for scope, allows in SCOPES.items() if scope not in ("admin", "hook", "capture")
}
_ACCESS_TOKEN_S = 3600
_REFRESH_TOKEN_S = 30 * 24 * 3600  # from the expiry of the last access token
_REGISTRATION_TOKEN_S = 365 * 24 * 3600
_CODE_S = 60

# Enforced from RFC 9700: no implicit or password grant, S256 only, no token in an address, the issuer in the answer,
# only hashes in the database, rotating refresh tokens.
_BEST_PRACTICE = (
    "IMPLICIT_GRANT",
    "PASSWORD_GRANT",
    "PKCE_METHOD",
    "ACCESS_TOKEN_TRANSPORT",
    "AUTHZ_RESPONSE_ISS",
    "TOKEN_STORAGE",
    "REFRESH_TOKEN",
    "PKCE_REQUIRED",
    "REDIRECT_URI_MATCHING",
)


def provider_settings(public_url: str) -> dict[str, Any]:
    """The setting OAUTH2_PROVIDER. The issuer is `public_url`, or if that is empty the address of the request."""
    return {
        "SCOPES": OAUTH_SCOPES,
        "DEFAULT_SCOPES": ["read"],
        "PKCE_REQUIRED": True,
        "AUTHORIZATION_CODE_EXPIRE_SECONDS": _CODE_S,
        "ACCESS_TOKEN_EXPIRE_SECONDS": _ACCESS_TOKEN_S,
        "REFRESH_TOKEN_EXPIRE_SECONDS": _REFRESH_TOKEN_S,
        "ROTATE_REFRESH_TOKEN": True,
        "REFRESH_TOKEN_REUSE_PROTECTION": True,
        "OAUTH2_VALIDATOR_CLASS": "loci_site.oauth.validator.Validator",
        "DCR_ENABLED": True,
        "DCR_REGISTRATION_PERMISSION_CLASSES": ("oauth2_provider.dcr.AllowAllDCRPermission",),
        "DCR_REGISTRATION_TOKEN_EXPIRE_SECONDS": _REGISTRATION_TOKEN_S,
        # Programs on the person's own machine listen on a port chosen at run time (RFC 8252, 7.3).
        "ALLOW_LOCALHOST_LOOPBACK": True,
        # The last two belong to editors that receive the code through a scheme of their own.
        "ALLOWED_REDIRECT_URI_SCHEMES": ["http", "https", "cursor", "vscode"],
        "OAUTH2_RESPONSE_TYPES_SUPPORTED": ["code"],
        "OAUTH2_GRANT_TYPES_SUPPORTED": ["authorization_code", "refresh_token"],
        "OAUTH2_TOKEN_ENDPOINT_AUTH_METHODS_SUPPORTED": ["none", "client_secret_post", "client_secret_basic"],
        "OAUTH2_PROTECTED_RESOURCE_NAME": "Loci",
        "OIDC_ISS_ENDPOINT": public_url.rstrip("/"),
        **{f"COMPLIANT_BCP_RFC9700_{name}": True for name in _BEST_PRACTICE},
    }
