"""The type stubs have the functions and parameters of the module."""

import ast
import importlib
import pathlib

import pytest

import signatures

pytestmark = pytest.mark.bare

STUBS = pathlib.Path(__file__).resolve().parent.parent / "acl-stubs"

MODULES = [
    ("__init__", {**signatures.TOP, "init": "s"}),
    ("rt", {**signatures.RT, **signatures.RT_BEYOND, "set_exception_info_callback": "O"}),
    ("util", signatures.UTIL),
    ("media", signatures.MEDIA),
]


@pytest.mark.parametrize(("module", "table"), MODULES, ids=[name for name, _ in MODULES])
def test_stubs_match_the_signature_table(module: str, table: dict[str, str]) -> None:
    tree = ast.parse((STUBS / f"{module}.pyi").read_text(encoding="utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert {function.name for function in functions} == set(table)
    for function in functions:
        arguments, kinds = function.args, table[function.name]
        assert arguments.args == arguments.kwonlyargs == [], function.name
        assert len(arguments.posonlyargs) == len(kinds), function.name
        assert (arguments.vararg is not None) == (kinds == ""), function.name
        assert function.returns is not None, function.name
        for argument, kind in zip(arguments.posonlyargs, kinds):
            assert argument.annotation is not None
            expected = {"P": "int", "s": "str", "f": "float", "O": None}.get(kind, "SupportsIndex")
            if expected is not None:
                assert ast.unparse(argument.annotation) == expected, (function.name, argument.arg)


@pytest.mark.parametrize(("module", "table"), MODULES, ids=[name for name, _ in MODULES])
def test_annotated_results_have_the_real_length(module: str, table: dict[str, str]) -> None:
    tree = ast.parse((STUBS / f"{module}.pyi").read_text(encoding="utf-8"))
    runtime = importlib.import_module("acl" if module == "__init__" else f"acl.{module}")
    for function in tree.body:
        if not isinstance(function, ast.FunctionDef) or not set(table[function.name]) <= set("iuP"):
            continue
        if module == "util":  # dereferences its arguments
            continue
        if function.name == "get_group_info_detail":  # raises, as in pyACL
            continue
        result = getattr(runtime, function.name)(*[0] * len(table[function.name]))
        assert function.returns is not None
        text = ast.unparse(function.returns)
        if text.startswith("tuple["):
            items = function.returns.slice.elts  # type: ignore[attr-defined]
            assert isinstance(result, tuple) and len(result) == len(items), function.name
        else:
            assert not isinstance(result, tuple), function.name
