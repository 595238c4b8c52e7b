"""The text of a Slang file for torch_entry_points: its tokens after preprocessing, and the declarations at its top level."""
from __future__ import annotations

import os
import re

from . import _slangpy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

__all__: list[str] = []

_TOKEN = re.compile(
    r'(?P<space>[ \t\r\f\v]+|\\\n)|(?P<newline>\n)|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<string>"(?:\\.|[^"\\\n])*")'
    r"|(?P<number>0[xX][0-9a-fA-F]+[uUlL]*|(?:\d+\.\d*|\.\d+|\d+(?=[eE][-+]?\d|[fFhH]\b|lf\b))(?:[eE][-+]?\d+)?(?:lf|[fFhHlL])?|\d+[uUlL]*)"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<sign><<=|>>=|->|::|\+\+|--|<=|>=|==|!=|&&|\|\||\+=|-=|\*=|/=|%=|&=|\|=|\^=|<<|[-+*/%&|^!~<>=?:;,.()\[\]{}#])"
    r"|(?P<other>.)", re.S)


class SourceError(_slangpy.Error):
    """A host function has something that cannot be run here. The text begins with file and line."""


class Token:
    """A word of the text."""

    __slots__ = ("kind", "text", "path", "line", "starts_line")

    def __init__(self, kind, text, path, line, starts_line):
        self.kind, self.text, self.path, self.line, self.starts_line = kind, text, path, line, starts_line

    def fail(self, text):
        """Returns a SourceError at the token's file and line."""
        return SourceError("{}:{}: {}".format(self.path, self.line, text))


def tokens_of(text: str, path: str) -> list[Token]:
    """Returns the words of a text, without comments. The last one is empty, of kind "end"."""
    made, line, starts = [], 1, True
    for match in _TOKEN.finditer(text):
        kind, word = match.lastgroup or "other", match.group()
        if kind == "newline":
            starts = True
        elif kind not in ("space", "comment"):
            made.append(Token(kind, word, path, line, starts))
            starts = False
        line += word.count("\n")
    made.append(Token("end", "", path, line, True))
    return made


_VISIBILITY = re.compile(r"\b(?:public|internal|private)\b")
_MODULE_LINE = re.compile(r"^[ \t]*module\b[^;]*;", re.M)
_KERNEL = re.compile(r"\[ (?:CudaKernel|CUDAKernel|AutoPyBindCUDA) \]([^;{}]*?) void \w+ \(")


def text_with_hidden_kernels(path: str) -> str | None:
    """Returns the text for a file that hides a kernel from the modules that import it, with everything public in it; None if the file
    hides none. A kernel is hidden if it is not `public` and the file has a `module` line or marks any other declaration."""
    with open(path, encoding="utf-8", errors="replace") as f:
        text = f.read()
    if not (_VISIBILITY.search(text) or _MODULE_LINE.search(text)):
        return None
    kernels = _KERNEL.findall(" ".join(word.text for word in tokens_of(text, path)))
    if all(_VISIBILITY.search(between) for between in kernels):
        return None
    # Without the words and the `module` line Slang makes everything public, also the types of the kernels' parameters. A `public` before
    # the kernel alone would be an error where such a type is not public. The macros do not reach imported files.
    without = _MODULE_LINE.sub(lambda line: "\n" * line.group().count("\n"), text)
    return '#define public\n#define internal\n#define private\n#line 1 "{}"\n{}'.format(path.replace("\\", "/"), without)


class _Preprocessor:
    """Carries out the preprocessor directives of a text. Macros with parameters stay as they are."""

    def __init__(self, macros, folders):
        self.macros = {name: tokens_of(value, "defines")[:-1] for name, value in macros.items()}
        self.folders, self.seen, self.loaded = folders, set(), set()

    def find(self, name, path):
        for folder in [os.path.dirname(path), *self.folders]:
            found = os.path.join(folder, name)
            if os.path.isfile(found):
                return os.path.abspath(found)
        return None

    def find_module(self, name, path):
        """Returns the file of `import name` or `#include "name"`, or None."""
        name = name.strip()
        if name.startswith('"'):
            name = name[1:-1]
        elif not name.endswith(".slang"):
            name = name.replace(".", "/")
        names = [name] if "." in os.path.basename(name) else [name + ".slang", name.replace("_", "-") + ".slang"]
        return next(filter(None, (self.find(n, path) for n in names)), None)

    def read(self, path):
        """Returns the tokens of a file and of its #include files."""
        if path in self.seen:
            return []
        self.seen.add(path)
        with open(path, encoding="utf-8", errors="replace") as f:
            words = tokens_of(f.read(), path)
        out, taken, i = [], [], 0  # taken: for each open #if, whether its text is read, and whether an earlier part was
        while words[i].kind != "end":
            word = words[i]
            if word.text == "#" and word.starts_line:
                end = i + 1
                while not words[end].starts_line:
                    end += 1
                self.directive(words[i + 1:end], taken, out, path)
                i = end
                continue
            if all(now for now, _ in taken):
                out.extend(self.expand(word, ()))
            i += 1
        return out

    def expand(self, word, inside):
        value = self.macros.get(word.text) if word.kind == "name" and word.text not in inside else None
        if value is None:
            return [word]
        made = [Token(v.kind, v.text, word.path, word.line, word.starts_line) for v in value]
        return [w for v in made for w in self.expand(v, (*inside, word.text))]

    def directive(self, words, taken, out, path):
        what, rest = (words[0].text, words[1:]) if words else ("", [])
        if what in ("if", "ifdef", "ifndef"):
            known = bool(rest) and rest[0].text in self.macros
            now = self.holds(rest) if what == "if" else known == (what == "ifdef")
            taken.append((now, now))
        elif what == "elif" and taken:
            now = not taken[-1][1] and self.holds(rest)
            taken[-1] = now, now or taken[-1][1]
        elif what == "else" and taken:
            taken[-1] = not taken[-1][1], True
        elif what == "endif" and taken:
            taken.pop()
        elif all(now for now, _ in taken) and rest:
            if what == "define" and not (len(rest) > 1 and rest[1].text == "("):
                self.macros[rest[0].text] = rest[1:]
            elif what == "undef":
                self.macros.pop(rest[0].text, None)
            elif what == "include" and rest[0].kind == "string":
                found = self.find(rest[0].text[1:-1], path)
                out.extend(self.read(found) if found else [])

    def holds(self, words):
        """Returns whether the expression of an #if is true."""
        text, i = [], 0
        while i < len(words):
            if words[i].text == "defined":
                names = [w for w in words[i + 1:i + 3] if w.kind == "name"][:1]
                bracket = i + 1 < len(words) and words[i + 1].text == "("
                text.append(str(int(bool(names) and names[0].text in self.macros)))
                i += 4 if bracket else 2
                continue
            for word in self.expand(words[i], ()):
                text.append({"&&": " and ", "||": " or ", "!": " not "}.get(word.text) or (
                    "0" if word.kind == "name" else word.text.rstrip("uUlL") if word.kind == "number" else word.text))
            i += 1
        joined = "".join(text)
        if not re.fullmatch(r"[-+*/%<>=!()\s\dxXa-fA-F&|^~]*|(?:[-+*/%<>=!()\s\dxXa-fA-F&|^~]|and|or|not)*", joined):
            return False
        try:
            return bool(eval(joined, {"__builtins__": {}}))  # the text has only numbers and operators
        except Exception:
            return False


class FunctionText:
    """A function of the file: its name, the tokens of its return type, its parameters as (name, tokens of the type), and the tokens of
    its body."""

    def __init__(self, name, attributes, generic, returns, parameters, body, place):
        self.name, self.attributes, self.generic, self.returns = name, attributes, generic, returns
        self.parameters, self.body, self.place = parameters, body, place


def _close(words, i):
    """Returns the index of the bracket that closes the one at `i`."""
    open_, depth = words[i].text, 0
    close = {"(": ")", "[": "]", "{": "}", "<": ">"}[open_]
    while i < len(words):
        text = words[i].text
        depth += (text == open_) - (text == close) - (2 if text == ">>" and close == ">" else 0)
        if depth <= 0:
            return i
        i += 1
    raise words[-1].fail("a '{}' is never closed".format(open_))


_MODIFIERS = set("public private internal export static const inline extern uniform __extern_cpp no_diff in out inout ref borrow "
                 "__exported volatile groupshared row_major column_major precise".split())


_IMPORT = re.compile(r'^\s*(?:__exported\s+)?(?:import|__include|implementing|#\s*include)\s+("[^"\n]+"|[\w.]+)', re.M)


def split_commas(words: Sequence[Token]) -> list[list[Token]]:
    """Splits a list at its outermost commas."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for word in words:
        depth += (word.text in ("(", "[", "{", "<")) - (word.text in (")", "]", "}", ">")) - 2 * (word.text == ">>")
        if word.text == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(word)
    return [p for p in parts if p]


def parse_declarator(words: Sequence[Token]) -> tuple[str, list[Token], list[Token]]:
    """Returns the name, type and default value of a parameter or field: `TorchTensor<T> tensors[3] = ...`."""
    words = [w for w in words if w.text not in _MODIFIERS]
    default: list[Token] = []
    for i, word in enumerate(words):
        if word.text == "=":
            words, default = words[:i], list(words[i + 1:])
            break
        if word.text == ":" and i > 1:  # a semantic follows
            words = words[:i]
            break
    if len(words) > 2 and words[1].text == ":":  # `name : Type`
        return words[0].text, words[2:], default
    end = len(words)
    while end and words[end - 1].text == "]":
        depth, end = 1, end - 1
        while depth and end:
            end -= 1
            depth += (words[end].text == "]") - (words[end].text == "[")
    if end < 2 or words[end - 1].kind != "name":
        return "", list(words), default
    return words[end - 1].text, [*words[:end - 1], *words[end:]], default


class SourceFile:
    """The functions, structs, aliases and constants of a Slang file and of the files that it imports. Imports that are not found are
    left out."""

    def __init__(self, path: str, macros: Mapping[str, str], folders: Sequence[str]) -> None:
        self.path, self.folders, self.macros = os.path.abspath(path), list(folders), macros
        self.files: dict[str, int] = {}  # all files that the text consists of, and the times of their last changes
        self.has_entry_points, self.has_exports, self._parsed = False, False, False
        self._texts: list[str] = []
        self.functions: dict[str, list[FunctionText]] = {}
        self.structs: dict[str, list[tuple[str, list[Token]]]] = {}
        self.aliases: dict[str, list[Token]] = {}
        self.constants: dict[str, tuple[list[Token], list[Token]]] = {}
        self.exports: dict[str, str] = {}  # structs by their names in Python, which [PyExport("name")] gives
        self._find_files(self.path)

    def _find_files(self, path):
        """Fills `files`; of each file only the imports are read."""
        if path in self.files:
            return
        self.files[path] = os.stat(path).st_mtime_ns
        with open(path, encoding="utf-8", errors="replace") as f:
            text = f.read()
        self._texts.append(text)
        self.has_entry_points = self.has_entry_points or "TorchEntryPoint" in text
        self.has_exports = self.has_exports or "PyExport" in text
        reader = _Preprocessor({}, self.folders)
        for name in _IMPORT.findall(text):
            found = reader.find_module(name, path)
            if found:
                self._find_files(found)

    def is_no_kernel(self, name: str) -> bool:
        """Returns whether the functions of this name in the text are no kernels. Reads the words of the text only if the name does not
        follow [CudaKernel] in it."""
        mark = re.compile(r"\[\s*(?:CudaKernel|CUDAKernel)\s*\][^;{}]*?\bvoid\s+" + re.escape(name) + r"\s*\(")
        if any(mark.search(text) for text in self._texts):
            return False
        try:
            self.parse()
        except SourceError:  # a text that Slang understands better
            return False
        found = self.functions.get(name, [])
        return bool(found) and not any({"CudaKernel", "CUDAKernel", "AutoPyBindCUDA"} & set(f.attributes) for f in found)

    def parse(self) -> None:
        """Fills `functions`, `structs`, `aliases`, `constants` and `exports`, once. Raises a SourceError for a text that is not understood."""
        if not self._parsed:
            self._parsed = True
            try:
                self._load(self.path)
            except IndexError:
                raise SourceError("{}:1: the brackets of this file or of one that it imports do not match".format(self.path)) from None

    def _load(self, path, loaded=None):
        loaded = set() if loaded is None else loaded
        if path in loaded:
            return
        loaded.add(path)
        reader = _Preprocessor(self.macros, self.folders)
        reader.loaded = loaded
        words = reader.read(path)
        words.append(Token("end", "", path, words[-1].line if words else 1, True))
        self._scan(words, 0, reader, path)

    def _import(self, words, reader, path):
        found = reader.find_module("".join(w.text for w in words), path)
        if found:
            self._load(found, reader.loaded)

    def _scan(self, words, i, reader, path):
        attributes, exported = [], None
        while words[i].kind != "end" and words[i].text != "}":
            text = words[i].text
            if text == "[":
                end = _close(words, i)
                attributes += [w.text for w in words[i + 1:end] if w.kind == "name"]
                for at in range(i + 1, end - 1):
                    if words[at].text == "PyExport":  # PyExport("name")
                        exported = words[at + 2].text.strip('"')
                i = end + 1
            elif text in ("import", "__include", "implementing", "module"):
                end = self._find(words, i, ";")
                if text != "module":
                    self._import(words[i + 1:end], reader, path)
                i = end + 1
            elif text == "namespace":
                i = self._scan(words, self._find(words, i, "{") + 1, reader, path) + 1
            elif text == "struct":
                if exported:
                    self.exports[exported] = words[i + 1].text
                attributes, exported = [], None
                i = self._struct(words, i)
            elif text in ("typealias", "typedef", "using"):
                i = self._alias(words, i)
            elif text in _MODIFIERS or text == ";":
                i += 1
            elif text in ("interface", "extension", "enum", "class", "cbuffer", "tbuffer", "__generic", "__init", "func", "associatedtype"):
                i = self._skip(words, i)
                attributes = []
            else:
                i = self._declaration(words, i, attributes)
                attributes = []
        return i

    @staticmethod
    def _find(words, i, text):
        while words[i].kind != "end" and words[i].text != text:
            i += 1
        return i

    def _skip(self, words, i):
        while words[i].kind != "end" and words[i].text not in ("{", ";"):
            i += 1
        return _close(words, i) + 1 if words[i].text == "{" else i + 1

    def _struct(self, words, i):
        name, start = words[i + 1].text, self._find(words, i, "{")
        if words[start].kind == "end":
            return start
        end = _close(words, start)
        fields, item, depth = [], [], 0
        for word in words[start + 1:end]:
            depth += (word.text in ("{", "(", "[")) - (word.text in ("}", ")", "]"))
            item.append(word)
            if depth == 0 and word.text in (";", "}"):
                field, type_, _ = parse_declarator([w for w in item[:-1]])
                if word.text == ";" and field and "static" not in [w.text for w in item] and "(" not in [w.text for w in item]:
                    fields.append((field, type_))
                item = []
        self.structs[name] = fields
        return min(end + 1, len(words) - 1)

    def _alias(self, words, i):
        end = self._find(words, i, ";")
        if words[i].text == "typedef":
            self.aliases[words[end - 1].text] = words[i + 1:end - 1]
        elif words[i + 2].text == "=":
            self.aliases[words[i + 1].text] = words[i + 3:end]
        return min(end + 1, len(words) - 1)

    def _declaration(self, words, i, attributes):
        """Reads a function or a constant."""
        start = i
        while words[i].kind != "end" and words[i].text not in ("(", "=", ";", "{"):
            i = _close(words, i) + 1 if words[i].text in ("[", "<") else i + 1
        if words[i].text == "=":
            end = i
            while words[end].kind != "end" and words[end].text != ";":
                end = _close(words, end) + 1 if words[end].text in ("{", "(", "[") else end + 1
            name, type_, _ = parse_declarator(words[start:i])
            self.constants[name] = type_, words[i + 1:end]
            return min(end + 1, len(words) - 1)
        if words[i].text != "(":
            return self._skip(words, i)
        close, name_at = _close(words, i), i - 1
        if words[name_at].text == ">":  # name<T>(...)
            depth = 0
            while name_at > start:
                depth += (words[name_at].text == ">") - (words[name_at].text == "<")
                name_at -= 1
                if depth == 0:
                    break
        end = close + 1
        while words[end].kind != "end" and words[end].text not in ("{", ";"):
            end += 1
        body = None
        if words[end].text == "{":
            last = _close(words, end)
            body, end = words[end + 1:last], last
        if name_at == start:  # the definition of a macro with parameters, which is copied as it is
            return close + 1
        name = words[name_at].text
        parameters = []
        for part in split_commas(words[i + 1:close]):
            ways = [w.text for w in part if w.text in ("out", "inout")]
            p, type_, default = parse_declarator(part)
            parameters.append((p, type_, default, ways[0] if ways else "in"))
        self.functions.setdefault(name, []).append(FunctionText(
            name, set(attributes), words[name_at + 1:i], words[start:name_at], parameters, body, words[name_at]))
        return min(end + 1, len(words) - 1)
