"""The settings shared by every process."""

from __future__ import annotations

import os
import secrets
from datetime import timedelta
from pathlib import Path

from redis.backoff import NoBackoff
from redis.retry import Retry

from controlplane.base.logs import logging_config
from controlplane.settings.database import database_from_url

BASE_DIR = Path(__file__).resolve().parents[2]
STATE_DIR = Path(os.environ.get("HEADRACE_STATE", BASE_DIR / ".headrace"))
# Private keys for nodes without an agent: a folder that only the server reads.
SSH_KEYS_DIR = Path(os.environ.get("HEADRACE_SSH_KEYS", STATE_DIR / "ssh"))
# Secrets of private registries, likewise.
REGISTRY_SECRETS_DIR = Path(os.environ.get("HEADRACE_REGISTRY_SECRETS", STATE_DIR / "registry-secrets"))


def _secret_key() -> str:
    path = os.environ.get("HEADRACE_SECRET_KEY_FILE")
    if path:
        return Path(path).read_text(encoding="ascii").strip()
    # Without a key file nothing signed survives a restart: enough for commands; `manage.py up` gives servers one.
    return secrets.token_urlsafe(50)


def _list(name: str, default: str) -> list[str]:
    return [item.strip() for item in os.environ.get(name, default).split(",") if item.strip()]


VERSION = "0.1.0"
SECRET_KEY = _secret_key()
DEBUG = False
ALLOWED_HOSTS = _list("HEADRACE_ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
ORIGIN = os.environ.get("HEADRACE_ORIGIN", "http://localhost:8000")
CSRF_TRUSTED_ORIGINS = [ORIGIN, *_list("HEADRACE_TRUSTED_ORIGINS", "")]
SECURE = ORIGIN.startswith("https://")

ROOT_URLCONF = "controlplane.urls"
WSGI_APPLICATION = "controlplane.wsgi.application"
ASGI_APPLICATION = "controlplane.asgi.application"
# Loaded once all apps are ready: who is told what after a commit.
SUBSCRIPTIONS = "controlplane.subscriptions"
APPEND_SLASH = False
CONSOLE_DIR = Path(os.environ.get("HEADRACE_CONSOLE", BASE_DIR / "frontend" / "dist"))

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "rest_framework",
    "drf_spectacular",
    "knox",
    "allauth",
    "allauth.account",
    "allauth.headless",
    "channels",
    "controlplane.base",
    "controlplane.policy",
    "controlplane.accounts",
    "controlplane.alerts",
    "inventory",
    "queues",
    "scheduling",
    "controlplane.agentapi",
    "controlplane.realtime",
    "controlplane.embedded",
]
MIDDLEWARE = [
    "controlplane.base.headers.SecurityHeaders",
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "allauth.account.middleware.AccountMiddleware",
]
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]

DATABASE_URL = os.environ.get("DATABASE_URL", "postgres://headrace@localhost/headrace")
DATABASES = {"default": database_from_url(DATABASE_URL)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATA_UPLOAD_MAX_MEMORY_SIZE = 16 << 20

REDIS_URL = os.environ.get("REDIS_URL", "redis://localhost:6379/0")
# A server that is gone must be noticed within a request's patience: one short try, no second.
REDIS_TIMEOUTS = {"socket_connect_timeout": 0.5, "socket_timeout": 0.8}
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "headrace",
        "OPTIONS": {**REDIS_TIMEOUTS, "retry": Retry(NoBackoff(), 0)},
    }
}
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        # No socket_timeout here: a subscription is a read that waits.
        "CONFIG": {"hosts": [{"address": REDIS_URL, "socket_connect_timeout": 0.5, "socket_timeout": None}]},
    }
}

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "controlplane.accounts.password_rules.LongEnough", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "controlplane.accounts.password_rules.NoBlankEnds"},
]
ACCOUNT_ADAPTER = "controlplane.accounts.signin.SignInAdapter"
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_RATE_LIMITS = {
    "login": "60/m/ip",
    "login_failed": "20/m/ip,100/5m/key",
    "reauthenticate": "10/m/user",
    "change_password": "5/m/user",
}
HEADLESS_ONLY = True
HEADLESS_CLIENTS = ["browser"]
HEADLESS_FRONTEND_URLS: dict[str, str] = {}

SESSION_ENGINE = "django.contrib.sessions.backends.db"
SESSION_COOKIE_NAME = "headrace_session"
SESSION_COOKIE_AGE = 14 * 24 * 3600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE
CSRF_COOKIE_NAME = "headrace_csrf"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "controlplane.base.failures.csrf_failure"
SECURE_HSTS_SECONDS = 30 * 24 * 3600 if SECURE else 0
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
# Our own proxy in front says how people came and from where; without one these headers are anybody's claim.
BEHIND_PROXY = os.environ.get("HEADRACE_BEHIND_PROXY") == "1"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_PROXY else None

REST_KNOX = {
    "TOKEN_MODEL": "accounts.ApiToken",
    "TOKEN_TTL": timedelta(days=90),
    "TOKEN_PREFIX": "hr_",
    "AUTH_HEADER_PREFIX": "Bearer",
}
KNOX_TOKEN_MODEL = "accounts.ApiToken"
# knox has only the token table that ours replaces; its migrations would still make it.
MIGRATION_MODULES = {"knox": None}
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "controlplane.accounts.authentication.TokenAuthentication",
        "controlplane.accounts.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["controlplane.accounts.permissions.Nobody"],
    "DEFAULT_PARSER_CLASSES": ["controlplane.base.strict.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PAGINATION_CLASS": "controlplane.base.api.CursorPages",
    "DEFAULT_THROTTLE_CLASSES": ["controlplane.accounts.throttle.PerUser"],
    "DEFAULT_SCHEMA_CLASS": "controlplane.base.schema.ProblemSchema",
    "EXCEPTION_HANDLER": "controlplane.base.failures.exception_handler",
    "COERCE_DECIMAL_TO_STRING": False,
    "URL_FORMAT_OVERRIDE": None,
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
REQUESTS_PER_MINUTE = int(os.environ.get("HEADRACE_REQUESTS_PER_MINUTE", "6000"))
SPECTACULAR_SETTINGS = {
    "TITLE": "Headrace",
    "DESCRIPTION": "Control plane for accelerators and CPU hosts. Errors are application/problem+json.",
    "VERSION": VERSION,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "SERVERS": [{"url": "/"}],
    "POSTPROCESSING_HOOKS": ["drf_spectacular.hooks.postprocess_schema_enums"],
    "ENUM_NAME_OVERRIDES": {
        "RoleEnum": "controlplane.accounts.models.Role",
        "TeamRoleEnum": "controlplane.accounts.models.TeamRole",
        "JobStatusEnum": "queues.models.JobStatus",
        "HealthEnum": "inventory.models.DeviceHealth",
        "MemoryLimitEnum": "inventory.api.serializers.MEMORY_LIMITS",
    },
}

LOGGING_CONFIG = None
LOGGING = logging_config(os.environ.get("HEADRACE_LOG_LEVEL", "INFO"))
