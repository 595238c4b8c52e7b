"""SlangPy's classes for programs: sessions, entry points, kernels, pipelines and shader objects. Each is a thin layer over a Module."""
from __future__ import annotations

import os
import weakref

from . import _slangpy
from .device import _check_options, current_device
from .encoders import _Child
from .enums import CommandQueueType, SlangCompilerOptions, SlangLinkOptions, SlangSessionDesc, _Desc, _IntEnum
from .interop import NativeHandle, _StreamScope
from .reports import _apply_dumps, _report_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from os import PathLike
    from pathlib import Path
    from typing import Any, TypeAlias

    from typing_extensions import Self

    from ._slangpy import (
        DeclReflection, EntryPointLayout, Function, Module, ProgramLayout, ReflectionCursor, Struct, TypeReflection, _ShapeLike, uint3,
    )
    from .device import Device
    from .encoders import CommandEncoder, QueryPool
    from .interop import _StreamLike
    from .reports import CompilationReport
    from .reflection import ShaderStage

    _Conformance: TypeAlias = "TypeConformance | tuple[str, str] | tuple[str, str, int] | str"

__all__ = [
    "SlangSession", "SlangModule", "SlangEntryPoint", "ShaderProgram", "ShaderObject", "ShaderCursor", "ComputeKernel",
    "ComputePipeline", "ComputePassEncoder", "TypeConformance", "SpecializationArg", "SpecializationArgKind", "ComputeKernelDesc", "ComputePipelineDesc",
    "compose_modules",
]

ShaderCursor = _slangpy.ShaderCursor


# >>arguments of the compiler

class TypeConformance:
    """TypeConformance(interface_name="", type_name="", id=-1): says that values of an interface may have a type at run time.
    createDynamicObject() makes a value of the type by the number `id`; types with -1 are numbered from 0. A tuple of two or three items
    serves as well."""

    interface_name: str
    type_name: str
    id: int

    def __init__(self, interface_name: str | tuple[str, str] | tuple[str, str, int] = "", type_name: str = "", id: int = -1) -> None:
        if isinstance(interface_name, tuple):
            interface_name, type_name, *more = interface_name
            id = more[0] if more else -1
        self.interface_name, self.type_name, self.id = interface_name, type_name, id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeConformance) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self):
        return 'TypeConformance(interface_name="{}", type_name="{}", id={})'.format(self.interface_name, self.type_name, self.id)


class SpecializationArgKind(_IntEnum):
    """What a SpecializationArg is: a type or an expression."""

    unknown = 0
    type = 1
    expr = 2


class SpecializationArg:
    """SpecializationArg(kind=SpecializationArgKind.type, value=""): a generic argument as Slang text, for SlangEntryPoint.specialize()."""

    kind: SpecializationArgKind
    value: str

    def __init__(self, kind: SpecializationArgKind = SpecializationArgKind.type, value: str = "") -> None:
        self.kind, self.value = SpecializationArgKind(kind), value

    @staticmethod
    def from_type(type_name: str) -> SpecializationArg:
        """from_type(type_name): returns the argument for a generic type: "float3"."""
        return SpecializationArg(SpecializationArgKind.type, type_name)

    @staticmethod
    def from_expr(expr: str) -> SpecializationArg:
        """from_expr(expr): returns the argument for a generic value: "8"."""
        return SpecializationArg(SpecializationArgKind.expr, expr)

    def __repr__(self):
        return 'SpecializationArg(kind={}, value="{}")'.format(self.kind.name, self.value)


# >>sessions

class _Names:
    """The names of a session's modules from text: the module of each name, while something holds it, and the text that a name stands
    for."""

    def __init__(self):
        # The references have no callbacks, because an exception of a signal handler would be lost in one.
        self._modules = {}
        self.texts = {}

    def __bool__(self):
        return bool(self._modules)

    def find(self, name):
        found = self._modules.get(name)
        return found and found()

    def add(self, name, module):
        if len(self._modules) % 64 == 63:
            self._modules = {n: m for n, m in self._modules.items() if m() is not None}
        self._modules[name] = weakref.ref(module)


_IMPORT = None  # a pattern for the imports in Slang text; compiled when the first text with one is loaded


def _options_of(given):
    return given if isinstance(given, SlangCompilerOptions) else SlangCompilerOptions(given)


