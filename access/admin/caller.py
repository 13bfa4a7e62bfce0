"""The Actor of a browser request."""

from django.http import HttpRequest

from access.actor import Actor, Via
from access.tokens import actor_for_user


def actor_of(request: HttpRequest) -> Actor:
    """The Actor of the logged-in user, resolved once per request; without any right if no person is logged in.

    `request.loci_via` names the interface; without it, it is the admin.
    """
    actor: Actor | None = getattr(request, "loci_actor", None)
    if actor is None:
        user, via = request.user, getattr(request, "loci_via", Via.ADMIN)
        actor = actor_for_user(user, via=via) if user.is_authenticated else Actor(name="", via=via)
        request.loci_actor = actor  # type: ignore[attr-defined]  # Django's requests are open to new attributes
    return actor
