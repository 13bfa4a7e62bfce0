"""Queries that are compiled once: the same rows as the ORM gives, whatever the values, on every connection."""

import threading

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from access.models import Group, Membership, Role
from storage.compiled_queries import CompiledQuery, CompiledUpdate

pytestmark = pytest.mark.django_db

BY_SLUG = CompiledQuery(lambda slug: Group.objects.filter(slug=slug).order_by())
ROLES = CompiledQuery(
    lambda user, role: (
        Membership.objects.filter(user=user, role=role).values_list("group__slug", "role").order_by("pk")
    ),
    2,
)
WITH_GROUP = CompiledQuery(
    lambda *keys: Membership.objects.select_related("group").filter(pk__in=keys).order_by("pk"), 2
)
OF_THREE = CompiledQuery(
    lambda *keys: Membership.objects.select_related("group").filter(pk__in=keys).order_by("pk"), 3
)
ODD = "100 %, 's and %s"
TITLED = CompiledQuery(lambda slug: Group.objects.filter(title=ODD, slug=slug).values_list("slug").order_by())
FIRST = CompiledQuery(lambda: Group.objects.order_by("slug").values_list("slug")[:1], 0)

RENAME = CompiledUpdate(
    lambda title, created_by, slug: (
        Group.objects.filter(slug=slug),
        {"title": title, "created_by": created_by},
    ),
    3,
)


@pytest.fixture
def groups() -> list[Group]:
    return [Group.objects.create(slug=slug, private=slug == "atlas") for slug in ("ledger", "atlas")]


def test_a_row_is_the_object_that_the_orm_gives(groups: list[Group]) -> None:
    found = BY_SLUG.first("atlas")
    expected = Group.objects.get(slug="atlas")
    assert found == expected
    assert found is not None
    assert (found.id, found.private, found.created_at, found.updated_at) == (
        expected.id,
        True,
        expected.created_at,
        expected.updated_at,
    )
    assert found._state.adding is False


def test_other_values_give_other_rows_with_one_query_each(groups: list[Group]) -> None:
    BY_SLUG.first("ledger")
    with CaptureQueriesContext(connection) as seen:
        answers = [BY_SLUG.first(slug) for slug in ("ledger", "atlas", "nowhere")]
    assert [group and group.slug for group in answers] == ["ledger", "atlas", None]
    assert len(seen) == 3
    assert BY_SLUG.rows("' OR 1=1 --") == []


def test_texts_and_numbers_stand_where_they_were_asked(groups: list[Group]) -> None:
    user = User.objects.create(username="alice")
    Membership.objects.create(user=user, group=groups[0], role=Role.VIEWER)
    Membership.objects.create(user=user, group=groups[1], role=Role.ADMIN)
    assert ROLES.rows(user.pk, "admin") == [("atlas", "admin")]
    assert ROLES.rows(user.pk, "viewer") == [("ledger", "viewer")]
    assert ROLES.rows(user.pk + 1, "viewer") == []


def test_related_objects_come_along_without_a_query(groups: list[Group]) -> None:
    user = User.objects.create(username="alice")
    made = [Membership.objects.create(user=user, group=group) for group in groups]
    with CaptureQueriesContext(connection) as seen:
        found = WITH_GROUP.rows(made[0].pk, made[1].pk)
        slugs = [membership.group.slug for membership in found]
    assert slugs == ["ledger", "atlas"]
    assert len(seen) == 1


def test_rows_of_one_group_share_its_object_and_others_have_theirs(groups: list[Group]) -> None:
    users = [User.objects.create(username=name) for name in ("alice", "bob", "carol")]
    made = [
        Membership.objects.create(user=user, group=groups[at])
        for user, at in zip(users, (0, 0, 1), strict=True)
    ]
    one, same, other = OF_THREE.rows(*(row.pk for row in made))
    assert one.group is same.group
    assert (same.group, other.group) == (groups[0], groups[1])
    assert same.group.created_at == groups[0].created_at


def test_constant_texts_stand_in_the_statement_as_they_are(groups: list[Group]) -> None:
    Group.objects.filter(slug="atlas").update(title=ODD)
    with CaptureQueriesContext(connection) as seen:
        found = TITLED.rows("atlas"), TITLED.rows("ledger")
    assert found == ([("atlas",)], [])
    assert ODD.replace("'", "''") in seen.captured_queries[0]["sql"]


def test_a_query_may_take_no_value(groups: list[Group]) -> None:
    assert FIRST.rows() == [("atlas",)]


@pytest.mark.django_db(transaction=True)
def test_each_connection_compiles_its_own() -> None:
    Group.objects.create(slug="ledger")
    BY_SLUG.first("ledger")
    answers: list[Group | None] = []

    def ask() -> None:
        answers.append(BY_SLUG.first("ledger"))
        connection.close()

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert [group and group.slug for group in answers] == ["ledger"]


def test_an_update_changes_the_rows_that_are_meant(groups: list[Group]) -> None:
    assert RENAME.run("The books", "alice", "ledger") == 1
    assert RENAME.run("' OR 1=1 --", "bob", "nowhere") == 0
    with CaptureQueriesContext(connection) as seen:
        assert RENAME.run("Maps", "bob", "atlas") == 1
    assert len(seen) == 1
    titles = {group.slug: (group.title, group.created_by) for group in Group.objects.all()}
    assert titles == {"ledger": ("The books", "alice"), "atlas": ("Maps", "bob")}


@pytest.mark.usefixtures("groups")
def test_an_update_runs_for_each_of_many_values_in_one_go() -> None:
    with CaptureQueriesContext(connection) as seen:
        RENAME.run_each(
            [("The books", "alice", "ledger"), ("Maps", "bob", "atlas"), ("None", "bob", "nowhere")]
        )
    RENAME.run_each([])
    titles = {group.slug: (group.title, group.created_by) for group in Group.objects.all()}
    assert titles == {"ledger": ("The books", "alice"), "atlas": ("Maps", "bob")}
    assert len(seen) == 1
