"""evenmatch refusals: every reason for which the server says no."""

import logging

import structlog


def refusals() -> None:
    """Print every reason for a refusal, with its status and the paths it comes from, as Markdown."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    from evenmatch.service.refusals_page import refusals_page

    print(refusals_page(), end="")
