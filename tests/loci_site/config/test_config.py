"""Settings: the file, the variables, allowed values, and the errors for others."""

import math
import subprocess
import sys
from pathlib import Path

import pytest

from loci_site.config import KEYS, Config, ConfigError, load_config
from loci_site.config.databases import all_databases, postgresql_settings
from loci_site.config.readers import removed_settings
from loci_site.config.sections import REMOVED
from tests.settings import REPOSITORY


def write(home: Path, text: str) -> dict[str, str]:
    (home / "config.toml").write_text(text, encoding="utf-8")
    return {"LOCI_HOME": str(home)}


def errors_of(env: dict[str, str]) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as wrong:
        load_config(env)
    return wrong.value.errors


def test_without_file_or_variables_the_defaults_hold(tmp_path: Path) -> None:
    config = load_config({"LOCI_HOME": str(tmp_path)})
    assert (config.home, config.storage.database) == (tmp_path, tmp_path / "memory.db")
    assert (config.server.host, config.server.port, config.server.allowed_hosts) == ("127.0.0.1", 8000, ())
    assert (config.access.token_days, config.retrieval.mode, config.embedding.hub) == (0, "hybrid", True)
    assert (config.embedding.model_dir, config.redis_url) == (None, "")


def test_home_is_a_hidden_folder_of_the_user_when_nothing_is_said() -> None:
    assert load_config({}).home == Path.home() / ".loci"


def test_the_file_is_read(tmp_path: Path) -> None:
    env = write(
        tmp_path,
        '[server]\nport = 9000\nallowed_hosts = ["a.example", "b.example"]\n'
        '[storage]\ndatabase = "other.db"\n[embedding]\nhub = false\n[retrieval]\naccess_flush_s = 1\n',
    )
    config = load_config(env)
    assert (config.server.port, config.server.allowed_hosts) == (9000, ("a.example", "b.example"))
    assert config.storage.database == tmp_path / "other.db"
    assert config.embedding.hub is False
    assert (config.retrieval.access_flush_s, type(config.retrieval.access_flush_s)) == (1.0, float)


def test_a_variable_wins_over_the_file_and_the_long_name_over_the_short(tmp_path: Path) -> None:
    env = write(tmp_path, "[server]\nport = 9000\n")
    assert load_config(env | {"LOCI_PORT": "9001"}).server.port == 9001
    assert load_config(env | {"LOCI_PORT": "9001", "LOCI_SERVER_PORT": "9002"}).server.port == 9002


def test_an_empty_variable_counts_as_not_set(tmp_path: Path) -> None:
    env = {"LOCI_HOME": str(tmp_path), "LOCI_PORT": "", "LOCI_GROUP": " ", "DATABASE_URL": ""}
    assert load_config(env).server.port == 8000


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", True), ("yes", True), ("TRUE", True), ("off", False), ("0", False), ("No", False)],
)
def test_a_variable_spells_true_and_false(tmp_path: Path, text: str, value: bool) -> None:
    env = {"LOCI_HOME": str(tmp_path), "LOCI_EMBEDDING_HUB": text}
    assert load_config(env).embedding.hub is value


def test_a_variable_lists_hosts_with_commas_and_a_level_in_any_case(tmp_path: Path) -> None:
    env = {
        "LOCI_HOME": str(tmp_path),
        "LOCI_ALLOWED_HOSTS": "a.example, b.example,",
        "LOCI_LOG_LEVEL": "debug",
    }
    config = load_config(env)
    assert config.server.allowed_hosts == ("a.example", "b.example")
    assert config.server.log_level == "DEBUG"


