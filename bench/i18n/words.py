"""Stored words that pages show, beside the values of choices."""

from dataclasses import fields as fields_of

from django.apps import apps
from django.contrib import admin
from django.db.models import TextChoices

from access import SCOPES
from access.groups import GroupChange
from guard.policy import HIDDEN_KINDS, INJECTION_KINDS, PERSONAL_KINDS, WORD_KINDS
from loci_site.config import KEYS
from loci_site.oauth.provider import OAUTH_SCOPES
from loci_site.server.health import MODEL_STATES
from memories.draft.kinds import OneOf
from memories.draft.registry import RECORD_FIELDS, OnEdit
from memories.lifecycle.verbs import VERBS
from sources.format import KINDS, LOG
from sources.importing import IMPORTERS

PACKAGES = ("access", "guard", "memories", "relations", "sources", "maintenance", "loci_site")
GUARDED = (
    *HIDDEN_KINDS,
    *PERSONAL_KINDS,
    *INJECTION_KINDS,
    *WORD_KINDS,
)  # kinds of secrets are names of products
# Badges and labels of pages, and words of runs and steps.
MORE_WORDS = frozenset(
    """pinned|dry run|damaged|sound|well|wrong|off|preview|archived|private|open|group|via|tag|deactivated|superuser
    |curator|member|conflict|duplicate|candidate|disputed|quarantined|proposal|promotion|unconfirmed|sensitive|line|password|current
    |ended|suspended|revoked|expired|valid|idle|due|overdue|asked|running|paused|failing|done|approve|reject|merge|replace
    |tagged|untagged|hybrid|keyword|vector|worker|cycle|cleanup|import|decay|expire|compact|promote|clean up|findings
    |duplicates and conflicts|decayed|compacted|put to sleep|woken|promoted|summary|summaries|summary dropped|summaries dropped|conversations
    |duplicates found|conflicts found|possible duplicate|possible duplicates|conflicts|superseded by|recalls|state since
    |changed|confidence|importance|old|new|value|Pinned and verified|Recent|Instructions|database|indexes|complete|can be read|loaded|model|disk|on time|jobs
    |no worker has reported yet|live memories|content|tags|valid from|valid to|expires at|pinned|mention|relation|driver|home|migrations|schema|index model|default scope|heads
    |orphans|vectors|tombstones|clock|queue|backups|integrity|judges|chains|contexts|forms|folds|audit|skipped|notice|read|write|curate|record|created|unchanged|restated
    |waiting for a curator|relations|instruction files to decide about in the Review|lines already in the store|taken back
    |thread|beside|date|time|speaker|said|length|trust|elsewhere|identifier|importance|recency|metadata|anchor commit|with a password
    |by an invitation|through single sign-on|through the proxy|the text, also in other dress|exactly the text
    |Instructions of the group|Last checkpoint|Relations|Threads that match|Threads that match, and recent conversations
    |Point in time|Repository|object|polarity|predicate|role|user|preference|judged|numbers|identifiers|units|signs|opposites|names|supersede
    |ok|stored|recalled|reinforced|fully decayed"""
    .replace("\n    ", "").split("|")
)  # fmt: skip


def stored_words() -> set[str]:
    """Words that are stored and shown: values of choices, names of fields and filters, outcomes of verbs, what imports read."""
    fields = [field for field in RECORD_FIELDS if field.is_stored or field.on_edit != OnEdit.REFUSED]
    unset = [field.kind.unset for field in fields if isinstance(field.kind, OneOf)]
    in_forms = {text for field in fields for text in (field.title, field.help)}.union(unset)
    choices = {str(value) for kind in all_choices() for value in kind.values}
    found = MORE_WORDS | choices | in_forms | field_names()
    found |= {*SCOPES.values(), *OAUTH_SCOPES.values(), *(kind.label for kind in GUARDED)}
    found |= {detail for _, detail in MODEL_STATES.values()}
    found |= {importer.description for importer in IMPORTERS}
    found |= {f"{kind.name} added" for kind in (*KINDS, LOG)}  # what an import of an export added
    # What the log says that changed in a group.
    found |= {field.name.replace("_", " ") for field in fields_of(GroupChange)}
    # What a memory is after a verb, such as "forgotten", and what the verbs do.
    found |= {text for verb in VERBS.values() if verb.button for text in (verb.button.past, verb.help)}
    return {text for text in found if text}


def all_choices() -> list[type[TextChoices]]:
    """The choices of all models and registries."""
    found, left = [], list(TextChoices.__subclasses__())
    while left:
        kind = left.pop()
        left += kind.__subclasses__()
        if kind.__module__.split(".")[0] in PACKAGES:
            found.append(kind)
    return found


def field_names() -> set[str]:
    """Names of the fields and filters of lists and forms in the admin."""
    admin.autodiscover()
    found = set()
    for model in apps.get_models():
        if model in admin.site._registry:
            page = admin.site._registry[model]
            sets = [name for _, options in page.fieldsets or () for name in options["fields"]]
            inlines = [field.name for inline in page.inlines for field in inline.model._meta.fields]
            filters = [
                each if isinstance(each, str) else each[0]
                for each in page.list_filter
                if not isinstance(each, type)
            ]
            shown = {*page.list_display, *filters, *sets, *(page.fields or ()), *inlines}
            fields = [
                *model._meta.fields,
                *(field for inline in page.inlines for field in inline.model._meta.fields),
            ]
            found |= {
                str(field.verbose_name) for field in fields if field.name in shown and not field.primary_key
            }
            found |= {
                str(each.title)
                for each in page.list_filter
                if isinstance(each, type) and hasattr(each, "title")
            }
            found |= {label for label, _, _ in getattr(page, "quick_filters", ())}
    return found


def setting_meanings() -> list[str]:
    """What each setting means, as the page *Settings* shows it."""
    return sorted({spec.meaning for section in KEYS.values() for spec in section.values()})
