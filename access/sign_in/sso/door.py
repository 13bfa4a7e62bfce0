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
class Claim:
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


def sign_in(request: HttpRequest, claim: Claim) -> User:
    """Log the person in whom the claim means, with the roles that it gives. Logs each login, and refusals.

    Raises:
        NotPermitted: nobody here is meant, or somebody who is deactivated.
    """
    try:
        user = find_or_create(claim)
    except LociError as refusal:
        log_refusal(request, claim, refusal)
        raise
    apply_groups(user, claim)
    login(request, user, backend=BACKEND)
    note_login(request, claim.way, called=claim.name)
    log_success(request, user.get_username(), user, way=claim.way)
    return user


def find_or_create(claim: Claim) -> User:
    """The active person whom the claim means; a new one if the settings allow it."""
    user = find_user(claim)
    if user is None and not settings.LOCI.sign_in.create:
        raise NotPermitted(f"There is no account here for {claim.shown}.", hint=ASK)
    if user is None:
        return create_user(claim)
    if not user.is_active:
        raise NotPermitted(f"The account '{user}' is switched off.", hint=ASK)
    link(user, claim)
    return user


def find_user(claim: Claim) -> User | None:
    """The person by the provider's own name for them, else by the verified e-mail address; of a proxy by name, too."""
    if claim.subject:
        known = Identity.objects.filter(issuer=claim.issuer, subject=claim.subject).select_related("user")
        if found := known.first():
            return found.user
    elif found_user := User.objects.filter(username=claim.name).first():
        return found_user
    if not claim.email:
        return None
    matching = User.objects.filter(email__iexact=claim.email)[:2]
    if len(matching) > 1:
        raise NotPermitted(f"Several people here have the address {claim.email}.", hint=ASK)
    return matching[0] if matching else None


def create_user(claim: Claim) -> User:
    """A new person without a password. A name that is taken is never given to somebody else."""
    name = next((each for each in (claim.name, claim.email) if each and not is_taken(each)), "")
    if not name:
        raise NotPermitted(f"The name '{claim.shown}' belongs to somebody else here.", hint=ASK)
    with transaction.atomic():
        user = add_person(door_actor(claim), name, PersonChange(email=claim.email), password=None)
        user.set_unusable_password()
        user.save(update_fields=["password"])
        link(user, claim)
    return user


def is_taken(name: str) -> bool:
    """True if somebody has this name, in any case."""
    return User.objects.filter(username__iexact=name).exists()


def link(user: User, claim: Claim) -> None:
    """Remember the provider's name for the person, so that a changed e-mail address does not matter; logged once."""
    if not claim.subject:
        return
    with transaction.atomic():
        _, is_new = Identity.objects.get_or_create(
            issuer=claim.issuer, subject=claim.subject, defaults={"user": user}
        )
        if is_new:
            payload = {"action": "identity", "issuer": claim.issuer}
            audit.append(door_actor(claim), Operation.PERSON, subject=f"user:{user}", payload=payload)


def apply_groups(user: User, claim: Claim) -> None:
    """Make the person's roles in the mapped groups those of the claim. Nothing changes if it says nothing of groups."""
    chosen = settings.LOCI.sign_in
    if claim.groups is None:
        return
    actor = door_actor(claim)
    for slug, role in wanted_roles(read_rules(chosen.groups), claim.groups).items():
        try:
            apply_role(actor, find_group(actor, slug), user, role)
        except NotFound:
            log.warning("sign_in.groups names the group '%s', which does not exist", slug)
    if chosen.curators and not user.is_superuser:
        change_person(actor, user, PersonChange(is_staff=bool(claim.groups & set(chosen.curators))))


def apply_role(actor: Actor, group: Group, user: User, role: str) -> None:
    """Give the role; without one, end the membership."""
    if role:
        set_member(actor, group, user=user, role=role)
    elif Membership.objects.filter(group=group, user=user).exists():
        remove_member(actor, group, user=user)


def door_actor(claim: Claim) -> Actor:
    """The Actor of what signing in changes: the settings decide, not the person."""
    return Actor(name=f"sign-in/{claim.way}", via=Via.APP, scopes=ALL_SCOPES, all_groups=True)


def log_refusal(request: HttpRequest, claim: Claim, refusal: LociError) -> None:
    """Log that somebody was not let in, and why; not again for a while."""
    since = timezone.now() - REFUSAL_LOGGED_EVERY
    subject = f"user:{claim.shown}"
    if AuditEntry.objects.filter(at__gt=since, operation=Operation.LOGIN, subject=subject[:200]).exists():
        return
    payload = {"action": "refused", "by": claim.way, "why": refusal.message, "address": address_of(request)}
    with transaction.atomic():
        audit.append(door_actor(claim), Operation.LOGIN, subject=subject, payload=payload)