def test_a_relative_database_in_a_variable_starts_where_the_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    env = {"LOCI_HOME": str(tmp_path / "home"), "LOCI_DB": "here.db"}
    assert load_config(env).storage.database == tmp_path / "here.db"


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("LOCI_PORT", "abc", "variable LOCI_PORT is 'abc'; it must be a whole number from 1 to 65535"),
        ("LOCI_PORT", "0", "variable LOCI_PORT is '0'; it must be a whole number from 1 to 65535"),
        ("LOCI_MAINTENANCE_CYCLE_HOURS", "nan", "a number from 0 to 8760 (hours)"),
        ("LOCI_MAINTENANCE_CYCLE_HOURS", "inf", "a number from 0 to 8760 (hours)"),
        ("LOCI_RETRIEVAL_MODE", "best", "it must be one of hybrid, rrf, weighted, keyword, vector"),
        ("LOCI_EMBEDDING_HUB", "maybe", "it must be true or false"),
        ("LOCI_PUBLIC_URL", "memory", "such as https://memory.example.org"),
        ("LOCI_ALLOWED_ORIGINS", "memory", "such as https://memory.example.org"),
    ],
)
def test_a_wrong_variable_is_named_with_its_value_and_what_is_allowed(
    tmp_path: Path, variable: str, value: str, words: str
) -> None:
    (error,) = errors_of({"LOCI_HOME": str(tmp_path), variable: value})
    assert words in error
    assert repr(value) in error


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('port = "8000"', "[server] port is '8000'; it must be a whole number"),
        ("port = true", "[server] port is True; it must be a whole number"),
        ("port = 8000.0", "[server] port is 8000.0; it must be a whole number"),
        (
            'allowed_hosts = "a.example"',
            "[server] allowed_hosts is 'a.example'; it must be a list of strings",
        ),
        ("allowed_hosts = [1]", "[server] allowed_hosts is [1]; it must be a list of strings"),
        ("host = 1", "[server] host is 1; it must be text"),
        ("prot = 1", "[server] has no key prot; did you mean port?"),
        ("database = 'x'", "[server] has no key database; it belongs under [storage]"),
        ("zzz = 1", "[server] has no key zzz; its keys are host, port"),
    ],
)
def test_a_wrong_line_of_the_file_is_named(tmp_path: Path, line: str, words: str) -> None:
    (error,) = errors_of(write(tmp_path, f"[server]\n{line}\n"))
    assert error.startswith(f"{tmp_path / 'config.toml'}: ")
    assert words in error


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[sevrer]\nport = 1\n", "no section [sevrer]; did you mean server?"),
        ("[xyz]\n", "no section [xyz]; the sections are server, storage"),
        ("port = 1\n", "port is outside a section; it belongs under [server]"),
        ("server = 1\n", "server must be a section: write [server] on a line of its own"),
        ("[server\n", "cannot be read"),
    ],
)
def test_a_wrong_section_is_named(tmp_path: Path, text: str, words: str) -> None:
    (error,) = errors_of(write(tmp_path, text))
    assert words in error


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_bytes(b"\xff\xfe")
    (error,) = errors_of({"LOCI_HOME": str(tmp_path)})
    assert f"{tmp_path / 'config.toml'} cannot be read" in error


def test_a_misspelt_variable_names_the_nearest_and_foreign_ones_are_left_alone(tmp_path: Path) -> None:
    env = {"LOCI_HOME": str(tmp_path), "LOCI_SERVER_PROT": "1", "LOCI_TOKEN": "x", "LOCI_DEBUG": "0"}
    assert errors_of(env) == ("variable LOCI_SERVER_PROT sets no key; did you mean LOCI_SERVER_PORT?",)


def test_all_errors_are_reported_together(tmp_path: Path) -> None:
    env = write(tmp_path, "[server]\nport = 0\n[retrieval]\nmode = 'best'\n")
    assert len(errors_of(env | {"LOCI_SERVER_DB_THREADS": "-1"})) == 3


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.0.0.2"])
def test_on_loopback_no_hosts_are_needed(tmp_path: Path, host: str) -> None:
    assert load_config({"LOCI_HOME": str(tmp_path), "LOCI_HOST": host}).on_loopback


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.168.1.4", "memory.example.org", "127.0.0.1.example.org"]
)
def test_off_loopback_hosts_must_be_listed(tmp_path: Path, host: str) -> None:
    env = {"LOCI_HOME": str(tmp_path), "LOCI_HOST": host}
    (error,) = errors_of(env)
    assert f"server.host is {host!r}" in error
    assert load_config(env | {"LOCI_ALLOWED_HOSTS": "memory.example.org"}).server.host == host


def test_a_former_setting_is_named_and_ignored(tmp_path: Path) -> None:
    env = write(tmp_path, "[storage]\nnear_cosine = 0.9\n[server]\nport = 9000\n")
    env |= {"LOCI_HOOKS_START_TOKENS": "200", "LOCI_SIGN_IN_CURATORS": "leads"}
    assert load_config(env).server.port == 9000
    assert removed_settings(tmp_path / "config.toml", env) == [
        "storage.near_cosine",
        "LOCI_HOOKS_START_TOKENS",
        "LOCI_SIGN_IN_CURATORS",
    ]
    assert removed_settings(tmp_path / "config.toml", {"LOCI_HOME": str(tmp_path)}) == ["storage.near_cosine"]
    (error,) = errors_of(write(tmp_path, "[storage]\nnear_cosin = 0.9\n"))
    assert "has no key near_cosin" in error


def test_no_former_setting_is_one_still() -> None:
    assert not {f"{s}.{n}" for s, names in REMOVED.items() for n in names if n in KEYS[s]}
    assert sum(map(len, KEYS.values())) <= 85, "for a new setting another one goes"


@pytest.mark.parametrize("variable", ["DATABASE_URL", "DATABASE_REPLICA_URL", "REDIS_URL"])
def test_a_wrong_address_of_a_service_is_named_without_its_password(tmp_path: Path, variable: str) -> None:
    (error,) = errors_of({"LOCI_HOME": str(tmp_path), variable: "mysql://user:hunter2@host/db"})
    assert variable in error
    assert "hunter2" not in error


