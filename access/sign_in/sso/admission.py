"""Single sign-on admits a person: finds or creates the account, logs in, applies roles."""

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
from access.models import AuditEntry, Identity, Membership
from access.sign_in.client_address import address_of
from access.sign_in.login import BACKEND, log_success
from access.sign_in.sessions import SignInWay, note_login
from access.sign_in.sso.mapping import read_rules, wanted_roles
from access.sign_in.users import PersonChange, add_person, log_about

log = logging.getLogger(__name__)
ASK = "Ask an admin of Loci."
_REFUSAL_LOGGED_EVERY = timedelta(minutes=10)  # per name; a page behind a proxy may reload endlessly


@dataclass(frozen=True)
class Visitor:
    """A person as the provider or proxy describes them: `email` only if verified, `groups` None if they were not sent."""

    way: SignInWay
    name: str
    email: str = ""
    issuer: str = ""
    subject: str = ""
    groups: frozenset[str] | None = None

    @property
    def label(self) -> str:
        """The name of the person in messages."""
        return (self.email or self.name or self.subject)[:150]


def sign_in(request: HttpRequest, visitor: Visitor) -> User:
    """Log the visitor in to their account and apply their roles. Logins and refusals are logged.

    Raises:
        NotPermitted: the visitor has no account, or it is deactivated.
    """
    try:
        user = find_or_create(visitor)
    except LociError as refusal:
        log_refusal(request, visitor, refusal)
        raise
    _apply_groups(user, visitor)
    login(request, user, backend=BACKEND)
    note_login(request, visitor.way, called=visitor.name)
    log_success(request, user.get_username(), user, way=visitor.way)
    return user


def find_or_create(visitor: Visitor) -> User:
    """The visitor's active account; a new one if `sign_in.create` allows it."""
    user = find_user(visitor)
    if user is None and not settings.LOCI.sign_in.create:
        raise NotPermitted(f"There is no account here for {visitor.label}.", hint=ASK)
    if user is None:
        return create_user(visitor)
    if not user.is_active:
        raise NotPermitted(f"The account '{user}' is switched off.", hint=ASK)
    _link_identity(user, visitor)
    return user


def find_user(visitor: Visitor) -> User | None:
    """The account by the provider's subject, else by verified e-mail address; for a proxy by name first."""
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
    """A new account without a password, under a name that is not taken."""
    wanted = filter(None, (visitor.name, visitor.email))
    name = next((each for each in wanted if not User.objects.filter(username__iexact=each).exists()), "")
    if not name:
        raise NotPermitted(f"The name '{visitor.label}' belongs to another person here.", hint=ASK)
    with transaction.atomic():
        user = add_person(_sign_in_actor(visitor), name, PersonChange(email=visitor.email), password=None)
        _link_identity(user, visitor)
    return user


def _link_identity(user: User, visitor: Visitor) -> None:
    """Store the provider's subject for the account, so that a changed e-mail address does not matter; logged once."""
    if not visitor.subject:
        return
    with transaction.atomic():
        _, is_new = Identity.objects.get_or_create(
            issuer=visitor.issuer, subject=visitor.subject, defaults={"user": user}
        )
        if is_new:
            log_about(_sign_in_actor(visitor), user, {"action": "identity", "issuer": visitor.issuer})


def _apply_groups(user: User, visitor: Visitor) -> None:
    """Set the roles in the mapped groups from the provider's groups; without `groups` nothing changes."""
    chosen = settings.LOCI.sign_in
    if visitor.groups is None:
        return
    actor = _sign_in_actor(visitor)
    for slug, role in wanted_roles(read_rules(chosen.groups), visitor.groups).items():
        try:
            group = find_group(actor, slug)
        except NotFound:
            log.warning("sign_in.groups names the group '%s', which does not exist", slug)
            continue
        if role:
            set_member(actor, group, user=user, role=role)
        elif Membership.objects.filter(group=group, user=user).exists():
            remove_member(actor, group, user=user)


def _sign_in_actor(visitor: Visitor) -> Actor:
    """The Actor of changes made by single sign-on: the settings decide, not the person."""
    return Actor(name=f"sign-in/{visitor.way}", via=Via.APP, scopes=ALL_SCOPES, all_groups=True)


def log_refusal(request: HttpRequest, visitor: Visitor, refusal: LociError) -> None:
    """Log a refused login with its reason, once per _REFUSAL_LOGGED_EVERY."""
    since = timezone.now() - _REFUSAL_LOGGED_EVERY
    subject, actor = f"user:{visitor.label}", _sign_in_actor(visitor)
    same = AuditEntry.objects.filter(operation=Operation.LOGIN, subject=subject[:200], actor=actor.name)
    if same.filter(at__gt=since).exists():
        return
    payload = {"action": "refused", "by": visitor.way, "why": refusal.message, "address": address_of(request)}
    with transaction.atomic():
        audit.append(actor, Operation.LOGIN, subject=subject, payload=payload)
