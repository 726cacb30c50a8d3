"""A plugin of mypy: the functions of `dataclasses` are for dataclasses, and msgspec's structs are none.

msgspec declares structs with `dataclass_transform`, and mypy takes whatever is declared so for a dataclass:
`replace(struct)` passes, and raises TypeError when it runs. Their namesakes in `msgspec.structs` are meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mypy.errorcodes import ErrorCode
from mypy.plugin import FunctionContext, Plugin
from mypy.types import CallableType, Instance, Type, TypeType, TypeVarType, UnionType, get_proper_type

STRUCT_AS_DATACLASS = ErrorCode("struct-as-dataclass", "a function of dataclasses is given a struct", "General")
_FUNCTIONS = {f"dataclasses.{name}" for name in ("asdict", "astuple", "fields", "replace")}
_STRUCT = "msgspec.Struct"


class StructCheck(Plugin):
    """Refuses structs where a function of `dataclasses` is called."""

    def get_function_hook(self, fullname: str) -> Callable[[FunctionContext], Type] | None:
        """For the functions that take a dataclass."""
        return _refuse_structs if fullname in _FUNCTIONS else None


def _refuse_structs(context: FunctionContext) -> Type:
    for kind in _kinds(context.arg_types[0][0]):
        if kind.type.has_base(_STRUCT):
            context.api.fail(
                f"{kind.type.name} is a struct, no dataclass: take the function of that name in msgspec.structs",
                context.context,
                code=STRUCT_AS_DATACLASS,
            )
    return context.default_return_type


def _kinds(given: Type) -> Iterator[Instance]:
    """The classes that a value may be of, or that it is itself."""
    kind = get_proper_type(given)
    if isinstance(kind, Instance):
        yield kind
    elif isinstance(kind, UnionType):
        for item in kind.items:
            yield from _kinds(item)
    elif isinstance(kind, TypeVarType):
        yield from _kinds(kind.upper_bound)
    elif isinstance(kind, TypeType):
        yield from _kinds(kind.item)
    elif isinstance(kind, CallableType) and kind.is_type_obj():
        yield from _kinds(kind.ret_type)


def plugin(_version: str) -> type[Plugin]:
    """What mypy asks a plugin's module for."""
    return StructCheck
