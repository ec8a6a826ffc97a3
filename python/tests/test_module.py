"""Imports and contents of the module."""

import importlib
import inspect
import sys
import types

import acl
import pytest

import signatures
from support import run_python

SUBMODULES = ["rt", "util", "media"]
# Parts of pyACL that are unrelated to the runtime and empty here.
EMPTY_SUBMODULES = ["mdl", "op", "blas", "prof", "himpi", "fv"]


def functions(module: types.ModuleType) -> set[str]:
    """Returns the public names of a module except its submodules."""
    return {name for name in dir(module) if not name.startswith("_") and not inspect.ismodule(getattr(module, name))}


@pytest.mark.parametrize(
    "statement",
    [
        "import acl; acl.rt.malloc, acl.util.bytes_to_ptr, acl.media.dvpp_malloc",
        "import acl.rt; acl.rt.malloc",
        "import acl.rt as acl_rt; acl_rt.malloc",
        "import acl.util as util; util.bytes_to_ptr",
        "import acl.media as media; media.dvpp_free",
        "from acl import rt; rt.malloc",
        "from acl import rt, util, media",
        "from acl.rt import memcpy",
        "from acl.rt import memcpy, malloc as m",
        "from acl.util import bytes_to_ptr",
        "from acl import init",
        "from acl import *; init, rt.malloc",
        "from acl.rt import *; malloc, memcpy",
    ],
)
@pytest.mark.bare
def test_every_form_of_import_works(statement: str) -> None:
    exec(statement, {})


@pytest.mark.bare
def test_every_form_of_import_works_in_a_new_process() -> None:
    for statement in ["import acl.rt as r", "from acl import rt as r", "from acl.rt import memcpy as r"]:
        run_python(f"{statement}\nimport sys, acl\nassert r is not None and sys.modules['acl.rt'] is acl.rt")


@pytest.mark.bare
@pytest.mark.parametrize("name", SUBMODULES)
def test_submodules_have_dotted_names(name: str) -> None:
    module = importlib.import_module(f"acl.{name}")
    assert module is getattr(acl, name) is sys.modules[f"acl.{name}"]
    assert isinstance(module, types.ModuleType)
    assert module.__name__ == f"acl.{name}"


@pytest.mark.bare
@pytest.mark.parametrize("name", EMPTY_SUBMODULES)
def test_empty_submodules_can_be_imported(name: str) -> None:
    importlib.import_module(f"acl.{name}")


@pytest.mark.bare
def test_second_import_returns_the_same_module() -> None:
    assert importlib.import_module("acl") is acl
    assert not hasattr(acl, "__path__")


@pytest.mark.bare
@pytest.mark.parametrize("module", [acl, acl.rt, acl.util, acl.media], ids=lambda module: module.__name__)
def test_modules_have_no_constants(module: types.ModuleType) -> None:
    for name in functions(module):
        assert inspect.isbuiltin(getattr(module, name)), name
    for name in ["ACL_SUCCESS", "ACL_MEMCPY_HOST_TO_DEVICE", "ACL_ERROR_NONE"]:
        with pytest.raises(AttributeError):
            getattr(module, name)


@pytest.mark.bare
@pytest.mark.parametrize(
    ("module", "names"),
    [
        (acl, {*signatures.TOP, *signatures.TOP_OPTIONAL}),
        (acl.rt, {*signatures.RT, *signatures.RT_OPTIONAL}),
        (acl.util, set(signatures.UTIL)),
        (acl.media, set(signatures.MEDIA)),
    ],
    ids=lambda value: value.__name__ if isinstance(value, types.ModuleType) else "",
)
def test_all_names_are_present(module: types.ModuleType, names: set[str]) -> None:
    assert names - functions(module) == set()


@pytest.mark.bare
def test_signature_table_has_every_function() -> None:
    assert functions(acl) == {*signatures.TOP, *signatures.TOP_OPTIONAL}
    assert functions(acl.rt) - set(signatures.RT_BEYOND) == {*signatures.RT, *signatures.RT_OPTIONAL}
    assert functions(acl.util) == set(signatures.UTIL)
    assert functions(acl.media) == set(signatures.MEDIA)


@pytest.mark.bare
def test_feature_checks_of_real_programs_work() -> None:
    assert "bytes_to_ptr" in dir(acl.util)
    assert hasattr(acl.rt, "memcpy_async")
    assert hasattr(acl.rt, "create_stream_with_config")
    assert callable(getattr(acl.util, "bytes_to_ptr", None))
    assert not hasattr(acl.rt, "get_soc_name")  # it is in acl
    assert not hasattr(acl.rt, "memcpy_2d")  # no underscore before 2d


@pytest.mark.bare
@pytest.mark.parametrize("module", [acl, acl.rt, acl.util, acl.media], ids=lambda module: module.__name__)
def test_missing_name_raises_attribute_error(module: types.ModuleType) -> None:
    with pytest.raises(AttributeError, match="no_such_function"):
        module.no_such_function  # noqa: B018


@pytest.mark.bare
@pytest.mark.parametrize("module", [acl, acl.rt, acl.util, acl.media], ids=lambda module: module.__name__)
def test_functions_have_names_and_docstrings(module: types.ModuleType) -> None:
    for name in functions(module):
        function = getattr(module, name)
        assert function.__name__ == name
        assert function.__doc__.startswith(f"{name}(")


@pytest.mark.bare
@pytest.mark.parametrize("module", [acl, acl.rt, acl.util, acl.media], ids=lambda module: module.__name__)
def test_every_function_is_positional_only(module: types.ModuleType) -> None:
    for name in functions(module):
        with pytest.raises(TypeError, match=rf"{name}\(\) takes no keyword arguments"):
            getattr(module, name)(anything=0)


@pytest.mark.bare
def test_empty_keyword_dictionary_is_accepted() -> None:
    assert acl.rt.get_device_count(**{})[1] == 0
