"""How kernels are compiled: by numba, once, when their module is imported, without the interpreter's lock.

A kernel that is called from Python says the types it takes, so that importing its module is all the warming it needs:
compiled code is read from a cache beside the source, or made and put there (`evenmatch.warming` makes all of it).
Kernels that are called from kernels only need no types.

Arrays are named by what they hold: `INTS` is int64[:], `INTS2` int64[:, :], all contiguous and promised not to be
written to, so that the frozen columns of a snapshot may be passed as they are; `OUT_INTS` and the like are written to.

A module's cache is a folder named by a digest of its source and of all that it imports from here. numba itself looks
only at the file of the function that is called, so after a change of a kernel in another file it would go on using old
code of its callers.

No kernel uses numba's own threads: its default threading layer aborts the process when two threads call it at once.
Work is split in Python instead (`threads`).
"""

import re
from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import numba
from numba import types
from numba.core.compiler_lock import global_compiler_lock

F = TypeVar("F", bound=Callable[..., Any])

_HERE: Final = Path(__file__).parent
FOLDER: Final = "kernels-"
"""How the names of cache folders begin."""
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
def cache_folder(module: str) -> Path:
    """Where the compiled code of a module is kept while it and what it imports stay as they are.

    Beside the sources, or, where that is not possible, in a folder of the user.
    """
    digest = blake2b(digest_size=8)
    for path in sources_of(module):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    parents = [Path(_CHOSEN)] if _CHOSEN else [_HERE / "__pycache__", Path.home() / ".cache" / "evenmatch"]
    for parent in parents:
        folder = parent / f"{FOLDER}{module}-{digest.hexdigest()}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / ".writable").touch()
        except OSError:
            continue
        return folder
    return parents[0]


_CHOSEN: str = vars(numba.config)["CACHE_DIR"]

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


def kernel(*takes: Any) -> Callable[[F], F]:
    """Compile a function of arrays and numbers for arguments of these types; without any, for use in kernels only."""
    compiler: Any = numba.njit(cache=True, nogil=True, error_model="numpy")

    def compiled(function: F) -> F:
        with global_compiler_lock:  # the folder is one setting for all threads, read when the function gets its cache
            vars(numba.config)["CACHE_DIR"] = str(cache_folder(function.__module__.rpartition(".")[2]))
            made = compiler(function)
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
