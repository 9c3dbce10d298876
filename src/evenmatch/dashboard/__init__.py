"""The dashboard: one page, plain ES modules and styles, all of them static files beside this one.

`service/routes_dashboard.py` serves them. Everything that the page shows comes over the public API.
"""
