"""Single sign-on: through a real provider of OpenID Connect on this machine, and by a proxy's header."""

import re
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from io import BytesIO
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
import requests
from cryptography.hazmat.primitives.asymmetric import rsa
from django.contrib.auth.models import User
from django.core.exceptions import SuspiciousOperation
from django.core.handlers.asgi import ASGIRequest
from django.test import Client
from django.utils import timezone

from access.models import AuditEntry, Group, Identity, Membership
from access.sign_in.client_address import PEER
from access.sign_in.sso.mapping import ROLES
from access.sign_in.sso.proxy import proxied_visitor
from loci_site.app.login import OFF
from tests.people import alice, bob, garden, ledger

with warnings.catch_warnings(record=True):  # the provider's own dependencies warn as they are imported
    from oidc_provider_mock import User as Account
    from oidc_provider_mock import run_server_in_thread

__all__ = ["alice", "bob", "garden", "ledger"]
# The provider runs in a thread of this process, and its own dependencies warn.
pytestmark = [pytest.mark.django_db, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
ANN = {"preferred_username": "ann", "email": "ann@example.org", "email_verified": True}
ACCOUNTS = {
    "s-ann": ANN,
    "s-ann-in": {**ANN, "groups": ["engineering", "leads"]},
    "s-ann-out": {**ANN, "groups": []},
    "s-unverified": {**ANN, "email_verified": False},
    "s-bob": {"preferred_username": "bob"},
}
Chosen = Callable[..., None]


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    accounts = [Account(sub=sub, claims=claims) for sub, claims in ACCOUNTS.items()]
    with run_server_in_thread(user_claims=accounts) as server:
        yield f"http://localhost:{server.server_port}"


@pytest.fixture
def chosen(settings: Any) -> Chosen:
    """`chosen(create=True)`: these settings of [sign_in]."""

    def choose(**values: Any) -> None:
        settings.LOCI = replace(settings.LOCI, sign_in=replace(settings.LOCI.sign_in, **values))

    return choose


@pytest.fixture
def oidc(provider: str, chosen: Chosen) -> str:
    chosen(oidc_issuer=provider, oidc_client_id="loci", oidc_client_secret="s3cret", oidc_label="Example")
    return provider


def answer_of_provider(browser: Client, sub: str, *, wanted: str = "", action: str = "authorize") -> str:
    """Where the provider sends a browser back to, after the person consented there."""
    asked = browser.get(f"/login/oidc/{wanted and '?next=' + wanted}")
    assert asked.status_code == 302, asked.content
    said = requests.post(
        asked["Location"], data={"sub": sub, "action": action}, allow_redirects=False, timeout=5
    )
    back = urlsplit(said.headers["Location"])
    assert back.path == "/login/oidc/callback/", said.headers
    return f"{back.path}?{back.query}"


def log_in(browser: Client, sub: str, **options: str) -> str:
    """The page that the browser shows in the end."""
    page = browser.get(answer_of_provider(browser, sub, **options), follow=True)
    return str(page.content.decode())


def logins() -> list[dict[str, Any]]:
    rows = AuditEntry.objects.filter(operation="login").select_related("payload_row").order_by("key")
    return [{"subject": row.subject, "actor": row.actor, **row.payload} for row in rows]


def test_the_login_page_offers_what_is_set_up(oidc: str, chosen: Chosen) -> None:
    page = Client().get("/login/?next=/app/mine/").content.decode()
    assert re.search(r'href="/login/oidc/\?next=/app/mine/">Log in with Example<', page)
    chosen(oidc_issuer="")
    assert "/login/oidc/" not in Client().get("/login/").content.decode()
    assert OFF in Client().get("/login/oidc/", follow=True).content.decode()
    assert OFF in Client().get("/login/oidc/callback/", follow=True).content.decode()


def test_a_person_is_known_by_a_verified_address_and_then_by_the_provider(oidc: str) -> None:
    ann = User.objects.create_user("annie", email="Ann@example.org")
    browser = Client(headers={"User-Agent": "Firefox/140 Linux"})
    page = browser.get(answer_of_provider(browser, "s-ann", wanted="/admin/account/"), follow=True)
    assert page.redirect_chain[-1][0] == "/admin/account/"
    assert "through single sign-on" in page.content.decode()
    assert "You have no password here" in page.content.decode()
    assert Identity.objects.get().user == ann
    User.objects.filter(pk=ann.pk).update(email="")  # the address no longer matters
    assert "/admin/account/" in log_in(Client(), "s-ann")
    assert [(row["subject"], row["actor"], row["by"]) for row in logins()] == [
        ("user:annie", "annie", "oidc")
    ] * 2


def test_a_stranger_is_told_whom_to_ask_and_gets_an_account_if_that_is_set(oidc: str, chosen: Chosen) -> None:
    browser = Client()
    assert "There is no account here for ann@example.org. Ask an admin of Loci." in log_in(browser, "s-ann")
    assert not browser.session.get("_auth_user_id")
    assert [(row["action"], row["by"]) for row in logins()] == [("refused", "oidc")]
    chosen(create=True)
    log_in(browser, "s-ann")
    ann = User.objects.get(username="ann")
    assert browser.session["_auth_user_id"] == str(ann.pk)
    assert (ann.email, ann.has_usable_password()) == ("ann@example.org", False)
    assert (
        AuditEntry.objects.filter(operation="person", actor="sign-in/oidc", subject="user:ann").count() == 2
    )


def test_a_name_or_an_unverified_address_makes_nobody_somebody_else(
    oidc: str, chosen: Chosen, bob: User
) -> None:
    User.objects.create_user("ann", email="ann@example.org")
    chosen(create=True)
    assert "belongs to another person here" in log_in(Client(), "s-unverified")
    assert "The name &#x27;bob&#x27; belongs to another person here." in log_in(Client(), "s-bob")
    assert not Identity.objects.exists()


def test_who_is_deactivated_stays_out_and_an_open_session_ends(oidc: str) -> None:
    ann = User.objects.create_user("ann", email="ann@example.org")
    browser = Client()
    log_in(browser, "s-ann")
    User.objects.filter(pk=ann.pk).update(is_active=False)
    assert browser.get("/admin/account/").status_code == 302
    again = Client()
    assert "The account &#x27;ann&#x27; is switched off. Ask an admin of Loci." in log_in(again, "s-ann")
    assert again.get("/admin/account/").status_code == 302
    assert [row["action"] for row in logins()] == ["login", "refused"]


def test_roles_follow_the_providers_groups(oidc: str, chosen: Chosen, ledger: Group, garden: Group) -> None:
    chosen(
        create=True,
        groups=(
            "engineering=ledger:contributor",
            "leads=ledger:curator",
            "staff=garden:viewer",
            "leads=none:viewer",
        ),
    )

    def roles() -> dict[str, str]:
        return dict(Membership.objects.filter(user__username="ann").values_list("group__slug", "role"))

    log_in(Client(), "s-ann-in")
    assert roles() == {"ledger": "curator"}
    Identity.objects.update(subject="s-ann")
    log_in(Client(), "s-ann")  # says nothing of groups
    assert roles() == {"ledger": "curator"}
    Identity.objects.update(subject="s-ann-out")
    log_in(Client(), "s-ann-out")
    assert roles() == {}
    row = AuditEntry.objects.filter(operation="member", actor="sign-in/oidc").latest("key")
    assert row.payload == {"action": "remove", "user": "ann"}


def test_answers_that_this_browser_did_not_ask_for_are_refused(oidc: str) -> None:
    User.objects.create_user("ann", email="ann@example.org")
    browser, other = Client(), Client()
    address = answer_of_provider(browser, "s-ann")
    assert "began in another browser" in other.get(address, follow=True).content.decode()
    browser.get(address)
    assert "has expired or began in another browser" in browser.get(address, follow=True).content.decode()
    denied = answer_of_provider(other, "s-ann", action="deny")
    state = parse_qs(urlsplit(other.get("/login/oidc/")["Location"]).query)["state"][0]
    assert "error=access_denied" in denied
    page = other.get(f"/login/oidc/callback/?error=access_denied&state={state}", follow=True)
    assert "did not let you through" in page.content.decode()
    page = other.get(re.sub(r"code=[^&]+", "code=wrong", answer_of_provider(other, "s-ann")), follow=True)
    assert "The sign-in provider refused the answer." in page.content.decode()


def test_the_page_that_was_wanted_and_no_page_elsewhere(oidc: str) -> None:
    User.objects.create_user("ann", email="ann@example.org")
    for wanted, shown in {"/admin/review/": "/admin/review/", "https://evil.example/": "/admin/"}.items():
        browser = Client()
        page = browser.get(answer_of_provider(browser, "s-ann", wanted=wanted), follow=True)
        assert page.redirect_chain[-1][0] == shown


def test_a_provider_that_is_not_there_is_no_error_of_ours(chosen: Chosen, provider: str) -> None:
    chosen(oidc_issuer="http://localhost:9", oidc_client_id="loci", oidc_client_secret="x")
    assert (
        "The sign-in provider does not answer." in Client().get("/login/oidc/", follow=True).content.decode()
    )
    chosen(oidc_issuer=f"{provider}/elsewhere")
    assert (
        "The sign-in provider does not answer." in Client().get("/login/oidc/", follow=True).content.decode()
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"iss": "https://evil.example"},
        {"aud": "another-program"},
        {"aud": ["loci", "other"], "azp": "other"},
        {"exp": 1_700_000_000},
        {"exp": None},
        {"sub": None},
        {},
    ],
)
def test_an_id_token_must_be_from_the_provider_for_us_and_fresh(oidc: str, wrong: dict[str, Any]) -> None:
    from access.sign_in.sso.oidc import Provider

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    now = int(time.time())
    claims = {"iss": oidc, "aud": "loci", "sub": "s", "iat": now, "exp": now + 60, **wrong}
    token = jwt.encode({k: v for k, v in claims.items() if v is not None}, key, algorithm="RS256")
    if not wrong:
        assert Provider()._verify_jws(token, key.public_key())["sub"] == "s"
        return
    with pytest.raises((jwt.PyJWTError, SuspiciousOperation)):
        Provider()._verify_jws(token, key.public_key())


