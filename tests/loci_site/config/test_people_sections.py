"""Wrong settings of single sign-on and notifications are told before the start, each with what is allowed."""

from pathlib import Path

import pytest

from loci_site.config import ConfigError, effective_settings, load_config

OIDC = {
    "LOCI_OIDC_ISSUER": "https://login.example.org",
    "LOCI_OIDC_CLIENT_ID": "loci",
    "LOCI_OIDC_CLIENT_SECRET": "s3cret-word",
}


def errors_of(home: Path, **env: str) -> str:
    with pytest.raises(ConfigError) as wrong:
        load_config({"LOCI_HOME": str(home), **env})
    return str(wrong.value)


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"LOCI_OIDC_ISSUER": "https://login.example.org"}, "sign_in.oidc_client_id is empty"),
        ({**OIDC, "LOCI_OIDC_ISSUER": "login.example.org"}, "sign_in.oidc_issuer is 'login.example.org'"),
        ({**OIDC, "LOCI_SIGN_IN_OIDC_SCOPES": "email"}, "sign_in.oidc_scopes must contain openid"),
        ({"LOCI_PROXY_HEADER": "X-Remote-User"}, "sign_in.proxy_peers is empty"),
        (
            {"LOCI_PROXY_HEADER": "X Remote", "LOCI_PROXY_PEERS": "127.0.0.1"},
            "'X Remote'; it must be the name",
        ),
        ({"LOCI_PROXY_PEERS": "proxy.example"}, "sign_in.proxy_peers has 'proxy.example'"),
        ({"LOCI_SIGN_IN_GROUPS": "engineering=ledger"}, "'engineering=ledger'; each must have the form"),
        ({"LOCI_SIGN_IN_GROUPS": "a=b:owner"}, "with the role viewer, contributor, curator or admin"),
        (
            {"LOCI_NOTIFICATIONS_WEBHOOK_HOSTS": "hooks.internal,10.0.0.1/8"},
            "'10.0.0.1/8', which is not a network",
        ),
        ({"LOCI_MAIL_HOST": "mail.example.org"}, "notifications.mail_from is ''"),
    ],
)
def test_what_is_wrong_is_named_with_what_is_allowed(tmp_path: Path, env: dict[str, str], said: str) -> None:
    assert said in errors_of(tmp_path, **env)


def test_both_are_off_by_default_and_secrets_are_never_shown(tmp_path: Path) -> None:
    config = load_config({"LOCI_HOME": str(tmp_path)})
    assert (config.sign_in.oidc_issuer, config.sign_in.proxy_header, config.sign_in.create) == ("", "", False)
    assert (config.notifications.mail_host, config.notifications.quote) == ("", False)
    env = {"LOCI_HOME": str(tmp_path), **OIDC, "LOCI_METRICS_TOKEN": "another-s3cret-word"}
    (tmp_path / "config.toml").write_text('[notifications]\nmail_password = "third-s3cret-word"\n')
    rows = {row.name: row for row in effective_settings(load_config(env), env)}
    assert "s3cret" not in str(rows)
    assert [rows[name].value for name in ("oidc_client_secret", "metrics_token", "mail_password")] == [
        "set"
    ] * 3
    assert rows["oidc_client_secret"].origin == "LOCI_OIDC_CLIENT_SECRET"
