"""What the host asks of Python, one fresh instance for each request.

Files, clock, randomness, input and output are the host's, below the C library: nothing of Python is
replaced here. A traceback that leaves here shows the program's own lines only.
"""

import atexit
import importlib
import inspect
import io
import json
import linecache
import os
import random
import sys
import traceback
import types

import wit_world

import greenroom_describe
import greenroom_library  # noqa: F401

PROGRAM = "<program>"
# Python itself would not start without these; a file of the session cannot stand in for them.
NEEDED = {"abc", "builtins", "codecs", "encodings", "io", "os", "posixpath", "site", "stat", "sys", "warnings"}
INTEGER_DIGITS = 100_000
ONLY = "(Only the standard library, without sockets, processes and asyncio, and the session's own files can be imported.)"


class WitWorld(wit_world.WitWorld):
    def answer(self, request: str) -> str:
        asked = json.loads(request)
        answers = {"run": run, "describe": describe, "call": call}
        begin(asked)
        try:
            told = answers[asked["kind"]](asked)
        except SystemExit as leave:
            told = {"exit": exit_status(leave)}
        except BaseException as error:
            told = {"error": explain(error)}
        finish()
        return json.dumps(told)


def begin(asked: dict) -> None:
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), encoding="utf-8", errors="replace")
    sys.stdout = sys.__stdout__ = text_output(1)
    sys.stderr = sys.__stderr__ = text_output(2)
    sys.dont_write_bytecode = True
    sys.set_int_max_str_digits(INTEGER_DIGITS)
    random.seed()
    script = asked.get("script")
    folder = os.path.dirname(os.path.abspath(script)) if script else os.getcwd()
    sys.path[:] = [folder]
    sys.path_importer_cache.clear()
    importlib.invalidate_caches()
    sys.argv[:] = [script or "-c", *asked.get("arguments", [])]
    shadow(folder)


def text_output(number: int) -> io.TextIOWrapper:
    raw = io.BufferedWriter(io.FileIO(number, "w", closefd=False))
    return io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace", line_buffering=True)


def shadow(folder: str) -> None:
    """Lets the session's own modules stand before those of the library, as they do in Python."""
    names = os.listdir(folder) if os.path.isdir(folder) else []
    for name in {name.removesuffix(".py") for name in names} - NEEDED:
        if name in sys.stdlib_module_names:
            sys.modules.pop(name, None)


def run(asked: dict) -> dict:
    path = asked.get("script")
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    if path:
        name = os.path.abspath(path)
        main.__file__ = name
        with open(path, "rb") as file:
            code = compile(file.read(), name, "exec", dont_inherit=True)
    else:
        code = compiled(asked["source"])
    exec(code, main.__dict__)
    return {"exit": 0}


def compiled(source: str) -> types.CodeType:
    linecache.cache[PROGRAM] = (len(source), None, source.splitlines(keepends=True), PROGRAM)
    return compile(source, PROGRAM, "exec", dont_inherit=True)


def function(asked: dict):
    tool = types.ModuleType("tool")
    sys.modules["tool"] = tool
    exec(compiled(asked["source"]), tool.__dict__)
    found = getattr(tool, asked["function"], None)
    if not inspect.isfunction(found):
        raise greenroom_describe.Refused(f"There is no function named {asked['function']} in the source.")
    if inspect.iscoroutinefunction(found) or inspect.isasyncgenfunction(found):
        raise greenroom_describe.Refused(f"{asked['function']} is asynchronous; there is no event loop here.")
    return found


def describe(asked: dict) -> dict:
    return {"exit": 0, "value": greenroom_describe.describe(function(asked))}


def call(asked: dict) -> dict:
    found = function(asked)
    given = asked.get("keywords", {})
    try:
        inspect.signature(found).bind(**given)
    except TypeError as error:
        raise greenroom_describe.Refused(f"{asked['function']} cannot be called like this: {error}.") from None
    fitting = greenroom_describe.given(found, given)
    return {"exit": 0, "value": greenroom_describe.plain(found(**fitting))}


def exit_status(leave: SystemExit) -> int:
    if leave.code is None or isinstance(leave.code, int):
        return int(leave.code or 0)
    print(leave.code, file=sys.stderr)
    return 1


def explain(error: BaseException) -> str:
    if isinstance(error, greenroom_describe.Refused):
        return str(error)
    try:
        own = error.__traceback__
        while own is not None and own.tb_frame.f_globals.get("__name__", "").startswith("greenroom_"):
            own = own.tb_next
        told = traceback.TracebackException(type(error), error, own, compact=True)
        hint = f"\n{ONLY}" if isinstance(error, ModuleNotFoundError) else ""
        return "".join(told.format()).rstrip("\n") + hint
    except BaseException:
        return type(error).__name__


def finish() -> None:
    try:
        atexit._run_exitfuncs()
    except BaseException:
        traceback.print_exc()
    for stream in {sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__}:
        try:
            stream.flush()
        except BaseException:
            pass  # The program closed or replaced it.
