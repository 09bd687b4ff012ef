"""A function's signature as JSON Schema, values as JSON, and JSON as a signature wants it."""

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


def annotations(function) -> dict:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except Exception as error:
        raise Refused(f"The annotations of {function.__name__} cannot be read: {error}.") from None


def describe(function) -> dict:
    hints = annotations(function)
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


def schema(kind, around: tuple = ()) -> dict:
    """A kind of value as JSON Schema. What stands around it is written out once, however often it holds itself."""
    if kind in around and (dataclasses.is_dataclass(kind) or typing.is_typeddict(kind)):
        return {"type": "object"}
    origin, inner, within = typing.get_origin(kind), typing.get_args(kind), (*around, kind)
    if origin is typing.Annotated:
        said = [note for note in inner[1:] if isinstance(note, str)]
        return schema(inner[0], within) | ({"description": " ".join(said)} if said else {})
    if kind is None or isinstance(kind, type) and kind in PLAIN:
        return {"type": PLAIN.get(kind, "null")}
    if origin is typing.Literal:
        return {"enum": [plain(value) for value in inner]}
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [schema(choice, within) for choice in inner]}
    if (origin or kind) in LISTS:
        items = [part for part in inner if part is not Ellipsis]
        return {"type": "array"} | ({"items": schema(items[0], within)} if len(items) == 1 else {})
    if (origin or kind) is dict or typing.is_typeddict(kind):
        fields = typing.get_type_hints(kind) if typing.is_typeddict(kind) else {}
        values = {"additionalProperties": schema(inner[1], within)} if len(inner) == 2 else {}
        return {"type": "object"} | values | ({"properties": shapes(fields, within)} if fields else {})
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return {"enum": [plain(member.value) for member in kind]}
    if dataclasses.is_dataclass(kind):
        fields = fields_of(kind)
        return {
            "type": "object",
            "properties": shapes({name: hint for name, (hint, _) in fields.items()}, within),
            "required": [name for name, (_, is_needed) in fields.items() if is_needed],
        }
    return {}


def shapes(fields: dict, around: tuple) -> dict:
    return {name: schema(kind, around) for name, kind in fields.items()}


def fields_of(kind) -> dict:
    """What a dataclass is made of: of which kind it is, and whether it is needed."""
    hints = typing.get_type_hints(kind, include_extras=True)
    taken = inspect.signature(kind).parameters.items()
    return {name: (hints.get(name, typing.Any), one.default is one.empty) for name, one in taken}


def given(function, keywords: dict) -> dict:
    """What a function is called with: enums, dataclasses and collections in place of what JSON has."""
    hints = annotations(function)
    return {name: built(hints.get(name, typing.Any), value, name) for name, value in keywords.items()}


def built(kind, value, name: str):
    """JSON as this kind of value. Numbers and texts stay as they came, as nothing in Python checks them."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return built(inner[0], value, name)
    if origin in (typing.Union, types.UnionType):
        fitting = [choice for choice in inner if suits(choice, value)]
        # What fits none of them may be meant for one that says better what is wrong.
        choices = fitting or [choice for choice in inner if choice is not type(None)]
        return built(choices[0], value, name) if fitting or len(choices) == 1 else value
    if (origin or kind) in LISTS and isinstance(value, list):
        kinds = kinds_in(origin or kind, inner, len(value))
        items = [built(*pair, name) for pair in zip(kinds, value)]
        try:
            return (origin or kind)(items)
        except TypeError as error:
            raise Refused(f"“{name}” cannot be a {(origin or kind).__name__}: {error}.") from None
    if origin is dict and len(inner) == 2 and isinstance(value, dict):
        return {key: built(inner[1], one, name) for key, one in value.items()}
    if typing.is_typeddict(kind) and isinstance(value, dict):
        hints = typing.get_type_hints(kind)
        return {key: built(hints.get(key, typing.Any), one, name) for key, one in value.items()}
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        for member in kind:
            if is_meant(member, value):
                return member
        known = ", ".join(repr(plain(member.value)) for member in kind)
        raise Refused(f"“{name}” must be one of {known}, and is {value!r}.")
    if dataclasses.is_dataclass(kind):
        return made(kind, value, name)
    return value


def made(kind, value, name: str):
    """A dataclass of an object's fields."""
    fields = fields_of(kind)
    if not isinstance(value, dict):
        raise Refused(f"“{name}” must be an object with {', '.join(fields)}, and is {value!r}.")
    try:
        inspect.signature(kind).bind(**value)
    except TypeError as error:
        raise Refused(f"“{name}” is no {kind.__name__}: {error}.") from None
    return kind(**{key: built(fields[key][0], one, f"{name}.{key}") for key, one in value.items()})


def kinds_in(origin, inner: tuple, count: int) -> list:
    """Of which kind each item of a list is."""
    if origin is tuple and inner and Ellipsis not in inner:
        return [*inner, *[typing.Any] * (count - len(inner))]
    return [inner[0] if inner else typing.Any] * count


def is_meant(member: enum.Enum, value) -> bool:
    known = plain(member.value)
    return known == value and isinstance(known, bool) == isinstance(value, bool)


def suits(kind, value) -> bool:
    """Whether JSON can be meant as this kind of value."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return suits(inner[0], value)
    if kind is None or kind is type(None):
        return value is None
    if kind in (int, float):
        return isinstance(value, (int, kind)) and not isinstance(value, bool)
    if kind in (bool, str):
        return isinstance(value, kind)
    if origin is typing.Literal:
        return value in inner
    if origin in (typing.Union, types.UnionType):
        return any(suits(choice, value) for choice in inner)
    if (origin or kind) in LISTS:
        is_list = isinstance(value, list)
        return is_list and all(map(suits, kinds_in(origin or kind, inner, len(value)), value))
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return any(is_meant(member, value) for member in kind)
    if dataclasses.is_dataclass(kind):
        fields = fields_of(kind)
        needed = {name for name, (_, is_needed) in fields.items() if is_needed}
        return (
            isinstance(value, dict)
            and needed <= set(value) <= set(fields)
            and all(suits(fields[name][0], one) for name, one in value.items())
        )
    if (origin or kind) is dict or typing.is_typeddict(kind):
        return isinstance(value, dict)
    return True


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
