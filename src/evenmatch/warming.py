"""Compiling before traffic: kernels are made once, kept in a cache, and read from it before the first wave needs them.

`python -m evenmatch.warming` makes whatever is missing, so that no server compiles while players wait; `make
setup` runs it, and a first start without it (`prepare`) says how far it is. It takes minutes of one core, so families
of modules are compiled side by side, and the modules of a family one after the other: numba numbers the files of a
cache by what it finds there, and two processes that write to the cache of one function could each take the same number
for different code.
"""

import contextlib
import os
import pkgutil
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

from evenmatch import numerics
from evenmatch.matchers.registry import MATCHERS
from evenmatch.numerics.compiled import FOLDER, TYPED, cache_folder, can_be_written, made_in, sources_of

__all__ = ["compile_kernels", "drop_old_kernels", "families", "load_matchers", "missing", "prepare"]


def missing() -> list[str]:
    """Modules whose compiled code is not in the cache, or not all of it."""
    return [module for module in _modules() if _is_called(module) and not made_in(cache_folder(module), module)]


def _is_called(module: str) -> bool:
    """Has it kernels that are compiled when it is imported? Others are compiled with those that call them."""
    source = Path(next(iter(numerics.__path__)), f"{module}.py")
    return TYPED.search(source.read_text("utf-8")) is not None


def prepare(tell: Callable[[str], None]) -> None:
    """Make what is missing before anything else is done, and say how far it is; says nothing where nothing is."""
    wanted = missing()
    if not wanted:
        return
    folder = cache_folder(wanted[0])
    if not can_be_written(folder):
        tell(
            "compiling the kernels, which takes minutes at every start, for nothing can be written: "
            "name a folder to keep them in with NUMBA_CACHE_DIR=FOLDER"
        )
        return
    tell(f"compiling the kernels, first start only, some minutes: 0 of {len(wanted)}")
    made = 0

    def count(_: str) -> None:
        nonlocal made
        made = max(made, len(wanted) - len(missing()))
        tell(f"compiling the kernels, first start only: {made} of {len(wanted)}")

    with _alone_in(folder.parent):
        compile_kernels(count, missing())


@contextlib.contextmanager
def _alone_in(parent: Path) -> Iterator[None]:
    """Several servers that start at once on one cache compile one after the other: the others find what is made."""
    with contextlib.ExitStack() as stack:
        if sys.platform != "win32":
            import fcntl

            with contextlib.suppress(OSError):  # then nothing can be kept there, and nobody is in the way
                parent.mkdir(parents=True, exist_ok=True)
                fcntl.flock(stack.enter_context((parent / ".compiling").open("w")), fcntl.LOCK_EX)
        yield


def _interruptible() -> None:
    """Ctrl-C ends a compiling process without a word: the one that asked for it tells."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def compile_kernels(tell: Callable[[str], None], wanted: Iterable[str] | None = None) -> None:
    """Make all compiled code that is not in the cache yet; `tell` hears of every module that took its time."""
    modules = list(_modules() if wanted is None else wanted)
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn"), _interruptible) as pool:
        running = {pool.submit(_compile, first): iter(rest) for first, *rest in families(modules)}
        while running:
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                module, took_s = done.result()
                if took_s > 1:
                    tell(f"compiled {module} in {took_s:.0f} s")
                rest = running.pop(done)
                if follower := next(rest, None):
                    running[pool.submit(_compile, follower)] = rest


def families(modules: Iterable[str]) -> list[list[str]]:
    """Modules that import from each other, directly or not, in one list each; the largest first, all in order of name.

    What holds no kernels of its own ties nothing together.
    """
    kin: list[set[str]] = []
    for module in modules:
        tied = {module} | {path.stem for path in sources_of(module) if "@kernel(" in path.read_text("utf-8")}
        kin, others = [each for each in kin if not each & tied], [each for each in kin if each & tied]
        kin.append(tied.union(*others))
    return sorted((sorted(each) for each in kin), key=lambda each: (-len(each), each))


def _compile(module: str) -> tuple[str, float]:
    """Import a module; its name, and how many seconds that took."""
    started = time.perf_counter()
    import_module(f"{numerics.__name__}.{module}")
    return module, time.perf_counter() - started


def _modules() -> Iterator[str]:
    return (module.name for module in pkgutil.iter_modules(numerics.__path__))


def drop_old_kernels() -> None:
    """Remove the compiled code of other versions of the sources from the cache."""
    present = {cache_folder(module) for module in _modules()}
    for parent in {folder.parent for folder in present}:
        for folder in parent.glob(FOLDER + "*"):
            if folder not in present:
                shutil.rmtree(folder, ignore_errors=True)


def load_matchers(names: Iterable[str] = tuple(MATCHERS)) -> None:
    """Read the code of these matchers, compiled parts included."""
    for name in names:
        import_module(MATCHERS[name].partition(":")[0])


if __name__ == "__main__":
    with _alone_in(cache_folder("compiled").parent):
        compile_kernels(lambda line: print(f"setup: {line}", file=sys.stderr, flush=True))
    load_matchers()
    drop_old_kernels()
