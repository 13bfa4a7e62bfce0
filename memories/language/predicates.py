"""What is known of predicates and of things without a model: which predicates take one object, which things exclude each other."""

from enum import Enum
from typing import Final


class Takes(Enum):
    """How many objects a predicate has at a time."""

    ONE = "one"  # lives in, reports to: another object is another claim
    ONE_OF_A_CLASS = "one of a class"  # uses, prefers: another object of the same sort is another claim
    MANY = "many"  # speaks, likes, has: only another number is another claim


def _table(takes: Takes, lines: str) -> dict[tuple[str, ...], tuple[str, Takes]]:
    """Read lines of "name: wording, wording"; each wording leads to the name."""
    found = {}
    for line in lines.strip().splitlines():
        name, _, wordings = line.partition(":")
        for wording in [name, *wordings.split(",")]:
            if wording.strip():
                found[tuple(wording.split())] = (name.strip(), takes)
    return found


# Each wording as normalised by claims.read(): no articles, verbs without the s of the third person.
PREDICATES: Final[dict[tuple[str, ...], tuple[str, Takes]]] = {
    **_table(
        Takes.ONE,
        """
live in: reside in, is living in, is resident in
lived in: resided in
work at: work for, is employed by, is employed at, is working at, is working for
worked at: worked for
sit in: is sitting in
report to: is reporting to, answer to
is born in: was born in, is born on, was born on
is married to: is engaged to
is based in: is located in, is situated in, is headquartered in, has its seat in
is owned by: belong to
is led by: is managed by, is headed by, is run by, is chaired by
is maintained by: is looked after by
is written in: is implemented in, is coded in, is programmed in
is hosted on: is hosted in, is hosted by, is deployed on, is deployed to, is hosted at, deploy to
is stored in: is kept in, is saved in, is stored at, is stored on, is kept on, live under
is called: is named, go by, is known as, has name
is set to: is configured to, is configured as, default to, is fixed at, is limited to, is capped at
is licensed under: is released under
is built with: is built on, is built using, is based on, is powered by
is due: is due on, is due by, fall on
is scheduled: is scheduled for, is planned for, take place on, take place at, take place in, is held on, is held at
start at: start on, begin at, begin on, open at
end at: end on, finish at, close at, finish on
expire on: expire at, run out on
was founded in: is founded in, was founded, was established in, was created in
was released on: was released in, is released on, was published in, was published on, was launched in, was launched on
was acquired by:
was founded by:
was written by: is written by, was created by, was designed by, was invented by
is version: run version, is on version, is at version
""",
    ),
    **_table(
        Takes.ONE_OF_A_CLASS,
        """
is: equal, was, is now, has been
use: is using, rely on, run on, is running on, is run on, run with, work with, choose, chose, adopt, is standardised on
prefer: favour, favor, would rather use, would rather have, would rather
write: is writing
deploy with: deploy using, is deployed with, is deployed using
communicate in:
is in: is at, is inside
drive:
commute by: travel by
wear:
must use: should use, shall use
must be: should be, shall be
""",
    ),
    **_table(
        Takes.MANY,
        """
like: is fond of, is fan of, is into
want:
speak:
know:
has: have, contain, hold, include, come with, consist of
need: require
support:
allow: permit, accept
take: last
cost: is priced at
listen on: bind to, is listening on, is exposed on, is reachable on
run at: run on day, is run at
run:
wait:
keep: retain
retry:
handle: serve
return:
send:
weigh:
measure:
earn: make
own:
employ:
drink:
eat:
sleep:
work:
pay:
time out after: is aborted after
expire after: expire in, is deleted after, is purged after, is rotated after
rotate every: is rotated every
store:
cache:
enable:
deploy:
must:
can:
should:
""",
    ),
}
# Things of which a place is mostly filled by one; the words as claims.read() leaves them.
CLASSES: Final = tuple(
    frozenset(line.split())
    for line in """
postgresql mysql mariadb sqlite mongodb oracle mssql cockroachdb dynamodb cassandra couchdb duckdb
redis memcached valkey
rabbitmq kafka nat sqs pulsar
aws gcp azure hetzner digitalocean heroku ovh linode scaleway
python java rust go c# ruby php kotlin scala elixir typescript javascript swift perl haskell
django flask fastapi rails laravel spring express
react vue angular svelte
vim emac neovim vscode pycharm intellij sublime zed nano
tab space
npm yarn pnpm bun
pip poetry uv pipenv conda
pytest unittest nose
jest vitest mocha
jenkin github-action gitlab-ci circleci buildkite travis
git mercurial svn subversion
github gitlab bitbucket gitea
slack team discord mattermost zulip
jira linear trello asana redmine
linux window macos ubuntu debian fedora
zsh bash fish powershell
chrome firefox safari edge
nginx apache caddy traefik haproxy
docker podman
kubernete nomad swarm
terraform pulumi ansible
rest graphql grpc soap
json yaml toml xml
dark light
coffee tea
vegan vegetarian pescatarian omnivore
metric imperial
email phone
morning afternoon evening
window aisle
red blue green yellow black white orange purple pink brown grey gray
celsius fahrenheit
mit apache-2.0 gpl bsd agpl
merge rebase squash
monorepo polyrepo
bus train car bicycle bike tram
left-handed right-handed
remote on-site hybrid
single married divorced
alpha beta stable
""".strip().splitlines()
)
ALIASES: Final = {
    "postgre": "postgresql", "pg": "postgresql", "psql": "postgresql", "mongo": "mongodb", "sqlite3": "sqlite",
    "kube": "kubernete", "k8": "kubernete", "k8s": "kubernete", "golang": "go", "js": "javascript",
    "ts": "typescript", "vs-code": "vscode", "amazon": "aws", "osx": "macos", "color": "colour", "e-mail": "email",
    "centre": "center", "bicycle": "bike",
}  # fmt: skip
# Of these a thing has one, so that "the owner of X is Y" names it.
ATTRIBUTES: Final = frozenset(
    [
        "address",
        "age",
        "alias",
        "author",
        "backend",
        "base",
        "birthday",
        "boss",
        "bucket",
        "budget",
        "build",
        "capital",
        "captain",
        "ceo",
        "colour",
        "codename",
        "contact",
        "coordinator",
        "cto",
        "currency",
        "database",
        "deadline",
        "default",
        "depth",
        "diet",
        "director",
        "domain",
        "editor",
        "email",
        "encoding",
        "endpoint",
        "engine",
        "entrypoint",
        "expiry",
        "extension",
        "format",
        "framework",
        "frequency",
        "gateway",
        "height",
        "home",
        "host",
        "hostname",
        "hometown",
        "husband",
        "id",
        "interval",
        "job",
        "key",
        "keyboard",
        "language",
        "latency",
        "lead",
        "leader",
        "length",
        "level",
        "license",
        "licence",
        "limit",
        "locale",
        "location",
        "maintainer",
        "manager",
        "maximum",
        "minimum",
        "mode",
        "model",
        "name",
        "nickname",
        "number",
        "office",
        "os",
        "owner",
        "package",
        "partner",
        "password",
        "path",
        "phone",
        "pin",
        "platform",
        "policy",
        "pool",
        "port",
        "price",
        "prefix",
        "protocol",
        "provider",
        "quota",
        "rate",
        "region",
        "repository",
        "retention",
        "revision",
        "role",
        "room",
        "runtime",
        "salary",
        "schedule",
        "schema",
        "seat",
        "server",
        "shell",
        "size",
        "spouse",
        "standard",
        "status",
        "storage",
        "strategy",
        "supervisor",
        "surname",
        "tag",
        "target",
        "temperature",
        "theme",
        "threshold",
        "timeout",
        "timezone",
        "title",
        "tone",
        "ttl",
        "url",
        "user",
        "username",
        "value",
        "vendor",
        "version",
        "weight",
        "width",
        "wife",
        "window",
    ]
)
ONLY_ONE: Final = frozenset(
    ["favourite", "favorite", "default", "preferred", "main", "primary", "official", "current"]
)
ROLES: Final = frozenset(
    [
        "ceo",
        "cto",
        "cfo",
        "coo",
        "lead",
        "leader",
        "owner",
        "maintainer",
        "manager",
        "head",
        "chair",
        "president",
        "captain",
        "host",
        "contact",
    ]
)
COUNTRIES: Final = frozenset(
    [
        "austria",
        "australia",
        "belgium",
        "brazil",
        "canada",
        "china",
        "denmark",
        "england",
        "europe",
        "finland",
        "france",
        "germany",
        "india",
        "ireland",
        "italy",
        "japan",
        "mexico",
        "netherland",
        "norway",
        "poland",
        "portugal",
        "scotland",
        "spain",
        "sweden",
        "switzerland",
        "turkey",
        "uk",
        "us",
        "usa",
        "wale",
        "asia",
        "africa",
    ]
)
# One of the two rules the other out, whatever it is said of.
STATES: Final = (
    ("enable", "disable"), ("enabled", "disabled"), ("allow", "forbid"), ("allowed", "forbidden"),
    ("allow", "deny"), ("allowed", "denied"), ("allowed", "prohibited"), ("permitted", "prohibited"),
    ("required", "optional"), ("mandatory", "optional"), ("open", "closed"), ("active", "inactive"),
    ("true", "false"), ("on", "off"), ("up", "down"), ("online", "offline"), ("valid", "invalid"),
    ("public", "private"), ("visible", "hidden"), ("accept", "reject"), ("accepted", "rejected"),
    ("before", "after"), ("above", "below"), ("increase", "decrease"), ("minimum", "maximum"),
    ("synchronous", "asynchronous"), ("mutable", "immutable"), ("safe", "unsafe"), ("stable", "unstable"),
    ("supported", "unsupported"), ("recommended", "deprecated"), ("free", "paid"), ("start", "stop"),
    ("pass", "fail"), ("locked", "unlocked"), ("encrypted", "unencrypted"), ("available", "unavailable"),
    ("correct", "wrong"), ("present", "absent"), ("alive", "dead"), ("ascending", "descending"),
    ("manual", "automatic"), ("manually", "automatically"), ("approved", "rejected"), ("sorted", "unsorted"),
    ("finished", "unfinished"), ("lazy", "eager"), ("lazily", "eagerly"), ("stateless", "stateful"),
    ("fast", "slow"), ("cheap", "expensive"), ("blocking", "non-blocking"), ("case-sensitive", "case-insensitive"),
    ("first", "last"), ("left", "right"), ("add", "remove"), ("full", "empty"), ("full-time", "part-time"),
    ("short", "long"), ("brief", "detailed"), ("high", "low"), ("weekly", "monthly"), ("daily", "weekly"), ("hourly", "daily"), ("daily", "monthly"), ("nightly", "weekly"),
)  # fmt: skip
