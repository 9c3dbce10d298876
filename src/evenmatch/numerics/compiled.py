"""How kernels are compiled: by numba, once, when their module is imported, without the interpreter's lock.

A kernel that is called from Python says the types it takes, so that importing its module is all the warming it needs:
compiled code is read from a cache beside the source, or made and put there (`evenmatch.warming` makes all of it).
Kernels that are called from kernels only need no types.

Arrays are named by what they hold: `INTS` is int64[:], `INTS2` int64[:, :], all contiguous and promised not to be
written to, so that the frozen columns of a snapshot may be passed as they are; `OUT_INTS` and the like are written to.

A module's cache is a folder named by a digest of its source and of all that it imports from here. numba itself looks
only at the file of the function that is called, so after a change of a kernel in another file it would go on using old
code of its callers. In it is a folder for each kind of machine, so that what is missing can be told without reading it.

A cache that is whole is read wherever it is, also where nothing can be written: an installation belongs to root, or is
an image that is mounted to be read only. numba by itself takes a folder only if it can write there. Where code has to
be made and can be kept nowhere, it is kept in memory: failing to save it is no failure.

No kernel uses numba's own threads: its default threading layer aborts the process when two threads call it at once.
Work is split in Python instead (`threads`).
"""

import contextlib
import re
import sys
from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, Self, TypeVar, cast

import numba
from numba import types
from numba.core import codegen
from numba.core.caching import CompileResultCacheImpl, FunctionCache

F = TypeVar("F", bound=Callable[..., Any])

_HERE: Final = Path(__file__).parent
FOLDER: Final = "kernels-"
"""How the names of cache folders begin."""
TYPED: Final = re.compile(r"^@kernel\((?!\))[^@]*?^def (\w+)", re.MULTILINE)
"""A kernel that is compiled when its module is imported, and its name."""
_IMPORTED: Final = re.compile(
    r"^\s*from (?:(?:evenmatch\.numerics)?\.(\w+) import|(?:\.|evenmatch\.numerics) import ([\w, ]+))", re.MULTILINE
)


def sources_of(module: str) -> list[Path]:
    """The file of a module of this room, and those of all it imports from here, directly or not; sorted."""
    found: dict[str, str] = {}
    wanted = [module]
    while wanted:
        name = wanted.pop()
        if name not in found and (_HERE / f"{name}.py").exists():
            found[name] = (_HERE / f"{name}.py").read_text("utf-8")
            wanted += [each for names in _IMPORTED.findall(found[name]) for each in re.findall(r"\w+", " ".join(names))]
    return [_HERE / f"{name}.py" for name in sorted(found)]


@cache
def machine() -> str:
    """What compiled code is for: a Python, a numba and a processor, in the words that numba goes by."""
    untyped: Any = codegen
    name, features = (vars(numba.config)[each] for each in ("CPU_NAME", "CPU_FEATURES"))
    words = (
        untyped.ll.get_process_triple(),
        untyped.ll.get_host_cpu_name() if name is None else name,
        untyped.get_host_cpu_features() if features is None else features,
    )
    digest = blake2b("\0".join(words).encode(), digest_size=4).hexdigest()
    return f"py{sys.version_info.major}{sys.version_info.minor}-numba{numba.__version__}-{digest}"


def made_in(folder: Path, module: str) -> bool:
    """Is all compiled code of a module, for a machine like this one, in a cache folder?"""
    source = (_HERE / f"{module}.py").read_text("utf-8")
    found = {each.name.partition("-")[0] for each in (folder / machine()).glob("*.nbi") if _can_be_read(each)}
    wanted = {f"{module}.{name}" for name in TYPED.findall(source)}
    return wanted <= found and (bool(found) or "@kernel(" not in source)


def _can_be_read(file: Path) -> bool:
    try:
        file.open("rb").close()
    except OSError:
        return False
    return True


@cache
def cache_folder(module: str) -> Path:
    """Where the compiled code of a module is kept while it and what it imports stay as they are.

    Wherever all of it is: beside the sources, or in a folder of the user. Otherwise in the first of them that can be
    written; where none can, it is kept in memory only.
    """
    digest = blake2b(digest_size=8)
    for path in sources_of(module):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    name = f"{FOLDER}{module}-{digest.hexdigest()}"
    folders = [parent / name for parent in _parents()]
    whole = next((each for each in folders if made_in(each, module)), None)
    return whole or next(filter(can_be_written, folders), folders[0])


