"""The toolkit's validator made stricter: codes are stored as hashes; every token needs /mcp as audience and a live consent."""

import hashlib
import uuid
from typing import Any

from oauth2_provider.models import RefreshToken
from oauth2_provider.oauth2_validators import OAuth2Validator
from oauthlib.common import Request
from oauthlib.oauth2.rfc6749.errors import CustomOAuth2Error, InvalidGrantError

from loci_site.oauth.grants import audience_of, live_connection


class Validator(OAuth2Validator):  # type: ignore[misc]  # the toolkit has no types
    """Overrides the toolkit's handling of codes, refresh tokens and audiences."""

    def save_authorization_code(
        self, client_id: str, code: dict[str, Any], request: Request, *args: Any, **kwargs: Any
    ) -> None:
        """Store the hash of a code; the toolkit would store the code itself until it is used."""
        super().save_authorization_code(
            client_id, {**code, "code": _hash_code(code["code"])}, request, *args, **kwargs
        )

    def validate_code(
        self, client_id: str, code: str, client: Any, request: Request, *args: Any, **kwargs: Any
    ) -> bool:
        """Find the code by its hash; it also needs a live consent. A code that was used before ends its tokens."""
        found: bool = super().validate_code(client_id, _hash_code(code), client, request, *args, **kwargs)
        if not found:
            _end_tokens_of(code, client)
        return found and live_connection(request.user, client) is not None

    def invalidate_authorization_code(
        self, client_id: str, code: str, request: Request, *args: Any, **kwargs: Any
    ) -> None:
        """Delete the code by its hash. If another request used it at the same time, the tokens of both end."""
        try:
            super().invalidate_authorization_code(client_id, _hash_code(code), request, *args, **kwargs)
        except InvalidGrantError:
            _end_tokens_of(code, request.client)
            raise

    def confirm_redirect_uri(
        self, client_id: str, code: str, redirect_uri: str, client: Any, *args: Any, **kwargs: Any
    ) -> bool:
        same: bool = super().confirm_redirect_uri(
            client_id, _hash_code(code), redirect_uri, client, *args, **kwargs
        )
        return same

    def get_code_challenge(self, code: str, request: Request) -> str | None:
        challenge: str | None = super().get_code_challenge(_hash_code(code), request)
        return challenge

    def get_code_challenge_method(self, code: str, request: Request) -> str | None:
        method: str | None = super().get_code_challenge_method(_hash_code(code), request)
        return method

    def validate_refresh_token(
        self, refresh_token: str, client: Any, request: Request, *args: Any, **kwargs: Any
    ) -> bool:
        """Refuse if the person withdrew the consent or is gone: the program has to ask again."""
        found: bool = super().validate_refresh_token(refresh_token, client, request, *args, **kwargs)
        return found and live_connection(request.user, client) is not None

    def _create_refresh_token(
        self, request: Request, refresh_token_code: str, access_token: Any, previous_refresh_token: Any
    ) -> Any:
        made = super()._create_refresh_token(
            request, refresh_token_code, access_token, previous_refresh_token
        )
        if previous_refresh_token is None:  # the first of its family: name the family by the code
            made.token_family = _family_of(request.code)
            made.save(update_fields=["token_family"])
        return made

    def _check_and_set_request_resource(self, request: Request) -> None:
        code = getattr(request, "code", None)
        if code:
            request.code = _hash_code(code)  # by which the toolkit finds it
        try:
            super()._check_and_set_request_resource(request)
        finally:
            if code:
                request.code = code
        if request.resource != [audience_of(self.build_http_request(request))]:
            raise CustomOAuth2Error(
                error="invalid_target",
                description="Tokens are valid for this server's /mcp only: name it as the resource.",
                request=request,
            )


def _hash_code(code: str) -> str:
    """SHA-256 of a code, the form in which it is stored."""
    return hashlib.sha256(code.encode()).hexdigest()


def _family_of(code: str) -> uuid.UUID:
    """The family of all refresh tokens that come from a code; it outlives the code and does not reveal it."""
    return uuid.UUID(bytes=hashlib.sha256(f"family of {code}".encode()).digest()[:16])


def _end_tokens_of(code: str, client: Any) -> None:
    """End every token that came from a code (OAuth 2.1, 4.1.3: a code used twice may have been stolen)."""
    family = _family_of(code)
    if RefreshToken.objects.filter(token_family=family, application=client).exists():
        RefreshToken.revoke_family(family)