def test_the_roles_of_the_mapping_are_those_of_groups() -> None:
    assert (
        sorted(ROLES, key=Membership.RANK.__getitem__)
        == list(ROLES)
        == sorted(Membership.RANK, key=Membership.RANK.__getitem__)
    )


@pytest.fixture
def proxy(chosen: Chosen) -> None:
    chosen(
        proxy_header="X-Remote-User",
        proxy_groups_header="X-Remote-Groups",
        proxy_peers=("192.0.2.7", "10.0.0.0/8"),
        groups=("engineering=ledger:curator",),
    )


def through(peer: str, **headers: str) -> Client:
    return Client(
        REMOTE_ADDR=peer, headers={name.replace("_", "-"): value for name, value in headers.items()}
    )


def test_a_configured_proxy_names_the_person(proxy: None, bob: User) -> None:
    browser = through("10.1.2.3", x_remote_user="bob", x_remote_groups="engineering, others")
    page = browser.get("/admin/account/", follow=True)
    assert [address for address, _ in page.redirect_chain] == [
        "/login/?next=/admin/account/",
        "/admin/account/",
    ]
    assert "through the proxy" in page.content.decode()
    assert Membership.objects.get(user=bob).role == "curator"
    assert [(row["subject"], row["by"]) for row in logins()] == [("user:bob", "proxy")]
    left = browser.post("/logout/", follow=True).content.decode()
    assert "Continue as bob" in left
    assert browser.get("/admin/account/").status_code == 302


