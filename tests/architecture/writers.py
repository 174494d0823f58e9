"""Law: each fact has one writer module."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tests.architecture.tree import Module, Tree, dotted

WRITING_CALLS = {"create", "bulk_create", "get_or_create", "update_or_create", "acreate"}


@dataclass(frozen=True)
class Fact:
    """A column and the only modules that may write it."""

    model: str
    column: str
    writers: tuple[str, ...]


FACTS = (
    Fact("Job", "status", ("queues/lifecycle.py",)),
    Fact(
        "Placement",
        "phase",
        (
            "scheduling/observe.py",
            "scheduling/losses.py",
            "scheduling/evacuation.py",
            "scheduling/operations.py",
            "scheduling/takeovers.py",
            "scheduling/gangs.py",
            "scheduling/unanswered.py",
        ),
    ),
    Fact("Device", "health", ("inventory/device_health.py",)),
    Fact("Node", "state", ("inventory/node_states.py",)),
)
# Rows that only these modules may make, change or delete.
ROWS = {
    "JobEvent": ("queues/lifecycle.py",),
    "Slice": ("scheduling/apply.py", "scheduling/bookings.py"),
    "CoreBooking": ("scheduling/apply.py", "scheduling/bookings.py"),
    "Hold": ("scheduling/kept.py",),
}


def assigned(node: ast.AST) -> Iterator[ast.Attribute]:
    if isinstance(node, ast.Assign):
        yield from (target for target in node.targets if isinstance(target, ast.Attribute))
    elif isinstance(node, ast.AugAssign | ast.AnnAssign) and isinstance(node.target, ast.Attribute):
        yield node.target


def named_columns(call: ast.Call) -> set[str]:
    """Columns a call names: keywords of update(), strings of update_fields= and of bulk_update's list."""
    names: set[str] = set()
    method = dotted(call.func).rsplit(".", 1)[-1]
    if method in {"update", "aupdate", *WRITING_CALLS}:
        names |= {keyword.arg for keyword in call.keywords if keyword.arg}
    lists = [keyword.value for keyword in call.keywords if keyword.arg == "update_fields"]
    if method in ("bulk_update", "abulk_update"):
        lists += call.args[1:] + [keyword.value for keyword in call.keywords if keyword.arg == "fields"]
    for sequence in lists:
        names |= {str(part.value) for part in ast.walk(sequence) if isinstance(part, ast.Constant)}
    return names


def updates_by_dictionary(call: ast.Call, model: str) -> bool:
    """`Model.objects...update(**columns)` may write any column, so only a writer may do it."""
    chain = dotted(call.func).split(".")
    return (
        chain[0] == model and chain[-1] == "update" and any(keyword.arg is None for keyword in call.keywords)
    )


def may_be(model: str, receiver: str) -> bool:
    """A chain that starts at another class writes another model; one that starts at a variable may be any."""
    first = receiver.split(".")[0]
    return first == model or not first[:1].isupper()


def writes(module: Module, fact: Fact) -> Iterator[int]:
    for node in module.writing:
        for target in assigned(node):
            if target.attr == fact.column and dotted(target.value) != "self":
                yield target.lineno
        if isinstance(node, ast.Call):
            receiver = dotted(node.func)
            named = fact.column in named_columns(node) and may_be(fact.model, receiver)
            if named or updates_by_dictionary(node, fact.model):
                yield node.lineno


def touches_rows(module: Module, model: str) -> Iterator[int]:
    changing = {*WRITING_CALLS, "update", "delete", "bulk_update", "aupdate", "adelete"}
    for node in module.writing:
        if isinstance(node, ast.Call):
            chain = dotted(node.func).split(".")
            if chain[0] == model and chain[-1] in changing:
                yield node.lineno


def findings(tree: Tree) -> list[str]:
    found = [
        f"{module.path}:{line} writes {fact.model}.{fact.column}; only {', '.join(fact.writers)} may"
        for fact in FACTS
        for module in tree.server
        if module.path not in fact.writers
        for line in writes(module, fact)
    ]
    return found + [
        f"{module.path}:{line} changes rows of {model}; only {', '.join(allowed)} may"
        for model, allowed in ROWS.items()
        for module in tree.server
        if module.path not in allowed
        for line in touches_rows(module, model)
    ]
