"""The settings under pytest: the same product with cheap passwords."""

from controlplane.settings import base

globals().update({name: value for name, value in vars(base).items() if name.isupper()})

ALLOWED_HOSTS = [*base.ALLOWED_HOSTS, "testserver"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
