"""The first admin and the first token, and the tables."""

import pytest
from django.contrib.auth.models import User

from access.audit.verify import is_log_whole
from access.models import ApiToken, AuditEntry
from access.sign_in.passwords import ALPHABET, generated_password
from access.tokens import actor_for_secret
from loci_site.management.first_start import create_first_access, migrate_if_needed
from memories.search.base import search_index
from tests.memories.indexes import WORD_TRIGGER, drop_word_trigger


@pytest.mark.django_db
def test_the_first_admin_can_log_in_and_the_first_token_is_an_agents() -> None:
    first = create_first_access()
    assert first is not None
    admin = User.objects.get()
    assert (admin.username, admin.is_superuser) == ("admin", True)
    assert admin.check_password(first.password)
    actor = actor_for_secret(first.token)
    assert actor.all_groups
    assert actor.scopes == {"read", "write", "create-group"}


@pytest.mark.django_db
def test_both_are_in_the_audit_log_without_their_secrets() -> None:
    first = create_first_access()
    assert first is not None
    said = list(
        AuditEntry.objects.order_by("key").values_list("operation", "subject", "payload_row__payload")
    )
    assert [operation for operation, _, _ in said] == ["member", "group", "token"]
    assert first.password not in str(said)
    assert first.token not in str(said)
    assert is_log_whole()


@pytest.mark.django_db
def test_where_there_is_a_user_nothing_is_made() -> None:
    User.objects.create_user("ann")
    assert create_first_access() is None
    assert User.objects.count() == 1
    assert not ApiToken.objects.exists()


def test_a_password_can_be_read_out() -> None:
    password = generated_password()
    assert [len(part) for part in password.split("-")] == [5, 5, 5, 5]
    assert set(password) <= {*ALPHABET, "-"}
    assert not set("0O1lI") & set(ALPHABET)
    assert password != generated_password()


@pytest.mark.django_db
def test_tables_that_are_up_to_date_are_left_alone(
    django_assert_max_num_queries: pytest.FixtureRequest,
) -> None:
    with django_assert_max_num_queries(6):
        assert migrate_if_needed() == 0


@pytest.mark.django_db(transaction=True)
def test_a_trigger_that_was_lost_is_put_back_at_the_start() -> None:
    drop_word_trigger()
    assert search_index().missing_objects() == [WORD_TRIGGER]
    migrate_if_needed()
    assert search_index().missing_objects() == []
