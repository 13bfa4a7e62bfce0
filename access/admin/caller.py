"""Who is asking: the Actor of a browser request."""

from django.http import HttpRequest

from access.actor import Actor, Via
from access.tokens import actor_for_user


def actor_of(request: HttpRequest) -> Actor:
    """Give the Actor of whoever is logged in, worked out once per request; with no right at all for nobody."""
    known: Actor | None = getattr(request, "loci_actor", None)
    if known is None:
        user = request.user
        known = (
            actor_for_user(user, via=Via.ADMIN) if user.is_authenticated else Actor(name="", via=Via.ADMIN)
        )
        request.loci_actor = known  # type: ignore[attr-defined]  # Django's requests are open to new attributes
    return known
