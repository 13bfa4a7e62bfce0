"""The toolkit's settings: what OAuth 2.1 and MCP ask for, and nothing that is older."""

from typing import Any

# The names of access.actor, which cannot be imported while settings are read. `admin` is not among them: no tool asks
# for it.
SCOPES: dict[str, str] = {
    "read": "Recall and look at memories",
    "write": "Store, correct, forget and dispute memories",
    "curate": "Destroy memories for ever, and what else needs a curator",
    "create-group": "Make a group by storing into it",
}
ACCESS_TOKEN_S = 3600
REFRESH_TOKEN_S = 30 * 24 * 3600  # from the end of the last access token on
REGISTRATION_TOKEN_S = 365 * 24 * 3600
CODE_S = 60

# RFC 9700, enforced: no implicit or password grant, S256 alone, no token in an address, the issuer in the answer,
# hashes alone in the database, refresh tokens that rotate.
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
    """Give OAUTH2_PROVIDER. `public_url` is the issuer; where it is empty, the address that the request names is."""
    return {
        "SCOPES": SCOPES,
        "DEFAULT_SCOPES": ["read"],
        "PKCE_REQUIRED": True,
        "AUTHORIZATION_CODE_EXPIRE_SECONDS": CODE_S,
        "ACCESS_TOKEN_EXPIRE_SECONDS": ACCESS_TOKEN_S,
        "REFRESH_TOKEN_EXPIRE_SECONDS": REFRESH_TOKEN_S,
        "ROTATE_REFRESH_TOKEN": True,
        "REFRESH_TOKEN_REUSE_PROTECTION": True,
        "OAUTH2_VALIDATOR_CLASS": "loci_site.oauth.validator.Validator",
        "DCR_ENABLED": True,
        "DCR_REGISTRATION_PERMISSION_CLASSES": ("oauth2_provider.dcr.AllowAllDCRPermission",),
        "DCR_REGISTRATION_TOKEN_EXPIRE_SECONDS": REGISTRATION_TOKEN_S,
        # Programs on the person's own machine listen on a port that they learn only then (RFC 8252, 7.3).
        "ALLOW_LOCALHOST_LOOPBACK": True,
        # The last two are those of editors that take the answer by a scheme of their own.
        "ALLOWED_REDIRECT_URI_SCHEMES": ["http", "https", "cursor", "vscode"],
        "OAUTH2_RESPONSE_TYPES_SUPPORTED": ["code"],
        "OAUTH2_GRANT_TYPES_SUPPORTED": ["authorization_code", "refresh_token"],
        "OAUTH2_TOKEN_ENDPOINT_AUTH_METHODS_SUPPORTED": ["none", "client_secret_post", "client_secret_basic"],
        "OAUTH2_PROTECTED_RESOURCE_NAME": "Loci",
        "OIDC_ISS_ENDPOINT": public_url.rstrip("/"),
        **{f"COMPLIANT_BCP_RFC9700_{name}": True for name in _BEST_PRACTICE},
    }
