"""The axes of charts: accuracy in percent with a line at chance, and log axes with labels where there is room."""

import pandas as pd

from analysis.charts.spec import Spec, quantity
from analysis.plotting.style import TokenAxis, percent_bottom

_MARGIN = 0.03  # between the marks and the ends of a log axis, as a share of its length
_EXPONENT = "floor(log(datum.value) / LN10 + 1e-9)"
_DIGIT = f"round(datum.value / pow(10, {_EXPONENT}))"
_DECADE = "(width * LN10 / log(domain('x')[1] / domain('x')[0]))"  # CSS pixels
_HAS_ROOM = f"{_DECADE} > 420 || {_DIGIT} === 1 || {_DECADE} > 110 && ({_DIGIT} === 2 || {_DIGIT} === 5)"
_COUNT = "replace(replace(format(datum.value, '~s'), 'G', 'B'), 'k', 'K')"  # as ucurve.fields.format_count
_RAISED = "['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹']"
_POWER = (
    f"({_DIGIT} === 1 ? '' : format({_DIGIT}, 'd') + '×') + '10' + "
    f"({_EXPONENT} < 10 ? '' : {_RAISED}[floor({_EXPONENT} / 10)]) + {_RAISED}[{_EXPONENT} % 10]"
)


def token_axis(axis: TokenAxis) -> Spec:
    """Return the axis of training tokens with a place for 0, the field ``place`` of ``token_place``.

    Left of the first tokens, where only 0 has a place, it has neither labels nor ticks.
    """
    before = f"datum.value < {axis.first * 0.999:.5g}"
    ticks = {"tickOpacity": {"condition": {"test": before, "value": 0}, "value": 1}}
    scale = _log_scale(axis.zero, axis.last)
    return quantity("place", "Training tokens (log scale)", scale=scale, axis=_log_axis(_COUNT, before) | ticks)


def token_place(axis: TokenAxis) -> Spec:
    """Return the transform that says where a number of tokens is drawn."""
    return {"calculate": f"datum.tokens > 0 ? datum.tokens : {axis.zero:.5g}", "as": "place"}


def trained_axis(tokens: pd.Series) -> Spec:
    """Return the axis of training tokens above 0."""
    return quantity("tokens", "Training tokens (log scale)", scale=_scale_of(tokens), axis=_log_axis(_COUNT))


def flops_axis(flops: pd.Series) -> Spec:
    """Return the axis of training FLOPs, labeled in powers of ten."""
    return quantity("flops", "Training FLOPs (6ND, log scale)", scale=_scale_of(flops), axis=_log_axis(_POWER))


def percent_axis(table: pd.DataFrame) -> Spec:
    """Return the axis of accuracies, for rows of fractions."""
    lowest = float(table[["low", "accuracy"]].min().min())  # a lone seed of several has no low
    scale = {"domain": [100 * percent_bottom(lowest), 101], "nice": False, "zero": False}
    return quantity("accuracy", "Accuracy (%)", scale=scale, axis={"grid": True})


def chance_line() -> Spec:
    """Return a dotted line at 50 %."""
    mark = {"type": "rule", "color": "#767676", "strokeDash": [1, 3], "clip": True, "aria": False}
    return {"data": {"values": [{}]}, "mark": mark, "encoding": {"y": {"datum": 50}}}


def untrained_place(axis: TokenAxis, tokens: pd.Series) -> list[Spec]:
    """Return line and label of the place of models before training, which stay with it under zoom and pan."""
    if not tokens.eq(0).any():
        return []
    data = {"values": [{"place": float(f"{axis.zero:.5g}")}]}
    at = {"field": "place", "type": "quantitative"}
    inside = {"condition": {"test": "inrange(datum.place, domain('x'))", "value": 1}, "value": 0}
    line = {"type": "rule", "color": "#999", "strokeDash": [4, 3], "clip": True, "aria": False}
    label = {"type": "text", "text": "untrained", "y": {"expr": "height + 13"}, "fontSize": 11.5, "color": "#333"}
    return [
        {"data": data, "mark": line, "encoding": {"x": at}},
        {"data": data, "mark": label | {"clip": False, "aria": False}, "encoding": {"x": at, "opacity": inside}},
    ]


def _scale_of(values: pd.Series) -> Spec:
    return _log_scale(float(values.min()), float(values.max()))


def _log_scale(low: float, high: float) -> Spec:
    margin = (high / low) ** _MARGIN if high > low else 2.0
    return {"type": "log", "domain": [low / margin, high * margin], "nice": False}


def _log_axis(label: str, never: str = "false") -> Spec:
    """Return a log axis that is labeled at 1, at 1, 2 and 5, or everywhere, with grid lines at powers of ten."""
    grid = {"condition": {"test": f"{never} || {_DIGIT} !== 1", "value": 0}, "value": 1}
    return {"labelExpr": f"{never} || !({_HAS_ROOM}) ? '' : {label}", "labelOverlap": True, "gridOpacity": grid}
