"""Law: names, imports, docstrings and saves as the house wants them."""

import ast
import re
from collections.abc import Iterator

from tests.architecture.tree import Module, Tree, dotted, imported

BANNED_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "shared"}
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK|NotImplementedError)\b")
SIGNALS = ("django.db.models.signals", "django.dispatch")
# Settings are the one place where Django itself expects `from base import *`.
STAR_IMPORTS = "controlplane/settings"
# Objects whose save() is not a model's.
NOT_MODELS = {"serializer", "form", "figure", "image"}


def banned_names(module: Module) -> Iterator[str]:
    for part in module.path.removesuffix(".py").split("/"):
        if part in BANNED_NAMES:
            yield f"{module.path}: the name '{part}' says nothing"


def unfinished(module: Module) -> Iterator[str]:
    for number, line in enumerate(module.text.splitlines(), start=1):
        if UNFINISHED.search(line):
            yield f"{module.path}:{number} is unfinished: {line.strip()}"


def star_imports(module: Module) -> Iterator[str]:
    if module.below(STAR_IMPORTS):
        return
    for node in module.nodes:
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            yield f"{module.path}:{node.lineno} imports *"


def missing_docstring(module: Module) -> Iterator[str]:
    if module.text.strip() and not ast.get_docstring(module.syntax):
        yield f"{module.path} does not say what it owns"


def signals(module: Module) -> Iterator[str]:
    for name, line in imported(module):
        if name.startswith(SIGNALS):
            yield f"{module.path}:{line} uses {name}; call the other module, or base.tx.after_commit"


def blind_saves(module: Module) -> Iterator[str]:
    """`save()` writes all columns, also those that another process changed in between; an insert may."""
    for node in module.nodes:
        if (
            not isinstance(node, ast.Call)
            or not isinstance(node.func, ast.Attribute)
            or node.func.attr != "save"
        ):
            continue
        receiver = dotted(node.func.value).rsplit(".", 1)[-1]
        named = {keyword.arg for keyword in node.keywords}
        if (
            receiver not in NOT_MODELS
            and not receiver.startswith("super")
            and not named & {"update_fields", "force_insert"}
        ):
            yield f"{module.path}:{node.lineno} saves without update_fields"


def late_imports(module: Module) -> Iterator[str]:
    """An import inside a function hides a cycle. `AppConfig.ready` is Django's own place for late imports."""
    for function in module.functions:
        if function.name == "ready":
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield f"{module.path}:{node.lineno} imports inside {function.name}()"


def findings(tree: Tree) -> list[str]:
    everywhere = (banned_names, unfinished, star_imports, missing_docstring)
    found = [line for module in tree.sources for law in everywhere for line in law(module)]
    found += [
        line for module in tree.server for law in (signals, blind_saves, late_imports) for line in law(module)
    ]
    here = "tests/architecture/"
    tests = [module for module in tree.tests if not module.path.startswith(here)]
    return found + [line for module in tests for law in (unfinished, star_imports) for line in law(module)]