def _parents() -> list[Path]:
    if _CHOSEN:
        return [Path(_CHOSEN)]
    parents = [_HERE / "__pycache__"]
    with contextlib.suppress(RuntimeError):  # a user without a home
        parents.append(Path.home() / ".cache" / "evenmatch")
    return parents


def can_be_written(folder: Path) -> bool:
    """Can files be put into a folder? It is made if it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".writable").touch()
    except OSError:
        return False
    return True


_CHOSEN: str = vars(numba.config)["CACHE_DIR"]


class _Place:
    """Where numba finds the compiled code of a function, and what that code must be of."""

    def __init__(self, function: Any, file: str) -> None:
        self._py_file = file
        self._function = function
        self._folder = cache_folder(function.__module__.rpartition(".")[2]) / machine()

    @classmethod
    def from_function(cls, function: Any, file: str) -> Self:
        """numba's name for the constructor."""
        return cls(function, file)

    def ensure_cache_path(self) -> None:
        """Called before code is saved."""
        self._folder.mkdir(parents=True, exist_ok=True)

    def get_cache_path(self) -> str:
        """Where the files are."""
        return str(self._folder)

    def get_source_stamp(self) -> str:
        """The folder's name says it."""
        return self._folder.parent.name

    def get_disambiguator(self) -> str:
        """What tells functions of the same name apart."""
        return str(self._function.__code__.co_firstlineno)


class _Result(CompileResultCacheImpl):
    _locator_classes: Any = (_Place,)


class _Kept(FunctionCache):
    _impl_class = _Result

    def load_overload(self, signature: Any, context: Any) -> Any:
        """As in numba, but what cannot be read is made again."""
        with contextlib.suppress(OSError):
            return super().load_overload(signature, context)  # type: ignore[no-untyped-call]

    def save_overload(self, signature: Any, made: Any) -> None:
        """What cannot be saved is made again next time."""
        with contextlib.suppress(OSError):
            super().save_overload(signature, made)  # type: ignore[no-untyped-call]


INT: Final = types.int64
FLOAT: Final = types.float64
BOOL: Final = types.boolean


def _array(kind: Any, dimensions: int, written: bool) -> Any:
    return types.Array(kind, dimensions, "C", readonly=not written)


INTS, INTS2, OUT_INTS, OUT_INTS2 = (_array(types.int64, d, w) for w in (False, True) for d in (1, 2))
INT32S, INT32S2, OUT_INT32S, OUT_INT32S2 = (_array(types.int32, d, w) for w in (False, True) for d in (1, 2))
INT8S, INT8S2, OUT_INT8S, OUT_INT8S2 = (_array(types.int8, d, w) for w in (False, True) for d in (1, 2))
FLOATS, FLOATS2, OUT_FLOATS, OUT_FLOATS2 = (_array(types.float64, d, w) for w in (False, True) for d in (1, 2))
BOOLS, BOOLS2, OUT_BOOLS, OUT_BOOLS2 = (_array(types.boolean, d, w) for w in (False, True) for d in (1, 2))


_when: dict[str, bool] = {"imported": True}


def compile_later() -> None:
    """Let kernels be compiled when they are called, and kept nowhere: for programs that import them and call none."""
    _when["imported"] = False


def kernel(*takes: Any) -> Callable[[F], F]:
    """Compile a function of arrays and numbers for arguments of these types; without any, for use in kernels only."""
    compiler: Any = numba.njit(nogil=True, error_model="numpy")
    cached: Any = _Kept

    def compiled(function: F) -> F:
        made = compiler(function)
        if _when["imported"]:
            made._cache = cached(function)  # as `cache=True` does, with a cache of ours
            if takes:
                made.compile(takes)
                made.disable_compile()
        return cast(F, made)

    return compiled


def bundle(kind: type, *holds: Any) -> Any:
    """The type of a NamedTuple of arrays, to be taken by a kernel; its arrays are of exactly these types."""
    untyped: Any = types
    alike = all(each == holds[0] for each in holds)
    return untyped.NamedUniTuple(holds[0], len(holds), kind) if alike else untyped.NamedTuple(holds, kind)


def inlined(function: F) -> F:
    """Make a function part of the kernels that call it, where the cost of a call would count."""
    compiler: Any = numba.njit(inline="always", nogil=True, error_model="numpy")
    return cast(F, compiler(function))
