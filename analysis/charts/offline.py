"""Charts of Altair that show themselves in a notebook without network."""

import hashlib
import json
import sys
from functools import cache
from pathlib import Path
from typing import IO, Any

import altair
from jinja2 import Environment

# Altair's own pages write names into a script as they are, and load Vega from a server unless told otherwise.
_PAGE = Environment(autoescape=True).from_string("""\
<div data-chart="{{ key }}">
{%- if not script %}This chart is drawn by the script of the first chart above: run the notebook again.{% endif -%}
</div>
<script>
{% if script %}if (!window.vegaEmbed) { {{ script | safe }} }
{% endif -%}
document.querySelectorAll('[data-chart="{{ key }}"]:not([data-drawn])').forEach(place => {
  place.dataset.drawn = "";
  (function draw() {
    if (!window.vegaEmbed) return setTimeout(draw, 200);
    place.style.width = "100%";
    const chart = {{ chart | tojson }};
    if (chart.facet) chart.columns = Math.max(1, Math.floor((place.clientWidth - 70) / (chart.spec.width + 15)));
    vegaEmbed(place, chart, {
      mode: "vega-lite", ast: true, renderer: "svg",
      actions: {export: true, source: false, compiled: false, editor: false},
    });
  })();
});
</script>
""")
# the first chart of this process, whose output has the script that draws the later ones too
_carriers: set[str] = set()
_DOCUMENT = Environment(autoescape=True).from_string("""\
<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{{ title }}</title></head>
<body>
{{ page | safe }}
</body>
</html>
""")


@cache
def vega_script() -> str:
    """Return a script that gives a page ``vegaEmbed``, of about 900 KB.

    Charts must be embedded with ``ast: true``: their expressions are then interpreted, so a page can forbid ``eval``.
    """
    from vl_convert import javascript_bundle

    script: str = javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return script


class _Offline(altair.TopLevelMixin):
    """A chart of Altair that draws itself in a notebook; it can be changed and saved as any other."""

    def save(self, fp: str | Path | IO[Any], *given: Any, **options: Any) -> None:
        """Save the chart as Altair does; a page (``.html``) holds the script that draws it and needs no network."""
        suffix = Path(fp).suffix[1:] if isinstance(fp, str | Path) else None
        if ([*given, options.get("format")][0] or suffix) != "html":
            super().save(fp, *given, **options)
            return
        chart = self.to_dict(validate=False)
        text = _DOCUMENT.render(title=chart.get("title", ""), page=_page(chart, vega_script()))
        if isinstance(fp, str | Path):
            Path(fp).write_text(text, encoding="utf-8")
        else:
            fp.write(text)

    def _repr_mimebundle_(self, *_args: object, **_kwds: object) -> dict[str, str]:
        """Show it in a notebook; the script of about 900 KB that draws charts is in the output of the first one."""
        chart = self.to_dict(validate=False)
        key = _key(chart)
        if not _carriers or "google.colab" in sys.modules:  # there, each output is a page of its own
            _carriers.add(key)
        script = vega_script() if key in _carriers else ""
        return {"text/html": _page(chart, script), "text/plain": f"chart: {chart.get('title', '')}"}


class LayeredChart(_Offline, altair.LayerChart):
    """A chart of one panel."""


class PanelChart(_Offline, altair.FacetChart):
    """A chart of small panels with the same axes."""


OfflineChart = LayeredChart | PanelChart


def empty_chart(why: str) -> LayeredChart:
    """Return a chart of nothing, whose title says why."""
    return LayeredChart(data=altair.InlineData(values=[]), layer=[altair.Chart().mark_point()], title=why)


def _page(chart: dict[str, Any], script: str) -> str:
    return _PAGE.render(key=_key(chart), script=script, chart=chart)


def _key(chart: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(chart).encode()).hexdigest()[:16]