def test_no_database_server_is_taken_silently(tmp_path: Path) -> None:
    (error,) = errors_of({"LOCI_HOME": str(tmp_path), "DATABASE_URL": "mysql://user:hunter2@host/db"})
    assert "postgresql://user@host:port/name; for SQLite unset it" in error
    assert "hunter2" not in error


def test_a_postgresql_address_is_taken_apart() -> None:
    options = postgresql_settings("postgresql://ann:a%40b@/loci?host=/run/pg&sslmode=require")
    named = {name: options[name] for name in ("NAME", "USER", "PASSWORD", "HOST", "PORT")}
    assert named == {"NAME": "loci", "USER": "ann", "PASSWORD": "a@b", "HOST": "/run/pg", "PORT": ""}
    assert options["OPTIONS"]["sslmode"] == "require"
    assert postgresql_settings("postgres://h:5433/x")["PORT"] == "5433"


def test_statements_are_prepared_where_the_setting_says_so(tmp_path: Path) -> None:
    address = {"LOCI_HOME": str(tmp_path), "DATABASE_URL": "postgresql://ann@h/loci"}

    def threshold(**variables: str) -> object:
        return all_databases(load_config(address | variables))["default"]["OPTIONS"]["prepare_threshold"]

    assert (threshold(), threshold(LOCI_STORAGE_PREPARE_THRESHOLD="0")) == (5, None)
    (error,) = errors_of(address | {"LOCI_STORAGE_PREPARE_THRESHOLD": "-1"})
    assert "LOCI_STORAGE_PREPARE_THRESHOLD is '-1'" in error


def test_a_replica_needs_the_database_that_it_is_one_of(tmp_path: Path) -> None:
    home = {"LOCI_HOME": str(tmp_path)}
    replica = {"DATABASE_REPLICA_URL": "postgresql://db2/loci"}
    (error,) = errors_of(home | replica)
    assert "DATABASE_URL must name" in error
    config = load_config(home | replica | {"DATABASE_URL": "postgresql://db1/loci"})
    hosts = {alias: database["HOST"] for alias, database in all_databases(config).items()}
    assert hosts == {"default": "db1", "replica": "db2"}


def test_reading_settings_writes_nothing(tmp_path: Path) -> None:
    load_config({"LOCI_HOME": str(tmp_path / "absent")})
    assert list(tmp_path.iterdir()) == []


def test_every_key_says_what_it_means_and_its_default_is_allowed(tmp_path: Path) -> None:
    for section, specs in KEYS.items():
        for spec in specs.values():
            where = f"{section}.{spec.name}"
            assert spec.meaning.endswith("."), where
            assert spec.allowed, where
            assert spec.kind not in (int, float) or math.isfinite(spec.high - spec.low), (
                f"{where} has no range"
            )
            if spec.default is not None and spec.kind is not tuple:
                written = str(spec.default) if spec.kind is Path else spec.default
                assert spec.checked(written, base=tmp_path) == spec.default_value(base=tmp_path), where


def test_no_two_keys_share_a_variable() -> None:
    variables = [name for specs in KEYS.values() for spec in specs.values() for name in spec.variables]
    assert len(variables) == len(set(variables))


def test_settings_are_frozen(tmp_path: Path) -> None:
    config: Config = load_config({"LOCI_HOME": str(tmp_path)})
    with pytest.raises(AttributeError):
        config.server.port = 1  # type: ignore[misc]


def run_check(home: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    env = {"LOCI_HOME": str(home), "PATH": "/usr/bin:/bin"} | variables
    command = [sys.executable, "manage.py", "check"]
    return subprocess.run(command, cwd=REPOSITORY, env=env, capture_output=True, text=True, check=False)


def test_a_command_with_wrong_settings_ends_with_a_sentence_and_status_1(tmp_path: Path) -> None:
    done = run_check(tmp_path, LOCI_PORT="abc", LOCI_LOG_LEVEL="loud")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Loci cannot start because of wrong settings:\n  - variable LOCI_PORT is 'abc'" in done.stderr
    assert "LOCI_LOG_LEVEL is 'loud'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_check_leaves_no_folder_behind(tmp_path: Path) -> None:
    done = run_check(tmp_path / "absent")
    assert (done.returncode, done.stderr) == (0, "")
    assert not (tmp_path / "absent").exists()


def test_the_token_of_metrics_is_long_and_never_shown(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[server]\nmetrics_token = 1234567\n", encoding="utf-8")
    with pytest.raises(ConfigError) as number:
        load_config({"LOCI_HOME": str(tmp_path)})
    with pytest.raises(ConfigError) as short:
        load_config({"LOCI_HOME": str(tmp_path / "other"), "LOCI_METRICS_TOKEN": "tooshort"})
    assert "[server] metrics_token is wrong; it must be text" in str(number.value)
    assert "server.metrics_token is too short; it must have at least 16 characters" in str(short.value)
    assert "1234567" not in str(number.value)
    assert "tooshort" not in str(short.value)
