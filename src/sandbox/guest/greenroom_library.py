"""The standard library, imported when the guest is frozen: what is not imported here is absent later."""

import importlib
import sys

# They need threads, processes, sockets, a terminal or a shared library, or do something when imported.
ABSENT = {
    "antigravity", "asyncio", "bdb", "cProfile", "compileall", "compression", "concurrent", "ctypes", "curses", "dbm",
    "doctest", "ensurepip", "faulthandler", "ftplib", "http", "idlelib", "imaplib", "lib2to3", "mailbox", "msilib",
    "multiprocessing", "nturl2path", "pdb", "pickletools", "poplib", "profile", "profiling", "pstats", "pty", "pydoc",
    "pydoc_data", "smtplib", "socket", "socketserver", "sqlite3", "ssl", "subprocess", "telnetlib", "this", "tkinter",
    "trace", "tty", "turtle", "turtledemo", "venv", "webbrowser", "wsgiref", "xmlrpc", "zipapp",
}

BELOW = [
    "_pylong", "_strptime",
    "collections.abc", "email.message", "email.mime.text", "email.parser", "email.policy", "html.parser",
    "html.entities", "importlib.metadata", "importlib.resources", "importlib.util", "json.decoder", "json.encoder",
    "logging.config", "os.path", "urllib.parse", "xml.dom.minidom", "xml.etree.ElementTree", "xml.sax",
    "xml.sax.saxutils",
    "encodings.ascii", "encodings.base64_codec", "encodings.cp1252", "encodings.cp437", "encodings.hex_codec",
    "encodings.idna", "encodings.iso8859_1", "encodings.iso8859_15", "encodings.latin_1", "encodings.punycode",
    "encodings.raw_unicode_escape", "encodings.rot_13", "encodings.unicode_escape", "encodings.utf_16",
    "encodings.utf_16_be", "encodings.utf_16_le", "encodings.utf_32", "encodings.utf_8", "encodings.utf_8_sig",
    "encodings.zlib_codec",
]


def load() -> None:
    names = {name for name in sys.stdlib_module_names if not name.startswith("_")}
    for name in sorted(names - ABSENT) + BELOW:
        if name not in sys.modules:
            try:
                importlib.import_module(name)
            except ImportError:
                pass  # WASI has no such thing.


load()