class SlangSession:
    """Loads modules with options of its own; see Device.create_slang_session()."""

    def __init__(
            self, device: Device, compiler_options: SlangCompilerOptions | SlangSessionDesc | Mapping[str, Any] | None = None,
            names: Any = None) -> None:
        if isinstance(compiler_options, SlangSessionDesc):
            self._desc = SlangSessionDesc(vars(compiler_options))
        elif isinstance(compiler_options, dict) and compiler_options.keys() & SlangSessionDesc._fields.keys():
            self._desc = SlangSessionDesc(compiler_options)
        else:
            self._desc = SlangSessionDesc(compiler_options=_options_of(compiler_options or {}))
        self._device = device
        self._names = _Names() if names is None else names
        self._options = None
        if compiler_options:
            self.desc.compiler_options = self._options = _check_options(self.desc.compiler_options)
        elif names is not None:
            self.desc.compiler_options = device.desc.compiler_options

    @property
    def device(self) -> Device:
        """The Device whose modules the session loads."""
        return self._device

    @property
    def desc(self) -> SlangSessionDesc:
        """The SlangSessionDesc that the session was made with."""
        return self._desc

    def _keep(self, module, path=None):
        _save_compiled(module)
        module = module._view(SlangModule)
        module._extra.update(session=self, path=path)
        return module

    def load_module(self, module_name: str | PathLike[str], options: Any = None, link: Sequence[Module] | None = None) -> SlangModule:
        """load_module(module_name, options=None, link=None): loads a module by its path, with or without .slang. A relative path is
        searched in the include paths. The name of a module that the session has loaded from text gives that module."""
        name = os.fspath(module_name)
        known = self._names.find(name)
        if known is not None and not options and not link:
            return known
        return self._keep(_slangpy._Device.load_module(self.device, module_name, options or self._options, link or ()))

    def load_module_from_source(
            self, module_name: str, source: str, path: str | PathLike[str] | None = None, options: Any = None,
            link: Sequence[Module] | None = None) -> SlangModule:
        """load_module_from_source(module_name, source, path=None, options=None, link=None): loads a module from Slang text. Later texts
        of the session can import it by its name. Raises a SlangCompileError if the session has loaded another text under this name."""
        if path is not None and not isinstance(path, (str, os.PathLike)):  # options; earlier versions had them as the third argument
            path, options = None, path
        if self._names.texts.get(module_name, source) != source:
            raise _slangpy.SlangCompileError("load_module_from_source: the session has loaded another text as module '{}'; Module.reload() "
                                             "gives a module new text".format(module_name))
        known = None if options or link or path is not None else self._names.find(module_name)
        if known is not None and known._made and known._made[2] == source:  # a module that reload() has given another text is not taken
            return known
        module = _load_text(
            self.device, module_name, source, options or self._options, list(link or ()) + self._imported(module_name, source))
        kept = self._keep(module, path)
        self._names.texts[module_name] = source
        self._names.add(module_name, kept)
        return kept

    def _imported(self, name, source):
        """Returns the modules loaded from text that a text imports by their names."""
        global _IMPORT
        if "import" not in source or not self._names:
            return []
        if _IMPORT is None:
            import re

            _IMPORT = re.compile(r'^\s*(?:__exported\s+)?import\s+(?:"([^"]+)"|([\w.]+))\s*;', re.M)
        names = {quoted or plain for quoted, plain in _IMPORT.findall(source)} - {name}
        found = (self._names.find(n) for n in sorted(names))
        return [module for module in found if module is not None]

    def load_source(self, module_name: str | PathLike[str]) -> str:
        """load_source(module_name): returns the text of a module's file, or the text that the session has loaded under the name."""
        name = os.fspath(module_name)
        if name in self._names.texts:
            return self._names.texts[name]
        with open(self._find(name), encoding="utf-8") as file:
            return file.read()

    def _find(self, name):
        path = name if name.endswith(".slang") else name + ".slang"
        folders = [os.fspath(p) for p in list(self.desc.compiler_options.include_paths) + list(self.device.desc.include_paths or ())]
        for folder in [""] + folders:
            if os.path.exists(os.path.join(folder, path)):
                return os.path.join(folder, path)
        raise _slangpy.SlangCompileError("there is no file '{}', nor in the include paths".format(path))

    def compose_modules(
            self, name: str, modules: Iterable[Module], type_conformances: Sequence[_Conformance] = ()) -> SlangModule:
        """compose_modules(name, modules, type_conformances=()): makes one module of several, with the entry points of all, for
        link_program()."""
        parts = list(modules)
        for module in parts:
            if not isinstance(module, _slangpy.Module):
                raise TypeError("compose_modules: argument 'modules': expected Modules, got {!r}".format(type(module)))
        text = "".join("import \"{}\";\n".format(module.name) for module in _flatten(parts)[0])
        whole = _slangpy.Module.load_from_source(self.device, name, text, self._options, _flatten(parts)[0])
        if type_conformances:  # wrong conformances raise their error here
            whole = whole._load_again(None, (), list(type_conformances))
        composed = whole._view(SlangModule)
        composed._extra.update(session=self, parts=parts, conformances=list(type_conformances))
        return composed

    def link_program(
            self, modules: Iterable[Module], entry_points: Iterable[SlangEntryPoint],
            link_options: SlangLinkOptions | Mapping[str, Any] | None = None) -> ShaderProgram:
        """link_program(modules, entry_points, link_options=None): makes a ShaderProgram of modules and entry points. What one module
        declares extern, another one may export."""
        return ShaderProgram(modules, entry_points, link_options)

    def load_program(
            self, module_name: str | PathLike[str], entry_point_names: Sequence[str], additional_source: str | None = None,
            link_options: SlangLinkOptions | Mapping[str, Any] | None = None) -> ShaderProgram:
        """load_program(module_name, entry_point_names, additional_source=None, link_options=None): loads a module and makes a
        ShaderProgram of it and some of its entry points. `additional_source` is Slang text of a further module, which may export what the
        first one declares extern, and may have entry points."""
        if isinstance(entry_point_names, str):
            raise TypeError("load_program: argument 'entry_point_names': expected a list of str, got 'str'")
        modules = [self.load_module(module_name)]
        if additional_source:
            modules.append(self._additional(modules[0], additional_source))
        entries = [next((m for m in modules if _has_function(m, name)), modules[0]).entry_point(name) for name in entry_point_names]
        return ShaderProgram(modules, entries, link_options)

    def _additional(self, module, source):
        """Loads the additional source of a program as a module of its own. Text that uses names of the first module without an import
        of it is loaded together with an import."""
        import zlib

        name = "{}_additional_{:08x}".format(module.name, zlib.crc32(source.encode()))
        path = module.path
        options = dict(vars(self._options)) if self._options else {}
        options["include_paths"] = [os.path.dirname(path) or "."] + list(options.get("include_paths", ()))
        links = self._imported(name, source)

        def load(text):
            return _slangpy.Module.load_from_source(self.device, name, text, options, links + [module])._view(SlangModule)

        try:
            return load(source)
        except _slangpy.SlangCompileError as error:
            try:
                return load("import \"{}\";\n#line 1\n{}".format(module.name, source))
            except _slangpy.SlangCompileError:
                raise error from None


