"""The script that draws Vega-Lite charts in a page without network, from the wheel of vl-convert."""

from functools import cache


@cache
def vega_script() -> str:
    """Return a script that gives a page ``vegaEmbed``, of about 900 KB.

    Charts must be embedded with ``ast: true``: their expressions are then interpreted, so a page can forbid ``eval``.
    """
    from vl_convert import javascript_bundle

    script: str = javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return script
