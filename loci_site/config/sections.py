"""The sections of the settings: every key once, with type, default, unit, range and meaning."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from loci_site.config.keys import key


@dataclass(frozen=True)
class Server:
    """[server] where Loci listens."""

    host: str = key("127.0.0.1", "Address to listen on.", variable="LOCI_HOST")
    port: int = key(8000, "Port to listen on.", low=1, high=65_535, variable="LOCI_PORT")
    allowed_hosts: tuple[str, ...] = key(
        (), "Host names that clients may use; needed off loopback.", variable="LOCI_ALLOWED_HOSTS"
    )
    public_url: str = key(
        "", "Address that people and agents see, behind a proxy.", variable="LOCI_PUBLIC_URL"
    )
    allowed_origins: tuple[str, ...] = key(
        (), "Other web origins that may call Loci from a browser.", variable="LOCI_ALLOWED_ORIGINS"
    )
    web_processes: int = key(
        0,
        "Web processes that `up` runs; each has the model and the vectors in its memory. 0: two where there are two cores"
        " and 4 GiB, otherwise one.",
        low=0,
        high=64,
        variable="LOCI_WEB_PROCESSES",
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] = key(
        "INFO", "Least level that is logged to stderr.", variable="LOCI_LOG_LEVEL"
    )
    db_threads: int = key(4, "Threads, thus connections, for database work in each process.", low=1, high=64)
    max_body_bytes: int = key(
        4 * 1024 * 1024, "Largest request that is read.", unit="bytes", low=1024, high=1024**3
    )
    max_upload_bytes: int = key(
        16 * 1024 * 1024,
        "Largest file that the browser's import takes; the command takes any.",
        unit="bytes",
        low=1024,
        high=1024**3,
    )


@dataclass(frozen=True)
class Storage:
    """[storage] where and how memories are kept."""

    database: Path = key(Path("memory.db"), "SQLite file; relative to LOCI_HOME.", variable="LOCI_DB")
    busy_timeout_s: float = key(
        20.0, "How long a write waits for another one.", unit="seconds", low=0.1, high=600
    )
    cache_mb: int = key(16, "SQLite's page cache for each connection.", unit="MiB", low=1, high=4096)
    max_content_chars: int = key(100_000, "Longest memory.", unit="characters", low=100, high=10_000_000)
    max_metadata_bytes: int = key(
        16_384, "Largest metadata of a memory, as JSON.", unit="bytes", low=2, high=10_000_000
    )
    max_tags: int = key(32, "Most tags on a memory.", low=0, high=1000)
    near_cosine: float = key(0.92, "From this similarity on, two memories are near ones.", low=0.5, high=1)
    dedup: Literal["guarded", "overwrite"] = key(
        "guarded",
        "What becomes of a near restatement: guarded reinforces only what says the same; overwrite updates the old"
        " memory unless numbers, names, negation or another guard speak against it.",
    )
    same_cosine: float = key(0.97, "From this similarity on, they may say the same.", low=0.5, high=1)
    vector_memory_mb: int = key(
        96,
        "Memory for vectors in half precision in each process that searches, 0.75 KiB each; of more than fit, only the signs are kept.",
        unit="MiB",
        low=0,
        high=65_536,
    )
    # Measured on 300 paraphrases and 1,080 pairs of two facts each: bench/proof/duplicates.py.
    link_cosine: float = key(
        0.84,
        "From this similarity on, texts that share nearly all words of one are linked as possible duplicates.",
        low=0.3,
        high=1,
    )
    conflict_cosine: float = key(
        0.55, "From this similarity on, two texts are checked for a contradiction.", low=0.3, high=1
    )


@dataclass(frozen=True)
class Embedding:
    """[embedding] the model that turns text into vectors."""

    model_dir: Path | None = key(
        None,
        "Folder of your own with the model's files, taken instead of fetching them.",
        variable="LOCI_MODEL_DIR",
    )
    precision: Literal["8-bit", "fp16-weights", "fp32"] = key(
        "8-bit", "In what the model multiplies, and how its weights are stored."
    )
    # The model has places for 512 tokens and was trained on 128; the published configuration says 256.
    window_tokens: int = key(
        256,
        "How much of a text one vector stands for; after a change run 'loci reembed'.",
        unit="tokens",
        low=32,
        high=512,
    )
    threads: int = key(0, "Threads of the model; 0 is one for each core.", low=0, high=256)
    query_cache: int = key(4096, "Vectors of questions kept in memory.", low=0, high=1_000_000)
    wait_s: float = key(
        3.0, "How long a recall waits for a model that loads.", unit="seconds", low=0, high=120
    )
    hub: bool = key(True, "Whether the model may be fetched from the model hub.")


@dataclass(frozen=True)
class Retrieval:
    """[retrieval] how memories are found."""

    mode: Literal["hybrid", "rrf", "weighted", "keyword", "vector"] = key(
        "hybrid", "How hits are found and fused."
    )
    max_results: int = key(10, "Memories in an answer when the caller does not say.", low=1, high=1000)
    token_budget: int = key(
        2000, "Length of an answer when the caller does not say.", unit="tokens", low=50, high=1_000_000
    )
    candidates: int = key(60, "Candidates taken from each of the two searches.", low=10, high=2000)
    rrf_k: int = key(60, "The constant of reciprocal rank fusion.", low=1, high=1000)
    weighted_vector: float = key(0.7, "Weight of meaning against words in mode weighted.", low=0, high=1)
    length_penalty: float = key(
        0.15, "What a long turn of a conversation loses for each doubling beyond 100 words.", low=0, high=1
    )
    access_flush_s: float = key(
        5.0, "How often access counts are written.", unit="seconds", low=0.1, high=3600
    )


@dataclass(frozen=True)
class Maintenance:
    """[maintenance] the cycle, what it may touch, and what is kept for how long."""

    recall_log_days: int = key(90, "How long the log of recalls is kept.", unit="days", low=0, high=36_500)
    retention_days: int = key(
        30, "How long forgotten memories can be restored.", unit="days", low=0, high=36_500
    )
    cycle_hours: float = key(
        24, "How often the cycle runs of itself; 0 never.", unit="hours", low=0, high=8_760
    )
    runs_days: int = key(30, "How long a run can be undone.", unit="days", low=1, high=36_500)
    max_share: float = key(
        0.5,
        "The share of a group's live memories that a run may retire before it leaves that group.",
        low=0,
        high=1,
    )
    decay_period_days: float = key(1, "The period of decay.", unit="days", low=0.01, high=3_650)
    decay_episodic: float = key(
        0.95, "What an event keeps of its confidence in each period.", low=0.01, high=1
    )
    decay_other: float = key(
        0.99, "What any other memory keeps of its confidence in each period.", low=0.01, high=1
    )
    # Base-level activation grows with the logarithm of the number of uses (ACT-R; Anderson & Schooler 1991).
    decay_access_weight: float = key(
        0.5, "How much being recalled slows decay: periods / (1 + weight · ln(1 + recalls)).", low=0, high=10
    )
    decay_floor: float = key(0.02, "Confidence that decay does not go below.", low=0, high=1)
    compact_after_days: float = key(
        30, "Events older than this are summarised.", unit="days", low=0, high=36_500
    )
    compact_at_least: int = key(5, "Events of one topic that make a summary.", low=2, high=1_000)
    # Measured on bare texts: unrelated events have 0.1 on average and at most 0.3, those of one topic 0.5 to 0.7.
    compact_cosine: float = key(
        0.35,
        "Mean cosine to the others of a topic, dates left out, from which an event shares it.",
        low=0,
        high=1,
    )
    compact_sentences: int = key(12, "Sentences that a summary has at most.", low=1, high=100)
    summariser: str = key(
        "maintenance.cycle.compaction.summary.Extractive", "Class that writes summaries, by its dotted path."
    )
    promote_at_least: int = key(3, "Similar events that make a fact to be approved.", low=2, high=1_000)
    promote_cosine: float = key(0.88, "Cosine above which events say the same.", low=0.5, high=1)
    cleanup_confidence: float = key(
        0.05, "Memories below this confidence are forgotten once nobody recalls them.", low=0, high=1
    )
    cleanup_idle_days: float = key(
        90, "How long nobody has recalled what is cleaned up.", unit="days", low=0, high=36_500
    )
    log_days: int = key(0, "How long the audit log is kept; 0 for ever.", unit="days", low=0, high=36_500)
    backup_days: float = key(
        7, "How often a backup is made of itself; 0 never.", unit="days", low=0, high=365
    )
    backups_kept: int = key(4, "Backups that are kept.", low=1, high=1_000)


@dataclass(frozen=True)
class Access:
    """[access] groups and tokens."""

    default_group: str = key(
        "", "Group when neither the call nor the token names one.", variable="LOCI_GROUP"
    )
    token_days: int = key(0, "Life of a new token; 0 never expires.", unit="days", low=0, high=36_500)
    oauth: bool = key(
        False, "Whether programs may ask a person for access by OAuth 2.1 (MCP alone).", variable="LOCI_OAUTH"
    )
    # NIST SP 800-63B, 5.2.2 allows 100 failures in a row where people type; programs that are set up wrong need few.
    token_failures: int = key(
        20,
        "Tokens that do not work from one address before further ones are answered with 429; those that work pass.",
        unit="requests",
        low=1,
        high=1_000_000,
    )
    # RFC 9700, 4.13 and RFC 6749, 10.10: guessing at the token endpoint is to be slowed down.
    oauth_failures: int = key(
        10,
        "Failed requests of a program from one address to OAuth's token addresses before it has to wait.",
        unit="requests",
        low=1,
        high=1_000_000,
    )
    # RFC 7591, 5: an open registration is to be limited in rate.
    registrations: int = key(
        10,
        "Programs that may register themselves from one address before the next has to wait.",
        unit="requests",
        low=1,
        high=1_000_000,
    )
    # Doubling from half a minute to an hour lets 7 more through in the first hour (OWASP ASVS 4.0, 2.2.1: at most 100).
    lock_s: int = key(
        30,
        "How long the first of these locks lasts; each further one twice as long.",
        unit="seconds",
        low=1,
        high=86_400,
    )
    longest_lock_s: int = key(
        3_600, "How long such a lock lasts at most.", unit="seconds", low=1, high=604_800
    )


SECTIONS: dict[str, type] = {
    "server": Server,
    "storage": Storage,
    "embedding": Embedding,
    "retrieval": Retrieval,
    "maintenance": Maintenance,
    "access": Access,
}