def _has_function(module, name):
    return module.find_function(name) is not None


# >>modules

def _flatten(modules):
    """Returns the modules that are not compositions, each once, and the type conformances of the compositions."""
    found, conformances = {}, []
    for module in modules:
        parts = module._extra.get("parts")
        if parts is None:
            found.setdefault(module._number, module)
            continue
        conformances += module._extra["conformances"]
        inner, more = _flatten(parts)
        conformances += more
        for part in inner:
            found.setdefault(part._number, part)
    return list(found.values()), conformances


class SlangModule(_slangpy.Module):
    """A module that a SlangSession has loaded or composed; see Device.load_module(). Like each Module, it has its functions and types as
    attributes."""

    __slots__ = ()
    _plain_reflection = True  # the C extension looks for this attribute

    @property
    def path(self) -> Path:
        """The module's file, as an absolute path; for a module from text, the path that was given with the text, or the module's name."""
        from pathlib import Path

        made = self._made
        if self._extra.get("path") or not made or made[0] is None:
            return Path(self._extra.get("path") or self.name)
        try:
            return Path(os.path.abspath(self.session._find(os.fsdecode(made[0]))))
        except _slangpy.SlangCompileError:  # the file is gone, or was found in include paths of the module's own options
            return Path(os.fsdecode(made[0]))

    @property
    def is_composed(self) -> bool:
        """Whether the module was composed of others."""
        return "parts" in self._extra or "whole" in self._extra

    @property
    def source_modules(self) -> list[SlangModule]:
        """The modules that the module was composed of, as a list; empty for a plain module."""
        whole = self._extra.get("whole")
        if whole is None:
            return list(self._extra.get("parts", ()))
        own = _slangpy.Module.load_from_source(self.device, "slangpy_own", "import slangpy;")._view(SlangModule)
        return [own, _plain(self), *whole]

    @property
    def module_decl(self) -> DeclReflection:
        """The root of the module's declarations. Raises an error for a composed module, which has none."""
        if self.is_composed:
            raise _slangpy.Error("SlangModule.module_decl: '{}' is composed of modules; ask one of source_modules".format(self.name))
        return self.layout.module_decl


def _plain(module):
    """Returns the SlangModule of a Module's own code, without the modules that are linked to it."""
    plain = module._view(SlangModule)
    for key in ("parts", "whole", "device module"):
        plain._extra.pop(key, None)
    return plain


class SlangEntryPoint:
    """A function of a module that can be dispatched; see Module.entry_point()."""

    module: Module
    function: Function

    def __init__(self, module: Module, function: Function, name: str | None = None, type_conformances: Sequence[_Conformance] = ()) -> None:
        self.module = module
        self.function = function
        self._name: str = name or function.name
        self._conformances = list(type_conformances)
        if self._conformances:
            self.function = function.type_conformances(self._conformances)

    @property
    def name(self) -> str:
        """The entry point's name: the function's, or the one that rename() gave it."""
        return self._name

    def _in(self, module):
        """Returns the same entry point of another module with the same code."""
        return SlangEntryPoint(module, module.require_function(self.function.name), self.name, self._conformances)

    @property
    def stage(self) -> ShaderStage:
        """The function's ShaderStage; ShaderStage.none for a function without a stage."""
        from .reflection import ShaderStage

        return self.layout.stage if self.layout else ShaderStage.none

    @property
    def layout(self) -> EntryPointLayout | None:
        """The function's EntryPointLayout; None for a function without a stage."""
        plain = self.function.name.split("<")[0]
        found = next((e for e in self.module.layout.entry_points if e.name == plain), None)
        return found if found is None or self._name.split("<")[0] == plain else found._named(self._name)

    def with_name(self, new_name: str) -> SlangEntryPoint:
        """with_name(new_name): returns the same entry point under another name."""
        renamed = SlangEntryPoint(self.module, self.function, new_name)
        renamed._conformances = self._conformances
        return renamed

    def rename(self, new_name: str) -> SlangEntryPoint:
        """rename(new_name): does the same as with_name()."""
        return self.with_name(new_name)

    def specialize(self, specialization_args: Iterable[SpecializationArg | str | int | Struct | TypeReflection]) -> SlangEntryPoint:
        """specialize(specialization_args): returns a generic entry point with its generic arguments: SpecializationArgs, types, their
        names, or numbers; without arguments the entry point as it is. Raises a RuntimeError for an unknown type."""
        specialization_args = list(specialization_args)
        if not specialization_args:
            return self
        arguments = ", ".join(str(getattr(a, "value", getattr(a, "name", a))) for a in specialization_args)
        full = "{}<{}>".format(self.function.name.split("<")[0], arguments)
        function = _slangpy.Module.find_function(self.module, full)
        if function is None:
            raise _slangpy.ArgumentValueError("specialize: module '{}' has no function '{}'".format(self.module.name, full))
        return SlangEntryPoint(self.module, function, self.name, self._conformances)

    def __repr__(self):
        return "<slangpy.SlangEntryPoint {} of module {}>".format(self.name, self.module.name)


