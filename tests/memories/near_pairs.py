"""Pairs of texts that nearly all words and their vectors hold for one, and that are two facts.

Twelve ways in which duplicate checks of other systems lost facts, each in nine sentence frames, each frame filled ten
times. In a frame, {x} is a thing of its own for each pair, {v} the value that differs, and [one|other] two wordings.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

THINGS = (
    "billing service", "search cluster", "invoice archive", "payroll export", "customer portal", "map renderer",
    "training pipeline", "mail gateway", "warehouse scanner", "consent form",
)  # fmt: skip
_CHOICE = re.compile(r"\[([^|\]]*)\|([^\]]*)\]")


@dataclass(frozen=True)
class NearPair:
    """Two facts, and the template and frame that they were made from."""

    template: str
    frame: str
    old: str
    new: str


@dataclass(frozen=True)
class Template:
    """A way to differ: pairs of values, and the sentences they are put into."""

    name: str
    values: Sequence[tuple[str, str]]
    frames: Sequence[str]


TEMPLATES = (
    Template(
        "day of month",
        [("3", "4"), ("5", "6"), ("7", "8"), ("9", "10"), ("11", "12"), ("14", "15"), ("16", "17"), ("18", "19"), ("24", "25"), ("27", "28")],
        [
            "The contract for the {x} ends on {v} October 2026.",
            "Rent for the {x} is paid on the {v}th of each month.",
            "We review the {x} on May {v}.",
            "The {x} goes live on 2026-06-{v}.",
            "The audit of the {x} took place on {v} March.",
            "The {x} freeze begins on {v}.11.2026.",
            "Tickets for the {x} are triaged until August {v}.",
            "The certificate of the {x} expires on 2027/01/{v}.",
            "Anna presents the {x} on the {v}th of December.",
        ],
    ),
    Template(
        "other entity",
        [("Anna", "Berta"), ("Oslo", "Bergen"), ("Google", "Oracle"), ("Marta", "Lukas"), ("Siemens", "Bosch"),
         ("Lisbon", "Porto"), ("Kofi", "Emeka"), ("Airbus", "Boeing"), ("Hana", "Ines"), ("Vienna", "Graz")],
        [
            "The {x} is looked after by the people at {v}.",
            "{v} asked us to move the {x} before summer.",
            "The budget of the {x} was approved by {v}.",
            "Questions about the {x} go to {v} first.",
            "The {x} was demonstrated to {v} last spring.",
            "A copy of the {x} is kept for {v}.",
            "The oldest report on the {x} came from {v}.",
            "Access to the {x} must be requested from {v}.",
            "The outage of the {x} was first seen by {v}.",
        ],
    ),
    Template(
        "version bump",
        [("1.2.3", "1.2.4"), ("2.0", "2.1"), ("16.1", "16.2"), ("3.11.7", "3.11.8"), ("0.9.1", "0.10.1"), ("5.2", "5.3"),
         ("v1", "v2"), ("v2.4", "v2.5"), ("20.04", "22.04"), ("1.0.0-rc1", "1.0.0-rc2")],
        [
            "The {x} is pinned to version {v}.",
            "Release {v} of the {x} fixed the memory leak.",
            "We tested the {x} against {v} only.",
            "The {x} needs at least version {v} of the driver.",
            "Clients of the {x} may stay on {v} until autumn.",
            "The changelog of the {x} stops at {v}.",
            "Since {v} the {x} writes its logs as JSON.",
            "The {x} image is tagged {v} in the registry.",
            "Upgrading the {x} to {v} needs a migration.",
        ],
    ),
    Template(
        "unit",
        [("30 s", "30 min"), ("5 ms", "5 s"), ("10 MB", "10 GB"), ("2 days", "2 weeks"), ("100 km", "100 miles"),
         ("8 kb", "8 mb"), ("3 hours", "3 days"), ("12 kg", "12 lb"), ("20 cm", "20 mm"), ("6 months", "6 years")],
        [
            "The {x} gives up after {v}.",
            "The {x} may differ by {v} at most.",
            "The limit of the {x} is {v}.",
            "Everything beyond {v} is cut by the {x}.",
            "The {x} was off by {v} in the last run.",
            "The buffer of the {x} was set to {v}.",
            "A margin of {v} is planned for the {x}.",
            "The {x} reports anything over {v}.",
            "The tolerance of the {x} is {v} either way.",
        ],
    ),
    Template(
        "negation",
        [("", "")] * 10,
        [
            "The {x} is [rate limited|not rate limited].",
            "The {x} [supports|does not support] bulk uploads.",
            "The {x} [can|cannot] be restarted during the day.",
            "The {x} [has been|has never been] load tested.",
            "Changes to the {x} [need|do not need] a second review.",
            "The {x} [works|doesn't work] behind a proxy.",
            "Alerts of the {x} [are|aren't] sent at night.",
            "The {x} [will|won't] be part of the next release.",
            "The {x} runs [with|without] a local cache.",
        ],
    ),
    Template(
        "swapped",
        [("Alice", "Bob"), ("Oslo", "Bergen"), ("Carol", "Dave"), ("Erin", "Frank"), ("Madrid", "Rome"), ("Gina", "Hugo"),
         ("Paris", "Lyon"), ("Ivan", "Julia"), ("Kiel", "Bonn"), ("Lena", "Marco")],
        [
            "For the {x}, {a} reports to {b}.",
            "{a} handed the {x} over to {b}.",
            "The {x} copies from {a} to {b}.",
            "{a} reviews what {b} writes for the {x}.",
            "{a} was asked by {b} about the {x}.",
            "In the {x} team {a} covers for {b}.",
            "The {x} sends data of {a} before that of {b}.",
            "{a} trusts the {x} more than {b} does.",
            "{a} taught {b} how the {x} works.",
        ],
    ),
    Template(
        "port",
        [("8080", "8081"), ("5432", "5433"), ("6379", "6380"), ("443", "8443"), ("9200", "9300"), ("3000", "3001"),
         ("1883", "8883"), ("25", "587"), ("27017", "27018"), ("7000", "7001")],
        [
            "The {x} listens on port {v}.",
            "The {x} is reached at localhost:{v}.",
            "The firewall opens {v} for the {x}.",
            "Health checks of the {x} go to :{v}/health.",
            "The {x} was moved to port {v} last week.",
            "Port {v} is reserved for the {x}.",
            "The tunnel to the {x} ends at 10.0.0.7:{v}.",
            "Run the {x} with --port {v} on a laptop.",
            "The {x} conflicts with whatever uses {v}.",
        ],
    ),
    Template(
        "hash prefix",
        [("a1b2c3d", "a1b2c3e"), ("9f8e7d6", "9f8e7d5"), ("0c0ffee", "0c0ffef"), ("deadbeef1", "deadbeef2"), ("4e5f6a7", "4e5f6b7"),
         ("77aa88b", "77aa88c"), ("bada551", "bada552"), ("1f2e3d4", "1f2e3d5"), ("c0de123", "c0de124"), ("5ca1ab1", "5ca1ab2")],
        [
            "The {x} broke with commit {v}.",
            "Commit {v} made the {x} faster.",
            "Revert {v} if the {x} misbehaves.",
            "The {x} in production is built from {v}.",
            "The fix for the {x} is {v} on main.",
            "The {x} image has the digest sha256:{v}.",
            "Bisecting the {x} led to {v}.",
            "The last good build of the {x} is {v}.",
            "The {x} was signed off at {v}.",
        ],
    ),
    Template(
        "currency",
        [("$500", "€500"), ("20 USD", "20 EUR"), ("£80", "$80"), ("1,200 CHF", "1,200 EUR"), ("€15", "£15"), ("300 dollars", "300 euros"),
         ("¥9000", "$9000"), ("45 GBP", "45 USD"), ("$7.50", "€7.50"), ("60 pounds", "60 dollars")],
        [
            "The licence of the {x} costs {v} a year.",
            "We pay {v} a month for the {x}.",
            "The {x} was budgeted with {v}.",
            "Each seat of the {x} is billed at {v}.",
            "A day of downtime of the {x} costs {v}.",
            "The {x} saved {v} in the first quarter.",
            "The support contract for the {x} is {v}.",
            "The vendor offered the {x} for {v}.",
            "The fine for a late {x} is {v}.",
        ],
    ),
    Template(
        "time zone",
        [("UTC", "CET"), ("CET", "CEST"), ("EST", "PST"), ("GMT", "UTC"), ("PDT", "EDT"), ("IST", "JST"), ("CEST", "UTC"),
         ("PST", "UTC"), ("EDT", "GMT"), ("JST", "CET")],
        [
            "The {x} restarts at 9:30 {v}.",
            "The stand-up for the {x} is at 10:00 {v}.",
            "Backups of the {x} begin at 02:00 {v}.",
            "The {x} closes its day at 18:00 {v}.",
            "Times in the {x} are written in {v}.",
            "The clock of the {x} is set to {v}.",
            "On-call for the {x} changes at 08:00 {v}.",
            "The {x} was down until 14:15 {v}.",
            "Reports of the {x} are due at 17:00 {v}.",
        ],
    ),
    Template(
        "path",
        [("/var/log/app/web", "/var/log/app/worker"), ("/etc/loci/a.toml", "/etc/loci/b.toml"), ("src/api/views.py", "src/web/views.py"),
         ("/srv/data/raw", "/srv/data/clean"), ("docs/how-to/start.md", "docs/reference/start.md"), ("/home/anna/.ssh", "/home/berta/.ssh"),
         ("C:\\Loci\\one", "C:\\Loci\\two"), ("/opt/tools/bin", "/opt/tools/sbin"), ("/api/v1/users", "/api/v1/groups"), ("s3://acme/in", "s3://acme/out")],
        [
            "The {x} keeps its files in {v}.",
            "Look at {v} when the {x} fails.",
            "The {x} reads its settings from {v}.",
            "The {x} must never write to {v}.",
            "Mount {v} before the {x} starts.",
            "The {x} was moved to {v} in spring.",
            "Permissions on {v} broke the {x} once.",
            "The {x} watches {v} for changes.",
            "Documentation of the {x} points to {v}.",
        ],
    ),
    Template(
        "one surname",
        [("John Smith", "Jane Smith"), ("Anna Meyer", "Otto Meyer"), ("Li Wang", "Min Wang"), ("Carlos Ruiz", "Elena Ruiz"),
         ("Tom Reed", "Lucy Reed"), ("Jan Novak", "Petra Novak"), ("Ali Khan", "Sara Khan"), ("Paul Weber", "Nina Weber"),
         ("Ivo Rossi", "Lia Rossi"), ("Mark Olsen", "Kari Olsen")],
        [
            "{v} leads the {x} team.",
            "The {x} was designed by {v}.",
            "{v} is on call for the {x} this month.",
            "Ask {v} before you change the {x}.",
            "{v} signed the contract for the {x}.",
            "The training about the {x} is given by {v}.",
            "{v} found the error in the {x}.",
            "The complaint about the {x} came from {v}.",
            "{v} keeps the keys of the {x}.",
        ],
    ),
)  # fmt: skip


def near_pairs() -> Iterator[NearPair]:
    """All pairs: 12 templates × 9 frames × 10 values."""
    for template in TEMPLATES:
        for frame in template.frames:
            for thing, (old, new) in zip(THINGS, template.values, strict=True):
                yield NearPair(
                    template.name,
                    frame,
                    _filled(frame, thing, old, new, 1),
                    _filled(frame, thing, new, old, 2),
                )


def _filled(frame: str, thing: str, value: str, other: str, side: int) -> str:
    chosen = _CHOICE.sub(lambda found: found[side], frame)
    return chosen.format(x=thing, v=value, a=value, b=other)
