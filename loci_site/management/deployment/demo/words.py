"""What the people and agents of the sample team say."""

FACTS = {
    "ledger": [
        "The ledger service settled on PostgreSQL 16; the write-ahead log is archived every five minutes.",
        "Amounts are stored as integer cents. Floats were tried in March and led to rounding faults in two invoices.",
        "The deploy port of the ledger is 8081; 8082 belongs to the shadow instance.",
        "Month-end closing runs on the first working day at 06:00 UTC and takes about forty minutes.",
        "Refunds above 500 euros need a second pair of eyes; the check is in the approval middleware.",
        "The read replica may lag up to ninety seconds, so balances shown after a payment come from the primary.",
    ],
    "atlas": [
        "Atlas tiles are rendered at night and kept for thirty days in the object store.",
        "The map client retries a tile three times with growing pauses, then shows the last good one.",
        "Postcodes of Malta have letters in front; the address parser treats them apart.",
        "The routing graph is rebuilt each Sunday; a rebuild needs 24 GB of memory.",
    ],
    "support": [
        "Customers of the old plan keep their price until the end of 2027.",
        "A ticket that mentions data loss goes to the on-call engineer at once.",
        "Answers in German use the formal address unless the customer writes first with du.",
        "The status page is updated before the first answer to a reported outage.",
    ],
}
WAYS = [
    "To rotate the signing key: add the new key, deploy, wait one hour, then take the old one out.",
    "When a migration fails half way, run it backwards first, then look at the lock table before a second try.",
    "Release notes are written from the merged titles; breaking changes come first, each with what to do.",
    "Before a load test, tell the payment provider and switch the sandbox to the large plan.",
]
EVENTS = [
    "Ines and Tomas agreed to drop the nightly export once the new report is live.",
    "The import of the March statements stopped at row 41,207 because of a missing currency.",
    "Rolled back release 2.14 after the error rate rose to two percent; the cause was a stale cache key.",
    "Pair session on the tile cache: hit rate went from 71 to 93 percent with a longer key.",
    "Customer workshop in Porto: they want exports as Parquet, and a way to undo a bulk edit.",
    "The on-call phone rang at 03:12 for a full disk on the build machine; log rotation was off.",
]
THINGS = [
    "invoice export",
    "tile renderer",
    "address parser",
    "report builder",
    "sign-in page",
    "webhook sender",
]
INSTRUCTIONS = {
    "ledger": "Amounts are integer cents. Ask before changing the schema; name the ticket of each decision.",
    "support": "Answers to customers are polite and short. What agents write here waits for a person.",
}
MIAS = (
    "Invoices are mailed at six in the morning, Lisbon time, after the nightly close.",
    "Customers abroad get their invoices without value-added tax once their number is checked.",
    "The glossary of the ledger is in the handbook under accounting.",
)
RELATIONS = [
    ("Ledger", "uses", "PostgreSQL"),
    ("Ines", "maintains", "Ledger"),
    ("Tomas", "maintains", "Atlas"),
    ("Ledger", "waits for", "Approval service"),
    ("Webhook sender", "belongs to", "Ledger"),
    ("Invoice export", "belongs to", "Ledger"),
    ("Mara", "maintains", "Approval service"),
    ("Atlas", "uses", "PostgreSQL"),
    ("Address parser", "belongs to", "Atlas"),
    ("Tile renderer", "belongs to", "Atlas"),
    ("Tomas", "reviews", "Tile renderer"),
]
TRAITS = [
    "keeps its settings in config.toml and reads them at start only",
    "writes one log line per request, with the duration in milliseconds",
    "is owned by the platform team and released on Tuesdays",
    "has a feature switch that is off for customers of the old plan",
    "falls back to the last good answer when its upstream is slow",
]
