"""A code that was shown to a person does not outlive what it was shown for."""

import pytest
from django.contrib.auth.models import User

from access.models import Pairing
from access.sign_in.users import end_access, log_password
from access.tokens import operator
from access.tokens.pairing import show_code
from tests.people import person

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("ending", [end_access, log_password])
def test_a_code_ends_with_the_password_and_the_account(alice: User, ending: object) -> None:
    show_code(person(alice), alice)
    ending(operator(), alice)  # type: ignore[operator]
    assert not Pairing.objects.filter(user=alice).exists()
