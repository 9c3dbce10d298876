"""THE SIMULATOR: the engine that runs live, with people who are made up and time that is not real."""
