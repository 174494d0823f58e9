"""The settings shared by every process."""

from __future__ import annotations

import os
import secrets
from datetime import timedelta
from pathlib import Path

from controlplane.settings.database import database_from_url

BASE_DIR = Path(__file__).resolve().parents[2]
STATE_DIR = Path(os.environ.get("HEADRACE_STATE", BASE_DIR / ".headrace"))


def _secret_key() -> str:
    path = os.environ.get("HEADRACE_SECRET_KEY_FILE")
    if path:
        return Path(path).read_text(encoding="ascii").strip()
    # Without a key file nothing signed survives a restart: good enough for commands, wrong for servers, which `manage.py up` gives one.
    return secrets.token_urlsafe(50)


def _list(name: str, default: str) -> list[str]:
    return [item.strip() for item in os.environ.get(name, default).split(",") if item.strip()]


SECRET_KEY = _secret_key()
DEBUG = False
ALLOWED_HOSTS = _list("HEADRACE_ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
ORIGIN = os.environ.get("HEADRACE_ORIGIN", "http://localhost:8000")
CSRF_TRUSTED_ORIGINS = [ORIGIN]
SECURE = ORIGIN.startswith("https://")

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "rest_framework",
    "django_filters",
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

DATABASE_URL = os.environ.get("DATABASE_URL", "postgres://headrace@localhost/headrace")
DATABASES = {"default": database_from_url(DATABASE_URL)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = os.environ.get("REDIS_URL", "redis://localhost:6379/0")

AUTH_USER_MODEL = "accounts.User"
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

REST_KNOX = {"TOKEN_MODEL": "accounts.ApiToken", "TOKEN_TTL": timedelta(days=90), "TOKEN_PREFIX": "hr_"}
KNOX_TOKEN_MODEL = "accounts.ApiToken"

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "allauth.account.middleware.AccountMiddleware",
]
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]
