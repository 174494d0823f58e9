"""The house rules, as functions over a source tree."""
