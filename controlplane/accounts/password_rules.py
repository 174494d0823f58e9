"""What a new password must be beside what Django asks of it."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _


class NoBlankEnds:
    """The sign-in form cuts blanks off both ends, as people paste them along: such a password would open nothing."""

    def validate(self, password: str, user: object = None) -> None:
        """ValidationError for a password that does not survive that."""
        if password != password.strip():
            raise ValidationError(self.get_help_text(), code="blank-ends")

    def get_help_text(self) -> str:
        """The rule as a sentence."""
        return _("A password neither begins nor ends with a blank.")
