"""Which person a provider or a proxy means, whether they may come in, and their roles."""

import logging
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from access import audit
from access.actor import ALL_SCOPES, Actor, Via
from access.audit.operations import Operation
from access.errors import LociError, NotFound, NotPermitted
from access.groups import find_group
from access.groups.members import remove_member, set_member
from access.models import AuditEntry, Group, Identity, Membership
from access.sign_in.client_address import address_of
from access.sign_in.login import BACKEND, log_success
from access.sign_in.sessions import SignInWay, note_login
from access.sign_in.sso.mapping import read_rules, wanted_roles
from access.sign_in.users import PersonChange, add_person, change_person

log = logging.getLogger(__name__)
ASK = "Ask an admin of Loci."
REFUSAL_LOGGED_EVERY = timedelta(minutes=10)  # for each name; a proxy's page may reload for ever


@dataclass(frozen=True)
class Visitor:
    """What is said of the person at the door. `email` only if it was verified; `groups` None if nothing is said of them."""

    way: SignInWay
    name: str
    email: str = ""
    issuer: str = ""
    subject: str = ""
    groups: frozenset[str] | None = None

    @property
    def shown(self) -> str:
        """How a message names the person."""
        return (self.email or self.name or self.subject)[:150]


def sign_in(request: HttpRequest, visitor: Visitor) -> User:
    """Log the visitor in as the person who they are here, with the roles they bring. Logs each login, and refusals.

    Raises:
        NotPermitted: nobody here is this visitor, or somebody who is deactivated.
    """
    try:
        user = find_or_create(visitor)
    except LociError as refusal:
        log_refusal(request, visitor, refusal)
        raise
    apply_groups(user, visitor)
    login(request, user, backend=BACKEND)
    note_login(request, visitor.way, called=visitor.name)
    log_success(request, user.get_username(), user, way=visitor.way)
    return user


def find_or_create(visitor: Visitor) -> User:
    """The active person who the visitor is here; a new one if the settings allow it."""
    user = find_user(visitor)
    if user is None and not settings.LOCI.sign_in.create:
        raise NotPermitted(f"There is no account here for {visitor.shown}.", hint=ASK)
    if user is None:
        return create_user(visitor)
    if not user.is_active:
        raise NotPermitted(f"The account '{user}' is switched off.", hint=ASK)
    link(user, visitor)
    return user


def find_user(visitor: Visitor) -> User | None:
    """The person by the provider's own name for them, else by the verified e-mail address; of a proxy by name, too."""
    if visitor.subject:
        known = Identity.objects.filter(issuer=visitor.issuer, subject=visitor.subject).select_related("user")
        if found := known.first():
            return found.user
    elif found_user := User.objects.filter(username=visitor.name).first():
        return found_user
    if not visitor.email:
        return None
    wanted = visitor.email.casefold()
    # Databases take more letters for equal than addresses may: "ı" is an "I" in PostgreSQL's capitals.
    matching = [
        user for user in User.objects.filter(email__iexact=visitor.email) if user.email.casefold() == wanted
    ]
    if len(matching) > 1:
        raise NotPermitted(f"Several people here have the address {visitor.email}.", hint=ASK)
    return matching[0] if matching else None


def create_user(visitor: Visitor) -> User:
    """A new person without a password. A name that is taken is never given to somebody else."""
    name = next((each for each in (visitor.name, visitor.email) if each and not is_taken(each)), "")
    if not name:
        raise NotPermitted(f"The name '{visitor.shown}' belongs to somebody else here.", hint=ASK)
    with transaction.atomic():
        user = add_person(door_actor(visitor), name, PersonChange(email=visitor.email), password=None)
        user.set_unusable_password()
        user.save(update_fields=["password"])
        link(user, visitor)
    return user


def is_taken(name: str) -> bool:
    """True if somebody has this name, in any case."""
    return User.objects.filter(username__iexact=name).exists()


def link(user: User, visitor: Visitor) -> None:
    """Remember the provider's name for the person, so that a changed e-mail address does not matter; logged once."""
    if not visitor.subject:
        return
    with transaction.atomic():
        _, is_new = Identity.objects.get_or_create(
            issuer=visitor.issuer, subject=visitor.subject, defaults={"user": user}
        )
        if is_new:
            payload = {"action": "identity", "issuer": visitor.issuer}
            audit.append(door_actor(visitor), Operation.PERSON, subject=f"user:{user}", payload=payload)


def apply_groups(user: User, visitor: Visitor) -> None:
    """Make the person's roles in the mapped groups those that the visitor brings. Without `groups` nothing changes."""
    chosen = settings.LOCI.sign_in
    if visitor.groups is None:
        return
    actor = door_actor(visitor)
    for slug, role in wanted_roles(read_rules(chosen.groups), visitor.groups).items():
        try:
            apply_role(actor, find_group(actor, slug), user, role)
        except NotFound:
            log.warning("sign_in.groups names the group '%s', which does not exist", slug)
    if chosen.curators and not user.is_superuser:
        change_person(actor, user, PersonChange(is_staff=bool(visitor.groups & set(chosen.curators))))


def apply_role(actor: Actor, group: Group, user: User, role: str) -> None:
    """Give the role; without one, end the membership."""
    if role:
        set_member(actor, group, user=user, role=role)
    elif Membership.objects.filter(group=group, user=user).exists():
        remove_member(actor, group, user=user)


def door_actor(visitor: Visitor) -> Actor:
    """The Actor of what signing in changes: the settings decide, not the person."""
    return Actor(name=f"sign-in/{visitor.way}", via=Via.APP, scopes=ALL_SCOPES, all_groups=True)


def log_refusal(request: HttpRequest, visitor: Visitor, refusal: LociError) -> None:
    """Log that somebody was not let in, and why; not again for a while."""
    since = timezone.now() - REFUSAL_LOGGED_EVERY
    subject, actor = f"user:{visitor.shown}", door_actor(visitor)
    same = AuditEntry.objects.filter(operation=Operation.LOGIN, subject=subject[:200], actor=actor.name)
    if same.filter(at__gt=since).exists():
        return
    payload = {"action": "refused", "by": visitor.way, "why": refusal.message, "address": address_of(request)}
    with transaction.atomic():
        audit.append(actor, Operation.LOGIN, subject=subject, payload=payload)