def test_the_header_of_anybody_else_counts_for_nothing(proxy: None, bob: User) -> None:
    for peer in ("192.0.2.8", "203.0.113.9", "127.0.0.1"):
        page = through(peer, x_remote_user="bob").get("/login/")
        assert page.status_code == 200
        assert "bob" not in page.content.decode()
    assert logins() == []


def test_a_proxy_lets_in_neither_strangers_nor_the_deactivated(
    proxy: None, bob: User, chosen: Chosen
) -> None:
    User.objects.filter(pk=bob.pk).update(is_active=False)
    for _ in range(3):
        page = through("192.0.2.7", x_remote_user="bob").get("/app/", follow=True)
        assert "The account &#x27;bob&#x27; is switched off." in page.content.decode()
    assert (
        "no account here for zoe."
        in through("192.0.2.7", x_remote_user="zoe").get("/login/").content.decode()
    )
    assert [(row["subject"], row["action"]) for row in logins()] == [
        ("user:bob", "refused"),
        ("user:zoe", "refused"),
    ]
    chosen(create=True)
    assert through("192.0.2.7", x_remote_user="zoe").get("/login/").status_code == 302
    assert User.objects.get(username="zoe").has_usable_password() is False


def test_a_session_ends_when_the_proxy_names_somebody_else(
    proxy: None, bob: User, alice: User, settings: Any
) -> None:
    at = settings.MIDDLEWARE.index("django.contrib.auth.middleware.AuthenticationMiddleware")
    middleware = "access.sign_in.sso.proxy.end_other_persons_session"
    settings.MIDDLEWARE = [*settings.MIDDLEWARE[:at], middleware, *settings.MIDDLEWARE[at:]]
    browser = through("10.1.2.3", x_remote_user="bob")
    browser.get("/login/")
    assert browser.get("/admin/account/").status_code == 200
    assert browser.get("/admin/account/", headers={"X-Remote-User": "alice"}).status_code == 302
    browser.get("/login/")
    assert browser.get("/admin/account/", REMOTE_ADDR="203.0.113.9").status_code == 302
    by_password = Client()
    by_password.post("/login/", {"username": "alice", "password": "a-long-password"})
    assert by_password.get("/admin/account/").status_code == 200


def test_the_connections_address_counts_and_a_header_sent_once(proxy: None) -> None:
    def named(peer: str, *sent: tuple[bytes, bytes], client: str = "10.1.2.3") -> str:
        scope = {"type": "http", "method": "GET", "path": "/", "headers": [*sent], "client": (client, 1)}
        claim = proxied_visitor(ASGIRequest({**scope, PEER: (peer, 1)}, BytesIO()))
        return claim.name if claim else ""

    bob = (b"x-remote-user", b"bob")
    assert (
        named("192.0.2.7", bob, client="203.0.113.9") == "bob"
    )  # behind the proxy, the client is somebody else
    assert named("203.0.113.9", bob) == ""  # X-Forwarded-For says what it likes
    assert named("192.0.2.7", bob, (b"X-Remote-User", b"alice")) == ""
    assert named("192.0.2.7", (b"x_remote_user", b"bob")) == ""
    assert named("::ffff:192.0.2.7", bob) == "bob"
    assert named("not an address", bob) == ""


def test_passwords_and_invitations_are_logged_as_such(alice: User) -> None:
    Client().post("/login/", {"username": "alice", "password": "a-long-password"})
    assert [row["by"] for row in logins()] == ["password"]
    assert timezone.now() - AuditEntry.objects.latest("key").at < timedelta(minutes=1)
