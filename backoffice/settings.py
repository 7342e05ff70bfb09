"""Where everything is put together: the environment, the apps, the middleware.

The environment wins; what it does not name comes from the stack that `manage.py up` last started
in the data folder.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

import structlog
from csp.constants import NONE, SELF
from environs import Env

from backoffice.stack import state

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = Path(os.environ.get("BACKOFFICE_DATA", BASE_DIR / ".backoffice"))

state.enter(state.read(DATA_DIR))

env = Env()

DEBUG = env.bool("DEBUG", False)
SECRET_KEY = env.str("SECRET_KEY", "") or ("unset-" * 10 if DEBUG else "")
if not SECRET_KEY:
    # Commands that need no secret (help, check, makemigrations) still run on a fresh folder.
    SECRET_KEY = "no-stack-was-started-yet-" + os.urandom(16).hex()
FIELD_KEY = env.str("FIELD_KEY", "")
# The site's address as people reach it ("https://backoffice.example"), for what is read outside it: mail.
PUBLIC_URL = env.str("PUBLIC_URL", "").rstrip("/")
_HOSTS = ["localhost", "127.0.0.1", "[::1]", *filter(None, [urlsplit(PUBLIC_URL).hostname])]
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", _HOSTS)
CSRF_TRUSTED_ORIGINS: list[str] = env.list("CSRF_TRUSTED_ORIGINS", [PUBLIC_URL] if PUBLIC_URL else [])
EMBEDDED_DATABASE = env.bool("BACKOFFICE_EMBEDDED_DATABASE", False)
DEMO = env.bool("BACKOFFICE_DEMO", EMBEDDED_DATABASE)

INSTALLED_APPS = [
    "backoffice.apps.BackofficeConfig",
    "backoffice.tenants",
    "backoffice.audit",
    "backoffice.commands",
    "backoffice.people",
    "backoffice.livesettings",
    "backoffice.stepup",
    "backoffice.storage",
    "backoffice.jobs",
    "backoffice.schedules",
    "queues",
    "queues.money",
    "exports",
    "reports",
    "backoffice.apps.BackofficeAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.humanize",
    "django.contrib.staticfiles",
    "django_htmx",
    "csp",
    "import_export",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "backoffice.tenants.middleware.TenantMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "backoffice.urls"
WSGI_APPLICATION = "backoffice.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]


def _database(url: str) -> dict[str, object]:
    """Read one PostgreSQL address."""
    parts = urlsplit(url)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.path.lstrip("/"),
        "USER": parts.username or "",
        "PASSWORD": parts.password or "",
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or ""),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        "ATOMIC_REQUESTS": False,
        "OPTIONS": {"application_name": "backoffice", "connect_timeout": 5},
    }


DATABASE_URL = env.str("DATABASE_URL", "postgresql://backoffice_app@127.0.0.1:1/backoffice")
DATABASES = {
    "default": _database(DATABASE_URL),
    "owner": _database(env.str("DATABASE_OWNER_URL", DATABASE_URL)),  # migrations only
}
DATABASE_ROUTERS: list[str] = []

REDIS_URL = env.str("REDIS_URL", "redis://127.0.0.1:1/0")
S3_ENDPOINT_URL = env.str("S3_ENDPOINT_URL", "")
S3_PUBLIC_ENDPOINT_URL = env.str("S3_PUBLIC_ENDPOINT_URL", S3_ENDPOINT_URL)
S3_BUCKET = env.str("S3_BUCKET", "backoffice")

AUTH_USER_MODEL = "tenants.User"
AUTHENTICATION_BACKENDS = ["backoffice.tenants.backend.TenantBackend"]
LOGIN_URL = "/sign-in/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/sign-in/"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

LANGUAGE_CODE = "en-gb"
USE_I18N = True
USE_TZ = True
FORMAT_MODULE_PATH = ["backoffice.formats"]
TIME_ZONE = "UTC"
STATIC_URL = "/static/"
STATIC_ROOT = env.str("STATIC_ROOT", None)  # where collectstatic writes; without it files are served from the apps
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = env.bool("HTTPS_ONLY", False)
SECURE_SSL_REDIRECT = env.bool("HTTPS_ONLY", False)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if env.bool("BEHIND_PROXY", False) else None
SECURE_HSTS_SECONDS = env.int("HSTS_SECONDS", 0)
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
DATA_UPLOAD_MAX_NUMBER_FIELDS = 12_000  # a selection of 10,000 items is one form

# Mail goes out only where a server is named; everything it says is in the site as well.
EMAIL_HOST = env.str("EMAIL_HOST", "")
EMAIL_PORT = env.int("EMAIL_PORT", 25)
EMAIL_HOST_USER = env.str("EMAIL_HOST_USER", "")
EMAIL_HOST_PASSWORD = env.str("EMAIL_HOST_PASSWORD", "")
EMAIL_USE_TLS = env.bool("EMAIL_USE_TLS", False)
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", "backoffice@localhost")

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF, *([S3_PUBLIC_ENDPOINT_URL] if S3_PUBLIC_ENDPOINT_URL else [])],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
    }
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"handlers": ["console"], "level": env.str("LOG_LEVEL", "INFO")},
}
structlog.configure(
    processors=[
        structlog.contextvars.merge_contextvars,
        structlog.processors.format_exc_info,
        structlog.processors.KeyValueRenderer(key_order=["event"]),
    ],
    logger_factory=structlog.stdlib.LoggerFactory(),
    cache_logger_on_first_use=True,
)
