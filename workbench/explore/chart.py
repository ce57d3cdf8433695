"""The chart of the room Explore: its data is put in by the page, which asks for other points as a slider moves."""

from typing import Any

import altair as alt

_LINES = "curves"  # the name of the data that the page puts in
_LEVELS = "levels"
PICKED = "picked"


def curve_spec() -> dict[str, Any]:
    """Return the Vega-Lite specification of the curves.

    Its data ``curves`` has ``curve`` (name of the line), ``x`` (training tokens, or the place of 0 on the axis),
    ``tokens``, ``step``, ``accuracy``, ``low``, ``high`` (in percent), ``n`` and ``runs``; ``levels`` has ``curve`` and
    ``accuracy`` of models without checkpoints. The selection ``picked`` says which point was clicked.
    """
    x = (
        alt.X("x:Q", title="Training tokens (log scale)")
        .scale(type="log", nice=False)
        .axis(format="~s", grid=False, tickCount=8)
    )
    y = alt.Y("accuracy:Q", title="Accuracy (%)").scale(zero=False, padding=8)
    color = alt.Color("curve:N", title=None).legend(
        orient="bottom", columns=3, labelLimit=420, symbolLimit=60, symbolOpacity=1, symbolType="stroke",
        symbolStrokeWidth=3,
    )  # fmt: skip
    tips = [
        alt.Tooltip("curve:N", title="Curve"), alt.Tooltip("step:Q", title="Step", format=","),
        alt.Tooltip("tokens:Q", title="Tokens", format=","),
        alt.Tooltip("accuracy:Q", title="Accuracy (%)", format=".2f"),
        alt.Tooltip("low:Q", title="from", format=".2f"), alt.Tooltip("high:Q", title="to", format=".2f"),
        alt.Tooltip("n:Q", title="Pairs", format=","), alt.Tooltip("runs:Q", title="Runs"),
    ]  # fmt: skip
    isolated = alt.selection_point(name="isolated", fields=["curve"], bind="legend")
    picked = alt.selection_point(name=PICKED, fields=["line", "value", "step"], on="click", clear=False, empty=False)
    base = alt.Chart(alt.NamedData(_LINES)).encode(x=x, color=color)
    faded = alt.when(isolated)
    band = base.mark_area().encode(
        y=alt.Y("low:Q"), y2="high:Q", opacity=faded.then(alt.value(0.14)).otherwise(alt.value(0.02))
    )
    line = base.mark_line(strokeWidth=1.8).encode(
        y=y, strokeDash=alt.StrokeDash("curve:N").legend(None),
        opacity=faded.then(alt.value(1)).otherwise(alt.value(0.12)), order="x:Q",
    )  # fmt: skip
    points = base.mark_point(filled=True, size=55, cursor="pointer").encode(
        y=y, tooltip=tips, opacity=faded.then(alt.value(1)).otherwise(alt.value(0.12)),
        stroke=alt.when(picked).then(alt.value("black")).otherwise(alt.value("transparent")),
        strokeWidth=alt.when(picked).then(alt.value(3)).otherwise(alt.value(1)),
    ).add_params(picked)  # fmt: skip
    levels = (
        alt.Chart(alt.NamedData(_LEVELS))
        .mark_rule(strokeWidth=1.2)
        .encode(
            y=alt.Y("accuracy:Q"),
            color="curve:N",
            tooltip=[alt.Tooltip("curve:N"), alt.Tooltip("accuracy:Q", format=".2f")],
        )
    )
    chance = (
        alt.Chart(alt.InlineData(values=[{"accuracy": 50}]))
        .mark_rule(strokeDash=[2, 3], color="#555555")
        .encode(y=alt.Y("accuracy:Q"))
    )
    zoom = alt.selection_interval(name="zoom", bind="scales", encodings=["x"])
    chart = alt.layer(band, chance, levels, line, points.add_params(zoom, isolated)).properties(
        width="container", height=380, datasets={_LINES: [], _LEVELS: []}
    )
    spec: dict[str, Any] = chart.to_dict()
    return spec
