"""Charts of Altair that show themselves in a notebook without network."""

import hashlib
import json
from pathlib import Path
from typing import IO, Any

import altair
from jinja2 import Environment

from analysis.charts.bundle import vega_script

# Altair's own pages write names into a script as they are, and load Vega from a server unless told otherwise.
_PAGE = Environment(autoescape=True).from_string("""\
<div data-chart="{{ key }}"></div>
<script>
if (!window.vegaEmbed) { {{ script | safe }} }
document.querySelectorAll('[data-chart="{{ key }}"]:empty').forEach(place => {
  place.style.width = "100%";
  vegaEmbed(place, {{ chart | tojson }}, {
    mode: "vega-lite", ast: true, renderer: "svg",
    actions: {export: true, source: false, compiled: false, editor: false},
  });
});
</script>
""")


_DOCUMENT = Environment(autoescape=True).from_string("""\
<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{{ title }}</title></head>
<body>
{{ page | safe }}
</body>
</html>
""")


class OfflineChart(altair.LayerChart):
    """A chart of Altair that draws itself in a notebook; it can be changed and saved as any other."""

    def save(self, fp: str | Path | IO[Any], *given: Any, **options: Any) -> None:
        """Save the chart as Altair does; a page (``.html``) holds the script that draws it and needs no network."""
        suffix = Path(fp).suffix[1:] if isinstance(fp, str | Path) else None
        if ([*given, options.get("format")][0] or suffix) != "html":
            super().save(fp, *given, **options)
            return
        shown = self._repr_mimebundle_()
        text = _DOCUMENT.render(title=self.to_dict(validate=False).get("title", ""), page=shown["text/html"])
        if isinstance(fp, str | Path):
            Path(fp).write_text(text, encoding="utf-8")
        else:
            fp.write(text)

    def _repr_mimebundle_(self, *_args: object, **_kwds: object) -> dict[str, str]:
        """Show it in a notebook; the script that draws it, of about 900 KB, is part of what is shown."""
        chart = self.to_dict(validate=False)
        key = hashlib.sha256(json.dumps(chart).encode()).hexdigest()[:16]
        return {"text/html": _PAGE.render(key=key, script=vega_script(), chart=chart), "text/plain": repr(self)[:200]}
