"""The toolkit's validator made stricter: codes are stored as hashes; every token needs /mcp as audience and a live consent."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from oauth2_provider.oauth2_validators import OAuth2Validator
from oauthlib.common import Request
from oauthlib.oauth2.rfc6749.errors import CustomOAuth2Error

from loci_site.oauth.audience import audience_of
from loci_site.oauth.grants import live_connection


class Validator(OAuth2Validator):  # type: ignore[misc]  # the toolkit has no types
    """Overrides the toolkit's handling of codes, refresh tokens and audiences."""

    def save_authorization_code(
        self, client_id: str, code: dict[str, Any], request: Request, *args: Any, **kwargs: Any
    ) -> None:
        """Store the hash of a code; the toolkit would store the code itself until it is used."""
        super().save_authorization_code(
            client_id, {**code, "code": hash_code(code["code"])}, request, *args, **kwargs
        )

    def validate_code(
        self, client_id: str, code: str, client: Any, request: Request, *args: Any, **kwargs: Any
    ) -> bool:
        """Find the code by its hash; it also needs a live consent."""
        found: bool = super().validate_code(client_id, hash_code(code), client, request, *args, **kwargs)
        return found and live_connection(request.user, client) is not None

    def invalidate_authorization_code(
        self, client_id: str, code: str, request: Request, *args: Any, **kwargs: Any
    ) -> None:
        """Delete the code by its hash."""
        super().invalidate_authorization_code(client_id, hash_code(code), request, *args, **kwargs)

    def confirm_redirect_uri(
        self, client_id: str, code: str, redirect_uri: str, client: Any, *args: Any, **kwargs: Any
    ) -> bool:
        """Find the code by its hash."""
        same: bool = super().confirm_redirect_uri(
            client_id, hash_code(code), redirect_uri, client, *args, **kwargs
        )
        return same

    def get_code_challenge(self, code: str, request: Request) -> str | None:
        """Find the code by its hash."""
        challenge: str | None = super().get_code_challenge(hash_code(code), request)
        return challenge

    def get_code_challenge_method(self, code: str, request: Request) -> str | None:
        """Find the code by its hash."""
        method: str | None = super().get_code_challenge_method(hash_code(code), request)
        return method

    def validate_refresh_token(
        self, refresh_token: str, client: Any, request: Request, *args: Any, **kwargs: Any
    ) -> bool:
        """Refuse if the person withdrew the consent or is gone: the program has to ask again."""
        found: bool = super().validate_refresh_token(refresh_token, client, request, *args, **kwargs)
        return found and live_connection(request.user, client) is not None

    def _check_and_set_request_resource(self, request: Request) -> None:
        with hash_code_of(request):
            super()._check_and_set_request_resource(request)
        if request.resource != [audience_of(self.build_http_request(request))]:
            raise CustomOAuth2Error(
                error="invalid_target",
                description="Tokens are valid for this server's /mcp only: name it as the resource.",
                request=request,
            )


@contextmanager
def hash_code_of(request: Request) -> Iterator[None]:
    """Replace the request's code by its hash during the block, so that the toolkit finds it."""
    code = getattr(request, "code", None)
    if code:
        request.code = hash_code(code)
    try:
        yield
    finally:
        if code:
            request.code = code


def hash_code(code: str) -> str:
    """SHA-256 of a code, the form in which it is stored."""
    return hashlib.sha256(code.encode()).hexdigest()
