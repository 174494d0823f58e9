"""Law: small functions and small files."""

import ast
from statistics import median

from tests.architecture.tree import Module, Tree

FUNCTION_LINES = 60
MEDIAN_LINES = 10
SOURCE_LINES = 500
TEST_LINES = 600
# Written by a tool or pure data; everything else has to be split.
LONG_FILES: dict[str, str] = {}


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def long_functions(modules: list[Module]) -> list[str]:
    return [
        f"{module.path}:{function.lineno} {function.name} has {length(function)} lines, more than {FUNCTION_LINES}"
        for module in modules
        for function in module.functions
        if length(function) > FUNCTION_LINES
    ]


def long_files(modules: list[Module], *, limit: int) -> list[str]:
    counted = [(module.path, module.text.count("\n")) for module in modules]
    return [
        f"{path} has {lines} lines, more than {limit}"
        for path, lines in counted
        if lines > limit and path not in LONG_FILES
    ]


def median_function(tree: Tree) -> float:
    return median([length(function) for module in tree.sources for function in module.functions] or [0])


def findings(tree: Tree) -> list[str]:
    found = long_functions(tree.sources) + long_functions(tree.tests)
    found += long_files(tree.sources, limit=SOURCE_LINES) + long_files(tree.tests, limit=TEST_LINES)
    if median_function(tree) > MEDIAN_LINES:
        found.append(f"the median function has {median_function(tree)} lines, more than {MEDIAN_LINES}")
    return found
