"""The Actor of a browser request."""

from django.http import HttpRequest

from access.actor import Actor, Via
from access.tokens import actor_for_user


def actor_of(request: HttpRequest) -> Actor:
    """The Actor of the logged-in user, resolved once per request; without any right if nobody is logged in."""
    actor: Actor | None = getattr(request, "loci_actor", None)
    if actor is None:
        user = request.user
        actor = (
            actor_for_user(user, via=Via.ADMIN) if user.is_authenticated else Actor(name="", via=Via.ADMIN)
        )
        request.loci_actor = actor  # type: ignore[attr-defined]  # Django's requests are open to new attributes
    return actor
