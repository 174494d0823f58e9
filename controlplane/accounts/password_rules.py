"""What a new password must be beside what Django asks of it."""

from __future__ import annotations

from django.contrib.auth.password_validation import MinimumLengthValidator
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _


class LongEnough(MinimumLengthValidator):
    """Django's rule with a sentence of our own: its catalogue has this one not in every language."""

    def get_error_message(self) -> str:
        return self.get_help_text()

    def get_help_text(self) -> str:
        return _("A password has at least %(min_length)s characters.") % {"min_length": self.min_length}


class NoBlankEnds:
    """The sign-in form cuts blanks off both ends, as people paste them along: such a password would open nothing."""

    def validate(self, password: str, user: object = None) -> None:
        """ValidationError for a password that does not survive that."""
        if password != password.strip():
            raise ValidationError(self.get_help_text(), code="blank-ends")

    def get_help_text(self) -> str:
        """The rule as a sentence."""
        return _("A password neither begins nor ends with a blank.")
