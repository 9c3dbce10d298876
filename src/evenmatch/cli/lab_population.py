"""evenmatch lab population: the populations there are, as files to begin with."""

import msgspec
import tomli_w

from evenmatch.errors import LabError
from evenmatch.lab import population as populations
from evenmatch.lab.plain import without_none
from evenmatch.lab.population_page import population_page


def population(name: str = "", /, *, reference: bool = False) -> None:
    """Print a population as TOML; without a name, list the presets.

    Parameters
    ----------
    name
        A preset: its file, to change and use. Or a file of your own: all that it comes to, with the defaults.
    reference
        Print every key of a population file instead, as Markdown.
    """
    if reference and name:
        raise LabError("give a name or --reference, not both")
    if reference:
        print(population_page(), end="")
    elif not name:
        for preset in populations.PRESETS:
            print(f"{preset:<12}  {populations.load(preset)[0].title}")
    elif name in populations.PRESETS:
        print(populations.preset_text(name), end="")
    else:
        print(tomli_w.dumps(without_none(msgspec.to_builtins(populations.load(name)[0]))), end="")
