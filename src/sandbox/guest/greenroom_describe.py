"""A function's signature as JSON Schema, and values as JSON."""

import dataclasses
import datetime
import decimal
import enum
import inspect
import json
import pathlib
import types
import typing
import uuid

PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
LISTS = (list, set, frozenset, tuple)


class Refused(Exception):
    """Something that is told as it is, without a traceback."""


def describe(function) -> dict:
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except Exception as error:
        raise Refused(f"The annotations of {function.__name__} cannot be read: {error}.") from None
    properties, required, takes_more = {}, [], False
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            takes_more = True
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
            raise Refused(f"{function.__name__} must take its arguments by name, and {parameter} is not.")
        properties[name] = schema(hints.get(name, typing.Any))
        if parameter.default is parameter.empty:
            required.append(name)
        else:
            properties[name]["default"] = fallback(parameter.default)
    parameters = {
        "type": "object", "properties": properties, "required": required, "additionalProperties": takes_more,
    }
    return {
        "name": function.__name__,
        "signature": f"{function.__name__}{inspect.signature(function)}",
        "description": inspect.getdoc(function) or "",
        "parameters": parameters,
        "returns": schema(hints.get("return", typing.Any)),
    }


def fallback(value):
    try:
        return plain(value)
    except Refused:
        return repr(value)


def schema(kind) -> dict:
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        said = [note for note in inner[1:] if isinstance(note, str)]
        return schema(inner[0]) | ({"description": " ".join(said)} if said else {})
    if kind is None or isinstance(kind, type) and kind in PLAIN:
        return {"type": PLAIN.get(kind, "null")}
    if origin is typing.Literal:
        return {"enum": [plain(value) for value in inner]}
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [schema(choice) for choice in inner]}
    if (origin or kind) in LISTS:
        items = [part for part in inner if part is not Ellipsis]
        return {"type": "array"} | ({"items": schema(items[0])} if len(items) == 1 else {})
    if (origin or kind) is dict or typing.is_typeddict(kind):
        fields = typing.get_type_hints(kind) if typing.is_typeddict(kind) else {}
        values = {"additionalProperties": schema(inner[1])} if len(inner) == 2 else {}
        return {"type": "object"} | values | ({"properties": shapes(fields)} if fields else {})
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return {"enum": [plain(member.value) for member in kind]}
    if dataclasses.is_dataclass(kind):
        return {"type": "object", "properties": shapes(typing.get_type_hints(kind))}
    return {}


def shapes(fields: dict) -> dict:
    return {name: schema(kind) for name, kind in fields.items()}


def plain(value):
    """A value as JSON has it."""
    try:
        return json.loads(json.dumps(value, default=simpler, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise Refused(f"The result cannot be told as JSON: {error}.") from None


def simpler(value):
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (decimal.Decimal, pathlib.PurePath, uuid.UUID)):
        return str(value)
    raise TypeError(f"{type(value).__name__} is not a number, text, list or dictionary")