def _check_conformances(module, conformances):
    """Raises an error for a type that the module does not know, and for a pair or a number that is given twice."""
    pairs, ids = set(), set()
    for given in conformances:
        if isinstance(given, str):
            continue
        c = TypeConformance(given) if isinstance(given, tuple) else given
        for name in (c.interface_name, c.type_name):
            if module.layout.find_type_by_name(name) is None:
                raise _slangpy.ArgumentValueError("entry_point: argument 'type_conformances': module '{}' knows no type '{}'".format(module.name, name))
        if (c.interface_name, c.type_name) in pairs or (c.interface_name, c.id) in ids:
            raise _slangpy.ArgumentValueError("entry_point: argument 'type_conformances': {} is there twice".format(
                "{} : {}".format(c.type_name, c.interface_name) if (c.interface_name, c.type_name) in pairs else "the id {}".format(c.id)))
        pairs.add((c.interface_name, c.type_name))
        if c.id >= 0:
            ids.add((c.interface_name, c.id))


def _entry_point(self, name, type_conformances=()):
    """entry_point(name, type_conformances=()): returns a function of the module as a SlangEntryPoint; raises an error if the module has none of that name."""
    parts = self._extra.get("parts")
    for module in [self] if parts is None else parts:
        if parts is not None and not _has_function(module, name):
            continue
        try:
            function = module.require_function(name)
        except ValueError as error:
            raise _slangpy.ArgumentValueError(str(error)) from None
        _check_conformances(module, type_conformances)
        return SlangEntryPoint(module, function, name, type_conformances)
    raise _slangpy.ArgumentValueError("Module '{}' has no function or type named '{}'".format(self.name, name))


def _entry_points(self):
    """The module's functions that have a stage, such as [shader("compute")], as a list of SlangEntryPoint."""
    parts = self._extra.get("parts")
    if parts is not None:
        return [entry for module in parts for entry in module.entry_points]
    return [SlangEntryPoint(self, self.require_function(e.name), e.name) for e in self.layout.entry_points]


def _session(self):
    """The SlangSession that loaded the module; the device's own one for Module.load_from_file() and load_from_source()."""
    return self._extra.get("session") or self.device.slang_session


def _device_module(self):
    """A SlangModule that is composed of slangpy's own modules, this module, and those that it is linked with."""
    found = self._extra.get("device module")
    if found is None:
        found = _plain(self)
        found._extra["whole"] = self.link
        self._extra["device module"] = found
    return found


def _link(self):
    """The modules that are linked to this one, as a list of SlangModules."""
    made = self._made
    return [m if isinstance(m, SlangModule) else _plain(m) for m in (made[4] if made else ())]


def _get_logger(self):
    """The Logger for messages about how the module's functions are built, or None."""
    return self._extra.get("logger")


def _import_name(name):
    """Returns the identifier by which Slang imports a module of this name."""
    text = "".join(chr(c) if chr(c).isalnum() and c < 128 else "_" for c in name.encode())
    return "_" + text if text[:1].isdigit() else text


def _set_logger(self, logger):
    if logger is not None and not callable(getattr(logger, "log", None)):
        raise TypeError("Module.logger: expected a Logger or None, got {!r}".format(type(logger)))
    self._extra["logger"] = logger
    loggers, name = self.device._steps.loggers, _import_name(self.name)
    if logger is None:
        loggers.pop(name, None)
    else:
        loggers[name] = logger
    _apply_dumps([self.device])


def _save_compiled(module):
    """Writes the module as NAME.slang-module to the device's module_cache_path, if it has one. An existing file stays, unless the
    module's own file is newer. The library's own cache lies in the same folder (docs/cache.md)."""
    folder = module.device.desc.module_cache_path
    if not folder:
        return
    path = os.path.join(os.fspath(folder), module.name + ".slang-module")
    source = module._made[0] if module._made else None
    if os.path.exists(path) and not (source and os.path.exists(source) and os.path.getmtime(source) > os.path.getmtime(path)):
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        module.save(path)
    except _slangpy.Error as error:  # the module itself is loaded, so the failure is only a warning
        import warnings

        warnings.warn("module_cache_path: {}".format(error), stacklevel=3)


_load_text = _slangpy.Module.load_from_source
_load_file = _slangpy.Module.load_from_file


