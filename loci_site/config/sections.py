"""Declarations of all settings: type, default, unit, range and meaning of each key, one class per section."""

import re
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, field, fields
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, Literal

from access.sign_in.sso.mapping import WrongRule, read_rules
from loci_site.config.keys import key


@dataclass(frozen=True)
class Notifications:
    """[notifications] mail and webhooks; off for each person until chosen."""

    mail_host: str = key(
        "", "Mail server that sends notifications; empty: no mail.", variable="LOCI_MAIL_HOST"
    )
    mail_port: int = key(587, "Port of the mail server.", low=1, high=65_535)
    mail_security: Literal["starttls", "tls", "none"] = key(
        "starttls", "How the connection to the mail server is encrypted."
    )
    mail_user: str = key("", "Name at the mail server; empty: none is needed.", variable="LOCI_MAIL_USER")
    mail_password: str = key("", "Password at the mail server.", variable="LOCI_MAIL_PASSWORD", secret=True)
    mail_from: str = key("", "Address that mail comes from.", variable="LOCI_MAIL_FROM")
    webhook_hosts: tuple[str, ...] = key(
        (),
        "Host names, addresses or networks that webhooks may reach although they are private, such as 10.0.0.5; they"
        " may use http.",
    )
    quote: bool = key(
        False, "Whether notifications quote the beginning of what waits; otherwise they hold no stored text."
    )


def find_notification_conflicts(chosen: Notifications) -> Iterator[str]:
    """Errors in combinations of these settings."""
    if chosen.mail_host and "@" not in chosen.mail_from:
        yield (
            f"notifications.mail_from is {chosen.mail_from!r}; with notifications.mail_host it must be an address such as "
            "loci@example.org"
        )
    for entry in chosen.webhook_hosts:
        try:
            if "/" in entry:
                ip_network(entry)
        except ValueError:
            yield f"notifications.webhook_hosts has {entry!r}, which is not a network; write one such as 10.0.0.0/24"


HEADER = re.compile(r"[A-Za-z][A-Za-z0-9-]*")


@dataclass(frozen=True)
class _SignIn:
    """[sign_in] logging in through a provider of OpenID Connect, or by a header of a proxy."""

    oidc_issuer: str = key(
        "",
        "Address of the OpenID Connect provider, as its own configuration names it; empty: off.",
        variable="LOCI_OIDC_ISSUER",
    )
    oidc_client_id: str = key("", "Name that the provider gave to this Loci.", variable="LOCI_OIDC_CLIENT_ID")
    oidc_client_secret: str = key(
        "", "Secret that the provider gave to this Loci.", variable="LOCI_OIDC_CLIENT_SECRET", secret=True
    )
    oidc_label: str = key("single sign-on", "What the button of the login page names after 'Log in with'.")
    oidc_scopes: tuple[str, ...] = key(("openid", "profile", "email"), "What Loci asks the provider for.")
    name_claim: str = key("preferred_username", "Claim with the name of a new person.")
    groups_claim: str = key("groups", "Claim with the provider's groups of a person.")
    groups: tuple[str, ...] = key(
        (),
        "Roles by the provider's groups, each as VALUE=GROUP:ROLE, such as engineering=ledger:contributor; the groups"
        " named here follow the provider.",
    )
    create: bool = key(False, "Whether people whom Loci does not know get an account as they log in.")
    proxy_header: str = key(
        "",
        "Header in which a proxy names the person it let in, such as X-Remote-User; empty: off.",
        variable="LOCI_PROXY_HEADER",
    )
    proxy_groups_header: str = key(
        "", "Header in which it lists the person's groups, with commas between them."
    )
    proxy_peers: tuple[str, ...] = key(
        (),
        "Addresses or networks of the proxies whose header counts, such as 127.0.0.1.",
        variable="LOCI_PROXY_PEERS",
    )


def find_sign_in_conflicts(sign_in: _SignIn) -> Iterator[str]:
    """Errors in combinations of these settings, or inside their values."""
    if sign_in.oidc_issuer:
        if not sign_in.oidc_issuer.startswith(("https://", "http://")):
            yield f"sign_in.oidc_issuer is {sign_in.oidc_issuer!r}; it must be an address such as https://login.example.org"
        for name in ("oidc_client_id", "oidc_client_secret"):
            if not getattr(sign_in, name):
                yield f"sign_in.{name} is empty; the provider of sign_in.oidc_issuer gives one to each program"
        if "openid" not in sign_in.oidc_scopes:
            yield "sign_in.oidc_scopes must contain openid"
    if sign_in.proxy_header and not sign_in.proxy_peers:
        yield "sign_in.proxy_header is set, but sign_in.proxy_peers is empty: list the proxy's address, such as 127.0.0.1"
    for name in ("proxy_header", "proxy_groups_header"):
        if (value := getattr(sign_in, name)) and not HEADER.fullmatch(value):
            yield f"sign_in.{name} is {value!r}; it must be the name of a header, of letters, digits and hyphens"
    for peer in sign_in.proxy_peers:
        try:
            ip_network(peer)
        except ValueError:
            yield f"sign_in.proxy_peers has {peer!r}; each must be an address or a network such as 10.0.0.0/24"
    try:
        read_rules(sign_in.groups)
    except WrongRule as wrong:
        yield f"sign_in.groups has {wrong}; each must have the form VALUE=GROUP:ROLE, with the role viewer, contributor, curator or admin"


