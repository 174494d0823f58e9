"""The settings under pytest: the same product with cheap passwords."""

from controlplane.settings import base
from controlplane.settings.database import POOL

globals().update({name: value for name, value in vars(base).items() if name.isupper()})

ALLOWED_HOSTS = [*base.ALLOWED_HOSTS, "testserver"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# Many threads at once on a busy machine: a test waits for its turn, and asks not how long.
DATABASES = {
    "default": {
        **base.DATABASES["default"],
        "OPTIONS": {**base.DATABASES["default"]["OPTIONS"], "pool": {**POOL, "timeout": 60}},
    }
}
