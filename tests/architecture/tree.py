"""The source tree as the house rules see it: parsed once, asked many times."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

CLONE = Path(__file__).resolve().parents[2]
SERVER = ("controlplane", "inventory", "queues", "scheduling")
SOURCES = (*SERVER, "agent", "client", "bench", "tools")
PURE = ("scheduling/engine", "scheduling/simulator")


@dataclass(frozen=True)
class Module:
    """One Python file; `path` is relative to the tree."""

    path: str
    text: str

    @cached_property
    def syntax(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.syntax))

    @cached_property
    def writing(self) -> list[ast.AST]:
        """Assignments and calls: what may change a row."""
        kinds = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Call)
        return [node for node in self.nodes if isinstance(node, kinds)]

    @cached_property
    def functions(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        return [node for node in self.nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]

    def below(self, *folders: str) -> bool:
        return any(self.path == folder or self.path.startswith(folder + "/") for folder in folders)


@dataclass(frozen=True)
class Tree:
    """All Python files of a clone, apart from migrations, which Django writes."""

    root: Path

    @cached_property
    def sources(self) -> list[Module]:
        return self._modules(SOURCES)

    @cached_property
    def tests(self) -> list[Module]:
        return self._modules(("tests",))

    @cached_property
    def server(self) -> list[Module]:
        return [module for module in self.sources if module.below(*SERVER)]

    @cached_property
    def pure(self) -> list[Module]:
        return [module for module in self.sources if module.below(*PURE)]

    def _modules(self, folders: tuple[str, ...]) -> list[Module]:
        return [
            Module(path=str(path.relative_to(self.root)), text=path.read_text())
            for folder in folders
            for path in sorted((self.root / folder).rglob("*.py"))
            if "migrations" not in path.parts
        ]


def dotted(node: ast.AST) -> str:
    """`a.b.c` of a name or attribute chain; calls inside the chain are looked through; else the empty string."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = dotted(node.value)
        return f"{inner}.{node.attr}" if inner else node.attr
    if isinstance(node, ast.Call):
        return dotted(node.func)
    return ""


def imported(module: Module) -> Iterator[tuple[str, int]]:
    """Every imported module (and `module.name` of from-imports) with its line."""
    for node in module.nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, node.lineno
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)