@dataclass(frozen=True)
class Server:
    """[server] where Loci listens."""

    host: str = key("127.0.0.1", "Address to listen on.", variable="LOCI_HOST")
    port: int = key(8000, "Port to listen on.", low=1, high=65_535, variable="LOCI_PORT")
    allowed_hosts: tuple[str, ...] = key(
        (),
        "Host names that clients may use; required if `host` is not loopback.",
        variable="LOCI_ALLOWED_HOSTS",
    )
    public_url: str = key("", "Public address of Loci behind a proxy.", variable="LOCI_PUBLIC_URL")
    allowed_origins: tuple[str, ...] = key(
        (), "Other web origins that may call Loci from a browser.", variable="LOCI_ALLOWED_ORIGINS"
    )
    web_processes: int = key(
        0,
        "Web processes that `up` runs; each loads the model and the vectors. 0: one, and on a machine with two cores and"
        " 4 GiB a second one while there is much to do.",
        low=0,
        high=64,
        variable="LOCI_WEB_PROCESSES",
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] = key(
        "INFO", "Lowest level that is logged to stderr.", variable="LOCI_LOG_LEVEL"
    )
    log_format: Literal["text", "json"] = key(
        "text", "Format of a line of the log: text or a JSON object.", variable="LOCI_LOG_FORMAT"
    )
    log_file_mb: int = key(
        10,
        "Largest size of LOCI_HOME/logs/loci.log, which `up` writes; then it becomes loci.log.1. 0: no file.",
        unit="MiB",
        low=0,
        high=10_000,
    )
    metrics_token: str = key(
        "",
        "Secret that a monitoring system sends to read /metrics, at least 16 characters; without one /metrics is off.",
        variable="LOCI_METRICS_TOKEN",
        secret=True,
    )
    db_threads: int = key(4, "Threads, and so connections, for reading in each process.", low=1, high=64)
    max_body_bytes: int = key(
        4 * 1024 * 1024, "Largest request body accepted.", unit="bytes", low=1024, high=1024**3
    )
    max_upload_bytes: int = key(
        16 * 1024 * 1024,
        "Largest file for an import in the browser; the command has no limit.",
        unit="bytes",
        low=1024,
        high=1024**3,
    )


@dataclass(frozen=True)
class Storage:
    """[storage] where and how memories are stored."""

    database: Path = key(Path("memory.db"), "SQLite file; relative to LOCI_HOME.", variable="LOCI_DB")
    encryption: Literal["none", "sqlcipher"] = key(
        "none",
        "Encryption of the SQLite file, its backups and uploaded files: sqlcipher needs a key and the extra"
        " `encryption`.",
    )
    key_file: Path | None = key(
        None,
        "File with the key of 64 hexadecimal digits, outside LOCI_HOME; instead of it the variable LOCI_DB_KEY may hold"
        " the key.",
        variable="LOCI_DB_KEY_FILE",
    )
    key_in_keyring: bool = key(
        False, "Whether the key is in the system's keyring, which needs the package keyring."
    )
    prepare_threshold: int = key(
        5,
        "Number of uses of a recall or store statement after which PostgreSQL keeps its plan for the connection. 0: never."
        " Behind a pooler (PgBouncer), plans are never kept.",
        low=0,
        high=1000,
    )
    max_content_chars: int = key(
        100_000, "Greatest length of a memory.", unit="characters", low=100, high=10_000_000
    )
    dedup: Literal["guarded", "overwrite"] = key(
        "guarded",
        "How a near restatement is stored: guarded reinforces a memory only if the text states the same fact;"
        " overwrite updates the old memory unless numbers, names, negation or another guard differ.",
    )
    vector_memory_mb: int = key(
        96,
        "Memory for half-precision vectors (0.75 KiB each) in each process that searches; if they do not all fit, only"
        " their signs are held.",
        unit="MiB",
        low=0,
        high=65_536,
    )