def _load_from_file(device, path, options=None, link=[]):
    """load_from_file(device, path, options={}, link=[]): load a .slang or .slang-module file; a name without extension is a .slang file.
    `options`: strict_broadcasting, defines, include_paths, optimization ..."""
    module = _load_file(device, path, options, link)
    _save_compiled(module)
    return module


def _load_from_source(device, name, source, options=None, link=[]):
    """load_from_source(device, name, source, options={}, link=[]): load Slang text. It can import modules that the device has loaded from
    text by their names."""
    if isinstance(device, _slangpy._Device) and isinstance(source, str) and not device.is_closed:
        session = device.slang_session
        imported = session._imported(name, source)
        module = _load_text(device, name, source, options, list(link or ()) + imported if imported else link)
        session._names.add(name, module)
        _save_compiled(module)
        return module
    return _load_text(device, name, source, options, link)


def _get_options(module):
    """The options that the module was loaded with, as a dict."""
    made = module._made
    return dict(made[3] or {}) if made else {}


_load_from_file.__doc__ = _load_file.__doc__
_slangpy.Module.load_from_source = staticmethod(_load_from_source)  # type: ignore[method-assign, assignment]
_slangpy.Module.load_from_file = staticmethod(_load_from_file)  # type: ignore[method-assign, assignment]

# The C module's stub declares these attributes for type checkers.
_slangpy.Module.entry_point = _entry_point  # type: ignore[method-assign]
_slangpy.Module.entry_points = property(_entry_points)  # type: ignore[method-assign, assignment]
_slangpy.Module.session = property(_session)  # type: ignore[method-assign, assignment]
_slangpy.Module.device_module = property(_device_module)  # type: ignore[method-assign, assignment]
_slangpy.Module.logger = property(_get_logger, _set_logger)  # type: ignore[method-assign, assignment]
_slangpy.Module.link = property(_link)  # type: ignore[method-assign, assignment]
_slangpy.Module.options = property(_get_options)  # type: ignore[attr-defined]


def _function_missing(self, name):
    from .absent import missing

    raise missing("Function", name)


def _root(self):
    """The function without what map(), set(), bind() and the like have added."""
    owner = self.full_name[: -len(self.name) - 1]
    return self.module.find_function("{}::{}".format(owner, self.name) if owner else self.name)


_slangpy.Function.root = property(_root)  # type: ignore[attr-defined]
_slangpy.Function.slangpy_signature = property(lambda self: self.full_name, doc="A text that is the same for the same function.")  # type: ignore[attr-defined]
_slangpy.Function.__getattr__ = _function_missing  # type: ignore[attr-defined]


def compose_modules(name: str, modules: Iterable[Module], type_conformances: Sequence[_Conformance] = ()) -> SlangModule:
    """compose_modules(name, modules, type_conformances=()): Device.compose_modules() of the current device."""
    return current_device().compose_modules(name, modules, type_conformances)


# >>programs

def _changed(module, link_options):
    """Returns a module's options with the options of a SlangLinkOptions, or None if these are all None."""
    link = SlangLinkOptions(link_options if isinstance(link_options, dict) else vars(link_options))
    given = {name: value for name, value in vars(link).items() if value is not None}
    if not given:
        return None
    made = module._made
    options = made[3] if made else None
    base = {} if options is None else dict(options if isinstance(options, dict) else vars(options))
    inner = base.pop("compiler_options", None)
    if inner is not None:
        base.update(inner if isinstance(inner, dict) else vars(inner))
    return dict(base, **given)


class ShaderProgram(_Child):
    """Modules and entry points that are linked with each other, from which kernels and pipelines are made."""

    modules: list[Module]
    entry_points: list[SlangEntryPoint]
    _layout: ProgramLayout | None = None

    def __init__(
            self, modules: Iterable[Module], entry_points: Iterable[SlangEntryPoint],
            link_options: SlangLinkOptions | Mapping[str, Any] | None = None) -> None:
        self.modules, entries = list(modules), list(entry_points)
        for module in self.modules:
            if not isinstance(module, _slangpy.Module):
                raise TypeError("link_program: argument 'modules': expected Modules, got {!r}".format(type(module)))
        for entry in entries:
            if not isinstance(entry, SlangEntryPoint):
                raise TypeError("link_program: argument 'entry_points': expected SlangEntryPoints, got {!r}".format(type(entry)))
        parts, conformances = _flatten([*self.modules, *(entry.module for entry in entries)])
        linked: dict[int, Module] = {}  # linked modules by the number of the module whose code they have
        for entry in entries:
            owner = entry.module
            linked_already = {m._number for m in owner._made[4]} | {owner._number}
            others = [m for m in parts if m._number not in linked_already]
            options = _changed(owner, link_options) if link_options else None
            if owner._number not in linked and (others or conformances or options):
                linked[owner._number] = owner._load_again(options, others, conformances)
        self.entry_points = [e._in(linked[e.module._number]) if e.module._number in linked else e for e in entries]

    @property
    def device(self) -> Device:
        """The Device of the program."""
        return (self.entry_points[0].module if self.entry_points else self.modules[0]).device

    @property
    def layout(self) -> ProgramLayout:
        """The reflection of the program, or of the first entry point's module, as a ProgramLayout."""
        if self._layout is None or not self._layout.is_valid:
            whole = self.entry_points[0].module if self.entry_points else self.modules[0]
            layouts = [e.layout for e in self.entry_points]
            self._layout = whole.layout._of_entry_points([layout for layout in layouts if layout is not None])
        return self._layout

    def get_compilation_report(self) -> CompilationReport:
        """get_compilation_report(): returns the CompilationReport of the program's entry points, a dict. Its times and lists are those of the
        kernels that were built while Device.enable_compilation_reports was True."""
        return _report_of(self.device._steps.get(None), [e.function.name.split("<")[0] for e in self.entry_points])

    @property
    def reflection(self) -> ReflectionCursor:
        """A ReflectionCursor at the program: its globals and entry points, and their parameters, by attribute, [name], or find_field()."""
        return _slangpy.ReflectionCursor(self)

    def _reflected_parts(self):
        parts = {}
        for module in self.modules:
            for parameter in module.layout.parameters:
                parts.setdefault(parameter.name, parameter)
        for entry in self.entry_points:
            parts[entry.name] = entry.layout or entry.function.reflection
        return self.modules[0], parts

    def _only(self, where):
        if not isinstance(self, ShaderProgram):
            raise TypeError("{}: argument 'program': expected a ShaderProgram, got {!r}".format(where, type(self)))
        if len(self.entry_points) != 1:
            raise _slangpy.ArgumentValueError("{}: argument 'program': expected one entry point, got {}".format(where, len(self.entry_points)))
        return self.entry_points[0]

    def __repr__(self):
        return "<slangpy.ShaderProgram {}>".format(", ".join(e.name for e in self.entry_points))


