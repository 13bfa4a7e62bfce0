"""Django's settings, derived from Loci's own (`loci_site.config`). Importing this module writes nothing."""

import os
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from django.utils.functional import lazy

from loci_site.admin.theme import UNFOLD  # noqa: F401 - unfold reads it from here
from loci_site.config import LOOPBACK_NAMES, Config, load_config
from loci_site.config.databases import all_databases
from loci_site.config.logs import logging_settings
from loci_site.oauth.provider import provider_settings
from storage.home import secret_key

ROOT = Path(__file__).resolve().parent.parent
LOCI: Config = load_config(os.environ)

# Only its files are used: as an app, every command would load it, a seventh of its start-up time.
NINJA = Path(find_spec("ninja").origin).parent  # type: ignore[union-attr, arg-type]  # a regular package

DEBUG = os.environ.get("LOCI_DEBUG") == "1"
# Lazy: the key is created on first use, so that `help`, a type check or a wrong argument leaves no folder behind.
SECRET_KEY = lazy(secret_key, str)(LOCI.home)

_public = urlsplit(LOCI.server.public_url)
ALLOWED_HOSTS = [*LOOPBACK_NAMES, "[::1]", *LOCI.server.allowed_hosts, *filter(None, [_public.hostname])]
CSRF_TRUSTED_ORIGINS = [
    *LOCI.server.allowed_origins,
    *([f"{_public.scheme}://{_public.netloc}"] if _public.netloc else []),
]

INSTALLED_APPS = [
    "unfold.apps.BasicAppConfig",
    "unfold.contrib.filters",
    "loci_site.admin.site.LociAdminConfig",
    "loci_site",
    "access",  # before django.contrib.auth, whose createsuperuser and changepassword it replaces
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "oauth2_provider",
    "relations",
    "memories",
    "sources",
    "maintenance",
    "loci_site.oauth",
    "loci_site.hooks",
    "loci_site.app.notifications",
]

# Django's own are synchronous classes: under an asynchronous view each switches threads once or twice, together about
# a millisecond. Keep the list short.
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "loci_site.config.middleware.content_policy",
    "loci_site.server.static_files.StaticFilesMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "loci_site.config.middleware.page_language",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "loci_site.urls"

# A checkout has templates/ next to the packages, a wheel inside loci_site.
_PACKED_TEMPLATES = ROOT / "loci_site" / "_templates"  # of an installed Loci
_TEMPLATE_DIRS = [
    _PACKED_TEMPLATES if _PACKED_TEMPLATES.is_dir() else ROOT / "templates",
    NINJA / "templates",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [folder for folder in _TEMPLATE_DIRS if folder.is_dir()],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "libraries": {"words": "loci_site.admin.words"},
        },
    },
]

DATABASES = all_databases(LOCI)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

PASSWORD_RESET_TIMEOUT = 7 * 24 * 3600  # seconds; how long an invitation's link works

# The browser's pages; whatever programs read stays English (loci_site/config/middleware.py).
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [ROOT / "loci_site" / "locale"]
TIME_ZONE = "UTC"
FORMAT_MODULE_PATH = ["loci_site.formats"]

STATIC_URL = "/static/"
STATICFILES_DIRS = [NINJA / "static"]
# Files are served straight from the packages: nothing is collected, so there is no STATIC_ROOT.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG
WHITENOISE_ALLOW_ALL_ORIGINS = False
WHITENOISE_MAX_AGE = 0 if DEBUG else 3600  # seconds; after that the browser revalidates with the ETag

# The interfaces enforce max_body_bytes and answer 413 themselves; the margin lets them see a body that is too large.
DATA_UPLOAD_MAX_MEMORY_SIZE = LOCI.server.max_body_bytes + 64 * 1024

CSRF_COOKIE_HTTPONLY = True
_is_https = _public.scheme == "https"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _is_https
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if _is_https else None
# The proxy terminates TLS. Requests without it are redirected there, except monitoring on the machine itself.
SECURE_SSL_REDIRECT = _is_https
SECURE_SSL_HOST = _public.netloc if _is_https else None
SECURE_REDIRECT_EXEMPT = [r"^health$", r"^metrics$"]
SECURE_HSTS_SECONDS = 31_536_000 if _is_https else 0  # a year
SILENCED_SYSTEM_CHECKS = [
    # HSTS for subdomains and preload would bind hosts that are not Loci's.
    "security.W005",
    "security.W021",
    # Programs on a person's own machine receive the code over http on loopback (RFC 8252); registration refuses other http.
    "oauth2_provider.W008",
]

# The consent page redirects here if the person is not logged in.
if LOCI.sign_in.proxy_header:
    MIDDLEWARE.insert(
        MIDDLEWARE.index("django.contrib.auth.middleware.AuthenticationMiddleware"),
        "access.sign_in.sso.proxy.end_other_persons_session",
    )

LOGIN_URL = "people:login"
AUTHENTICATION_BACKENDS = ["access.sign_in.login.GuardedBackend"]
OAUTH2_PROVIDER = provider_settings(LOCI.server.public_url)
OAUTH2_PROVIDER_APPLICATION_MODEL = "oauth2_provider.Application"  # read by a migration of the toolkit

EMAIL_HOST, EMAIL_PORT = LOCI.notifications.mail_host, LOCI.notifications.mail_port
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = LOCI.notifications.mail_user, LOCI.notifications.mail_password
EMAIL_USE_TLS = LOCI.notifications.mail_security == "starttls"
EMAIL_USE_SSL = LOCI.notifications.mail_security == "tls"

LOGGING = logging_settings(LOCI, os.environ)