@dataclass(frozen=True)
class _Embedding:
    """[embedding] the model that turns text into vectors."""

    model_dir: Path | None = key(
        None,
        "Folder with your own copy of the model's files, used instead of a download.",
        variable="LOCI_MODEL_DIR",
    )
    precision: Literal["8-bit", "fp16-weights", "fp32"] = key(
        "8-bit", "Arithmetic precision and weight format of the model."
    )
    # The model has 512 positions and was trained on 128 tokens; its published configuration says 256.
    window_tokens: int = key(
        256,
        "Length of text that one vector covers; after a change run 'loci model reembed'.",
        unit="tokens",
        low=32,
        high=512,
    )
    threads: int = key(0, "Threads of the model; 0: one per core, in the worker one less.", low=0, high=256)
    hub: bool = key(
        True, "Whether the model may come from the model hub; false: nothing that runs fetches a missing one."
    )
    endpoint_key: str = key("", "Key that the endpoint of a model asks for.", secret=True)


@dataclass(frozen=True)
class _Retrieval:
    """[retrieval] how memories are found."""

    mode: Literal["hybrid", "rrf", "weighted", "keyword", "vector"] = key(
        "hybrid", "How hits are found and fused."
    )
    max_results: int = key(10, "Memories in an answer if the caller names no limit.", low=1, high=1000)
    token_budget: int = key(
        2000, "Length of an answer if the caller names no budget.", unit="tokens", low=50, high=1_000_000
    )
    tokens: Literal["model", "characters"] = key(
        "model", "What counts as a token of a budget: one of the embedding model's, or four characters."
    )
    date_order: Literal["dmy", "mdy"] = key(
        "dmy",
        "What 4/3/2026 in a question means: dmy 4 March, mdy 3 April; 25/6 and 6/25 are read either way.",
    )
    access_flush_s: float = key(
        5.0, "How often access counts are written.", unit="seconds", low=0.1, high=3600
    )


@dataclass(frozen=True)
class Maintenance:
    """[maintenance] the cycle, its limits, and retention periods."""

    recall_log_days: int = key(90, "How long the recall log is kept.", unit="days", low=0, high=36_500)
    retention_days: int = key(
        30, "How long forgotten memories can be restored.", unit="days", low=0, high=36_500
    )
    proposal_days: int = key(
        90, "How long a proposed change waits before it expires.", unit="days", low=1, high=36_500
    )
    cycle_hours: float = key(
        24, "Hours between automatic runs of the cycle; 0: never.", unit="hours", low=0, high=8_760
    )
    runs_days: int = key(30, "How long a run can be undone.", unit="days", low=1, high=36_500)
    max_share: float = key(
        0.5,
        "Share of a group's live memories that may go to sleep in seven days; further ones stay.",
        low=0,
        high=1,
    )
    compact_after_days: float = key(
        30, "Age from which the events of a week get a summary.", unit="days", low=0, high=36_500
    )
    summariser: str = key(
        "maintenance.cycle.compaction.summary.Extractive", "Dotted path of the class that writes summaries."
    )
    cleanup_idle_days: float = key(
        90,
        "Time without a recall before a memory of low confidence goes to sleep.",
        unit="days",
        low=0,
        high=36_500,
    )
    log_days: int = key(0, "How long the audit log is kept; 0: for ever.", unit="days", low=0, high=36_500)
    backup_days: float = key(7, "Days between automatic backups; 0: never.", unit="days", low=0, high=365)
    backups_kept: int = key(4, "Automatic backups kept.", low=1, high=1_000)


@dataclass(frozen=True)
class Access:
    """[access] groups and tokens."""

    default_group: str = key(
        "", "Group used if neither the call nor the token names one.", variable="LOCI_GROUP"
    )
    default_scope: Literal["group", "by-type"] | None = key(
        None,
        "Who sees a memory whose author names no scope, in groups without a rule of their own: group, its group alone;"
        " by-type, every group unless it is an event. Not set: group, or by-type in a home that had memories before"
        " this setting.",
    )
    token_days: int = key(0, "Lifetime of a new token; 0: no expiry.", unit="days", low=0, high=36_500)
    chars_per_day: int = key(
        200_000_000,
        "Text that a person may write in a day with all tokens; further writes get 429. Each change counts 500 more, a"
        " text that waits for a person 20,000. 0: no limit.",
        unit="characters",
        low=0,
        high=1_000_000_000_000,
    )
    group_memories: int = key(
        0,
        "Live memories that a group may hold, unless it has a limit of its own. 0: no limit.",
        unit="memories",
        low=0,
        high=1_000_000_000_000,
    )
    group_bytes: int = key(
        0,
        "Text that the live memories of a group may hold in UTF-8, unless it has a limit of its own. 0: no limit.",
        unit="bytes",
        low=0,
        high=1_000_000_000_000,
    )
    oauth: bool = key(
        False,
        "Whether programs may request access from a person through OAuth 2.1 (MCP only).",
        variable="LOCI_OAUTH",
    )
    # NIST SP 800-63B, 5.2.2 allows 100 consecutive failures for people who type; misconfigured programs need few.
    token_failures: int = key(
        20,
        "Invalid tokens from one address before further ones get 429; valid tokens still pass.",
        unit="requests",
        low=1,
        high=1_000_000,
    )