class ComputeKernelDesc(_Desc):
    """All arguments of Device.create_compute_kernel() as one value."""

    program: ShaderProgram | None = None


class ComputePipelineDesc(_Desc):
    """All arguments of Device.create_compute_pipeline() as one value."""

    program: ShaderProgram | None = None
    label: str | None = None


def _dispatch(function, threads, variables, encoder, parameters, indirect=False):
    """Runs an entry point. Parameters of plain data that are not given are zero, and so are globals."""
    return (function.dispatch_indirect if indirect else function.dispatch)(threads, vars=variables, command_encoder=encoder, **parameters)


def _add_missing(function, missing, parameters):
    """Function.dispatch() calls this with the names of what it lacks: a parameter, or globals. Adds zero, or an empty resource, for the
    parameter to `parameters`, or for the globals to the function, and returns the function; returns None where there is no such value."""
    types = {p.name: p.type for p in function.reflection.parameters if p.name not in parameters}
    of_parameters = missing[0] in types
    if not of_parameters:
        types = {p.name: p.type_layout.type for p in function.module.layout.parameters}
    if not all(name in types for name in missing):
        return None
    values = {name: _zero_of(types[name], function, name) for name in missing}
    if None in values.values():
        return None
    if not of_parameters:
        return function.set(values)
    parameters.update(values)
    return function


def _vector_class(type):
    """Returns the class of a vector type's values, such as float3, or None."""
    return getattr(_slangpy, "{}{}".format(type.element_type.name, type.col_count), None) if type.kind.name == "vector" else None


def _is_plain(type):
    """Returns whether a type holds numbers only, and so neither pointers nor buffers or textures."""
    kind = type.kind.name
    if kind == "struct":
        return type.field_count == len(type.fields) and all(_is_plain(field.type) for field in type.fields.values())
    return kind in ("scalar", "vector", "matrix", "enum") or kind == "array" and _is_plain(type.element_type)


def _zero_of(type, function, name):
    """Returns zero for a type that is a number, vector or struct of numbers, and an empty resource for the type of one that kernels only read:
    a buffer of zeros, a texture of one texel that is 0, or a sampler. Returns None for other types."""
    kind = type.kind.name
    if kind in ("resource", "sampler_state"):
        value = _empty_resource(type, function.module.device)
        if value is not None:
            from .logger import log_warn_once

            log_warn_once("{}.dispatch: '{}' is not given, or None: the kernel gets an empty {}".format(function.name, name, type.full_name))
        return value
    made = {"struct": dict, "vector": _vector_class(type), "scalar": bool if type.name == "bool" else int}.get(kind)
    return made() if made and _is_plain(type) else None


