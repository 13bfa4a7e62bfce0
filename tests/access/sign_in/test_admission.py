"""Whom a provider or a proxy names, and who that is here."""

import pytest
from django.contrib.auth.models import User

from access.sign_in.sessions import SignInWay
from access.sign_in.sso.admission import Visitor, find_user

pytestmark = pytest.mark.django_db


def test_an_address_that_only_looks_alike_is_another_person_s() -> None:
    mike = User.objects.create_user("mike", email="Mike@example.org")

    def owner_of(email: str) -> User | None:
        return find_user(
            Visitor(SignInWay.OIDC, name="new", email=email, issuer="https://i.example", subject="s-1")
        )

    assert owner_of("mike@EXAMPLE.org") == mike
    assert owner_of("mıke@example.org") is None  # PostgreSQL's capitals of both are the same