@dataclass(frozen=True)
class Hooks:
    """[hooks] what clients get and leave without being asked."""

    enabled: bool = key(True, "Whether hooks are answered; if not, they get nothing and leave nothing.")
    prompts: bool = key(True, "Whether memories are injected into prompts.")
    prompt_ms: int = key(
        150, "How long a prompt waits before it goes on without memories.", unit="ms", low=10, high=60_000
    )


@dataclass(frozen=True)
class Guard:
    """[guard] what happens to secrets, personal data, hidden characters and injected instructions in texts."""

    floor: tuple[str, ...] = key(
        ("secret=mask",),
        "Minimum treatment of each kind of finding; no group may go below it. Examples: personal=label, password=refuse.",
    )


@dataclass(frozen=True)
class _Judges:
    """[judges] classifiers of your own that score texts (docs/how-to/models.md); off without a folder."""

    folders: tuple[str, ...] = key(
        (),
        "Folders with model.onnx, tokenizer.json and config.json, each as USE=FOLDER: recall orders memories, conflicts"
        " finds contradictions in the nightly cycle, injections finds instructions to an AI.",
    )
    # With it, most prompts are answered within hooks.prompt_ms.
    recall_ms: int = key(
        100, "Time of the judge in a recall, which goes on without it then.", unit="ms", low=1, high=60_000
    )


@dataclass(frozen=True)
class Files:
    """[files] notes on disk that become memories, and rooms (docs/how-to/files.md)."""

    watch: tuple[str, ...] = key(
        (),
        "Folders that are watched, each as PATH=GROUP; others are added with `loci watch`.",
    )
    rooms_folder: Path = key(Path("rooms"), "Folder of the rooms; relative to LOCI_HOME.")
    rooms: tuple[str, ...] = key((), "Groups that have a room on disk.")
    daily_log: tuple[str, ...] = key((), "Groups whose room has a daily log of new memories.")
    beside_encryption: bool = key(False, "Whether plain files may be kept next to an encrypted store.")


LOOPBACK_NAMES = ("127.0.0.1", "localhost", "::1")


def is_loopback(host: str) -> bool:
    if host.casefold() in LOOPBACK_NAMES:
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Config:
    """All settings of one process; frozen, read once at start."""

    home: Path
    server: Server = field(default_factory=Server)
    storage: Storage = field(default_factory=Storage)
    embedding: _Embedding = field(default_factory=_Embedding)
    retrieval: _Retrieval = field(default_factory=_Retrieval)
    maintenance: Maintenance = field(default_factory=Maintenance)
    access: Access = field(default_factory=Access)
    hooks: Hooks = field(default_factory=Hooks)
    guard: Guard = field(default_factory=Guard)
    judges: _Judges = field(default_factory=_Judges)
    files: Files = field(default_factory=Files)
    sign_in: _SignIn = field(default_factory=_SignIn)
    notifications: Notifications = field(default_factory=Notifications)
    redis_url: str = ""
    database_key: str = field(default="", repr=False)  # the variable LOCI_DB_KEY
    database_url: str = ""  # PostgreSQL; empty: SQLite, the file named by storage.database
    replica_url: str = ""  # a streaming replica of it, which answers recalls

    @property
    def on_loopback(self) -> bool:
        """True if only programs on this machine can reach the server."""
        return is_loopback(self.server.host)


SECTIONS: dict[str, Any] = {
    each.name: each.default_factory for each in fields(Config) if each.default_factory is not MISSING
}

# Former keys, whose values are constants now or decide nothing any more. A config.toml or a variable that still sets one gets a warning.
_FORMER = {
    "server": "log_files_kept write_threads",
    "storage": "busy_timeout_s cache_mb max_metadata_bytes max_tags near_cosine same_cosine link_cosine conflict_cosine",
    "embedding": "query_cache wait_s",
    "retrieval": "candidates rrf_k weighted_vector",
    "maintenance": "max_share_floor decay_period_days decay_episodic decay_other decay_access_weight decay_floor"
    " compact_at_least compact_cosine compact_sentences promote_at_least promote_cosine cleanup_confidence",
    "access": "oauth_failures registrations lock_s longest_lock_s writes_per_minute write_burst",
    "hooks": "prompt_memories prompt_tokens start_tokens",
    "files": "max_file_kb scan_s poll_s",
    "notifications": "look_min kept_days",
    "sign_in": "curators",
}
REMOVED = {section: tuple(names.split()) for section, names in _FORMER.items()}
