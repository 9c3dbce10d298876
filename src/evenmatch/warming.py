"""Compiling before traffic: kernels are made once, kept in a cache, and read from it before the first wave needs them.

`python -m evenmatch.warming` makes whatever is missing, so that no server compiles while players wait; `make
setup` runs it.
"""

import pkgutil
import shutil
import sys
import time
from collections.abc import Callable, Iterable
from importlib import import_module

from evenmatch import numerics
from evenmatch.matchers.registry import MATCHERS
from evenmatch.numerics.compiled import FOLDER, cache_folder

__all__ = ["compile_kernels", "drop_old_kernels", "load_matchers"]


def compile_kernels(tell: Callable[[str], None]) -> None:
    """Make all compiled code that is not in the cache yet; `tell` hears of every module that took its time."""
    for module in pkgutil.iter_modules(numerics.__path__):
        started = time.perf_counter()
        import_module(f"{numerics.__name__}.{module.name}")
        if (took := time.perf_counter() - started) > 1:
            tell(f"compiled {module.name} in {took:.0f} s")


def drop_old_kernels() -> None:
    """Remove the compiled code of other versions of the sources from the cache."""
    present = {cache_folder(module.name) for module in pkgutil.iter_modules(numerics.__path__)}
    for parent in {folder.parent for folder in present}:
        for folder in parent.glob(FOLDER + "*"):
            if folder not in present:
                shutil.rmtree(folder, ignore_errors=True)


def load_matchers(names: Iterable[str] = tuple(MATCHERS)) -> None:
    """Read the code of these matchers, compiled parts included."""
    for name in names:
        import_module(MATCHERS[name].partition(":")[0])


if __name__ == "__main__":
    compile_kernels(lambda line: print(f"setup: {line}", file=sys.stderr))
    load_matchers()
    drop_old_kernels()