def _empty_resource(type, device):
    """Returns a buffer, texture or sampler that stands for one that a script did not give, or None for one that kernels write: what they write
    would be lost, and on CUDA nothing would keep it within the buffer. The device keeps the resource for the next time."""
    from .buffers import BufferUsage, Format
    from .textures import TextureType, TextureUsage

    made = device.__dict__.setdefault("_empty_resources", {})
    if type.full_name in made:
        return made[type.full_name]
    if type.kind.name == "resource" and type.resource_access.name != "read":
        return None
    shape, value = type.resource_shape.name, None
    if type.kind.name == "sampler_state":
        value = device.create_sampler()
    elif shape in ("structured_buffer", "byte_address_buffer"):
        size = type.module.layout.get_type_layout(type).element_type_layout.stride if shape == "structured_buffer" else 4
        value = device.create_buffer(data=bytes(max(256 // size, 1) * size), usage=BufferUsage.shader_resource)
    elif shape.startswith("texture_") and "_ms" not in shape and hasattr(TextureType, shape):
        texel = type.resource_result_type
        channels = {1: "r", 2: "rg"}.get(texel.element_count if texel.kind.name == "vector" else 1, "rgba")
        number = {"int32": "sint", "uint32": "uint"}.get(texel.scalar_type.name, "float")
        value = device.create_texture(
            type=getattr(TextureType, shape), format=getattr(Format, channels + "32_" + number), width=1, height=1, usage=TextureUsage.shader_resource)
        encoder = device.create_command_encoder()
        {"float": encoder.clear_texture_float, "sint": encoder.clear_texture_sint, "uint": encoder.clear_texture_uint}[number](value)
        device.submit_command_buffer(encoder.finish())
    if value is not None:
        made[type.full_name] = value
    return value


class ComputeKernel(_Child):
    """A program with one entry point, which dispatch() runs; see Device.create_compute_kernel()."""

    device: Device
    program: ShaderProgram

    def __init__(self, device: Device, program: ShaderProgram) -> None:
        entry = ShaderProgram._only(program, "create_compute_kernel")
        if entry.module.device is not device:
            raise _slangpy.ArgumentValueError("create_compute_kernel: argument 'program': it belongs to another device")
        self.device, self.program, self._function = device, program, entry.function

    @property
    def reflection(self) -> ReflectionCursor:
        """The program's ReflectionCursor; see ShaderProgram.reflection."""
        return self.program.reflection

    @property
    def pipeline(self) -> ComputePipeline:
        """The ComputePipeline of the program."""
        return ComputePipeline(self.device, self.program)

    def dispatch(
            self, thread_count: _ShapeLike, vars: Mapping[str, Any] | None = None, command_encoder: CommandEncoder | None = None,
            queue: CommandQueueType = CommandQueueType.graphics, cuda_stream: _StreamLike | None = None,
            query_pool: QueryPool | None = None, query_index_before: int = 0, query_index_after: int = 0, **kwargs: Any) -> None:
        """dispatch(thread_count, vars=None, command_encoder=None, queue=CommandQueueType.graphics, cuda_stream=None, query_pool=None,
        query_index_before=0, query_index_after=0, **kwargs): runs the kernel in at least [x, y, z] threads, rounded up to groups. `vars`
        has global shader parameters by name or path. `kwargs` is the entry point's parameters. With a command encoder the dispatch is
        recorded. With a QueryPool the GPU times before and after it are written at the two indices. `cuda_stream` is the CUDA stream
        that it runs on, given as in Function.cuda_stream()."""
        encoder = command_encoder
        if encoder is None and query_pool is not None:
            encoder = self.device.create_command_encoder()
        if encoder is not None and query_pool is not None:
            encoder.write_timestamp(query_pool, query_index_before)
        with _StreamScope(self.device, cuda_stream, "ComputeKernel.dispatch"):
            _dispatch(self._function, thread_count, vars, encoder, kwargs)
            if encoder is not None and query_pool is not None:
                encoder.write_timestamp(query_pool, query_index_after)
                if command_encoder is None:
                    self.device.submit_command_buffer(encoder.finish())

    def __repr__(self):
        return "<slangpy.ComputeKernel {}>".format(self.program.entry_points[0].name)


class ComputePipeline(_Child):
    """A program with one entry point, for ComputePassEncoder.bind_pipeline()."""

    device: Device
    program: ShaderProgram
    label: str | None
    entry_point: SlangEntryPoint

    def __init__(self, device: Device, program: ShaderProgram, label: str | None = None) -> None:
        self.entry_point = ShaderProgram._only(program, "create_compute_pipeline")
        if self.entry_point.module.device is not device:
            raise _slangpy.ArgumentValueError("create_compute_pipeline: argument 'program': it belongs to another device")
        self.device, self.program, self.label = device, program, label

    @property
    def thread_group_size(self) -> uint3:
        """The threads of a group as a uint3, from [numthreads]; (64, 1, 1) for a function without a stage."""
        layout = self.entry_point.layout
        return layout.compute_thread_group_size if layout else _slangpy.uint3(64, 1, 1)

    @property
    def native_handle(self) -> NativeHandle:
        """A NativeHandle of type undefined: a pipeline is compiled at its first dispatch, and for the types of its arguments."""
        return NativeHandle()

    def __repr__(self):
        return "<slangpy.ComputePipeline {}>".format(self.entry_point.name)


class ShaderObject:
    """Values for a program's parameters. ShaderCursor(object) sets them: a global by its name, and a parameter of an entry point by
    the path entry_point.parameter."""

    program: ShaderProgram
    values: dict[str, Any]

    def __init__(self, program: ShaderProgram) -> None:
        if not isinstance(program, ShaderProgram):
            raise TypeError("create_root_shader_object: argument 'program': expected a ShaderProgram, got {!r}".format(type(program)))
        self.program = program
        self.values = {}

    def _split(self, *entries):
        """Returns two dicts: the globals, and the parameters of the entry points. Paths into parameters become nested dicts."""
        variables, all_own = {}, [{} for _ in entries]
        for path, value in self.values.items():
            entry = path.partition(".")[0]
            if entry not in entries:
                variables[path] = value
                continue
            own = all_own[entries.index(entry)]
            if path == entry:
                own.update(value)
                continue
            *outer, last = path.split(".")[1:]
            place = own
            for name in outer:
                place = place.setdefault(name, {})
            place[last] = value
        own = all_own[0]
        for entry, more in zip(entries[1:], all_own[1:]):
            for name, value in more.items():
                if name in own and own[name] is not value and not _same(own[name], value):
                    raise NotImplementedError("ShaderObject: the entry points {} have parameters named '{}' with different values: this version "
                                              "gives both one value; other names make them two".format(" and ".join(entries), name))
                own[name] = value
        return variables, own


def _same(a, b):
    """Returns whether two values are known to be equal."""
    try:
        return bool(a == b)
    except Exception:  # arrays have no truth value
        return False


class _Pass:
    """The base class of the encoders of passes."""

    def __init__(self, encoder: CommandEncoder) -> None:
        self._encoder: CommandEncoder | None = encoder

    def _check(self, where):
        if self._encoder is None:
            raise _slangpy.Error("{}.{}: the pass has ended".format(type(self).__name__, where))
        return self._encoder

    def push_debug_group(self, name: str, color: Any = None) -> None:
        """push_debug_group(name, color=None): begins a named group of operations, for debug tools."""
        self._check("push_debug_group").push_debug_group(name)

    def pop_debug_group(self) -> None:
        """pop_debug_group(): ends the newest group."""
        self._check("pop_debug_group").pop_debug_group()

    def insert_debug_marker(self, name: str, color: Any = None) -> None:
        """insert_debug_marker(name, color=None): records a name at this point, for debug tools."""
        self._check("insert_debug_marker").insert_debug_marker(name)

    def write_timestamp(self, query_pool: QueryPool, index: int) -> None:
        """write_timestamp(query_pool, index): does the same as CommandEncoder.write_timestamp()."""
        self._check("write_timestamp").write_timestamp(query_pool, index)

    def end(self) -> None:
        """end(): ends the pass."""
        self._check("end")
        self._encoder = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._encoder is not None:
            self.end()


class ComputePassEncoder(_Pass):
    """Records dispatches of pipelines; see CommandEncoder.begin_compute_pass()."""

    def __init__(self, encoder: CommandEncoder) -> None:
        super().__init__(encoder)
        self._pipeline: ComputePipeline | None = None
        self._object: ShaderObject | None = None

    def bind_pipeline(self, pipeline: ComputePipeline, root_object: ShaderObject | None = None) -> ShaderObject:
        """bind_pipeline(pipeline, root_object=None): sets the pipeline that dispatch() runs. Returns the ShaderObject of its parameters,
        which is `root_object` if given."""
        self._check("bind_pipeline")
        if not isinstance(pipeline, ComputePipeline):
            raise TypeError("bind_pipeline: argument 'pipeline': expected a ComputePipeline, got {!r}".format(type(pipeline)))
        if root_object is not None and not isinstance(root_object, ShaderObject):
            raise TypeError("bind_pipeline: argument 'root_object': expected a ShaderObject, got {!r}".format(type(root_object)))
        values = root_object or ShaderObject(pipeline.program)
        self._pipeline, self._object = pipeline, values
        return values

    def dispatch(self, thread_count: _ShapeLike) -> None:
        """dispatch(thread_count): records a dispatch of at least [x, y, z] threads with the parameters' current values."""
        self._check("dispatch")
        if self._pipeline is None or self._object is None:
            raise _slangpy.Error("ComputePassEncoder.dispatch: no pipeline is bound; see bind_pipeline()")
        entry = self._pipeline.entry_point
        variables, own = self._object._split(entry.name)
        _dispatch(entry.function, thread_count, variables, self._encoder, own)

    def dispatch_compute(self, thread_group_count: _ShapeLike) -> None:
        """dispatch_compute(thread_group_count): records a dispatch of [x, y, z] thread groups."""
        self._check("dispatch_compute")
        if self._pipeline is None:
            raise _slangpy.Error("ComputePassEncoder.dispatch_compute: no pipeline is bound; see bind_pipeline()")
        given: Any = thread_group_count
        groups = [given] if isinstance(given, int) else list(given)
        groups += [1] * (3 - len(groups))
        self.dispatch([g * s for g, s in zip(groups, self._pipeline.thread_group_size)])

    def dispatch_compute_indirect(self, arg_buffer: Any) -> None:
        """dispatch_compute_indirect(arg_buffer): records a dispatch whose numbers of thread groups are three uints in a buffer.
        `arg_buffer` is a BufferOffsetPair, a dict of its fields, or a Buffer."""
        self._check("dispatch_compute_indirect")
        if self._pipeline is None or self._object is None:
            raise _slangpy.Error("ComputePassEncoder.dispatch_compute_indirect: no pipeline is bound; see bind_pipeline()")
        given = arg_buffer if isinstance(arg_buffer, dict) else vars(arg_buffer) if not isinstance(arg_buffer, _slangpy.Tensor) else {}
        buffer, offset = given.get("buffer", arg_buffer), given.get("offset", 0)
        count = _slangpy.Tensor(buffer.view((buffer.size,), dtype="uint8_t")[offset:offset + 12], "uint", (3,))
        entry = self._pipeline.entry_point
        function: Any = entry.function
        variables, own = self._object._split(entry.name)
        _dispatch(function, count, variables, self._encoder, own, True)
