"""The axes of charts: accuracy in percent with a line at chance, and log axes with labels where there is room."""

import altair as alt

from ucurve.analysis.plotting.style import TokenAxis, percent_ticks

HEIGHT = "height"  # the expression of a panel's height, where it stands alone
TOKENS, ACCURACY = "Training tokens (log scale)", "Accuracy (%)"
_INSET = 5  # CSS pixels between 0 or 100 % and the edge of the panel, so that no point is cut
_TICKS = 8  # about, of a linear axis
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


def token_axis(axis: TokenAxis) -> alt.X:
    """Return the axis of training tokens, field ``place`` (``token_place``), unlabeled between 0 and the first."""
    before = f"datum.value < {axis.first * 0.999:.5g}"  # less a little, as five digits may be above the first
    return _log_axis("place", TOKENS, (axis.zero, axis.last), _COUNT, before)


def token_place(axis: TokenAxis) -> str:
    """Return the expression of the place where a number of tokens is drawn."""
    return f"datum.tokens > 0 ? datum.tokens : {axis.zero:.5g}"


def log_axis(field: str, title: str, ends: tuple[float, float]) -> alt.X:
    """Return a log axis of tokens above 0, or of FLOPs, which are labeled in powers of ten."""
    return _log_axis(field, title, ends, _COUNT if field == "tokens" else _POWER)


def linear_axis(field: str, title: str, ends: tuple[float, float], *, falling: bool) -> alt.X:
    """Return a linear axis with some room beside its ends, on request from the greatest number to the least."""
    margin = _MARGIN * (ends[1] - ends[0])
    scale = alt.Scale(domain=[ends[0] - margin, ends[1] + margin], nice=False, zero=False, reverse=falling)
    return alt.X(field=field, type="quantitative", title=title, scale=scale, axis=alt.Axis(tickCount=_TICKS))


def percent_axis(bottom: float, field: str = "accuracy", height: str = HEIGHT) -> alt.Y:
    """Return the axis of accuracies in percent, from a fraction to 100; ``height`` is an expression."""
    inside: list[alt.ExprRef | float] = [alt.ExprRef(f"{height} - {_INSET}"), _INSET]
    axis = alt.Axis(grid=True, values=percent_ticks(bottom))
    scale = alt.Scale(domain=[100 * bottom, 100], range=inside, nice=False, zero=False)
    return alt.Y(field=field, type="quantitative", title=ACCURACY, scale=scale, axis=axis)


def level_line(height: float) -> alt.Chart:
    """Return a dotted line at a height, such as chance at 50 %."""
    rule = alt.Chart(alt.InlineData([{}])).mark_rule(style="chance", strokeDash=[1, 3], clip=True, aria=False)
    line: alt.Chart = rule.encode(y=alt.datum(height))
    return line


def untrained_place(axis: TokenAxis, text: str = "untrained") -> list[alt.Chart]:
    """Return line and label of the place of models before training, which stay with it under zoom and pan."""
    place = alt.Chart(alt.InlineData([{"place": float(f"{axis.zero:.5g}")}])).encode(x="place:Q")
    inside = {"test": "inrange(datum.place, domain('x'))", "value": 1}
    label = place.mark_text(
        text=text, y=alt.ExprRef("height + 13"), style="untrained-label", clip=False, aria=False
    )
    return [
        place.mark_rule(style="untrained", strokeDash=[4, 3], clip=True, aria=False),
        label.encode(opacity=alt.OpacityValue(0, condition=inside)),
    ]


def _log_axis(field: str, title: str, ends: tuple[float, float], label: str, never: str = "false") -> alt.X:
    """Return a log axis that is labeled at 1, at 1, 2 and 5, or everywhere, with grid lines at powers of ten.

    Places of which the test ``never`` holds have neither labels nor ticks.
    """
    low, high = map(float, ends)
    # A single place would leave the axis without a length.
    margin = (high / low) ** _MARGIN if high > low else 2.0
    scale = alt.Scale(type="log", domain=[low / margin, high * margin], nice=False)
    axis = alt.Axis(
        labelExpr=f"{never} || !({_HAS_ROOM}) ? '' : {label}",
        labelOverlap="greedy",
        labelSeparation=4,
        gridOpacity=_hidden_if(f"{never} || {_DIGIT} !== 1"),
        tickOpacity=_hidden_if(f"{never} || {_DECADE} < 110 && {_DIGIT} !== 1"),
    )
    return alt.X(field=field, type="quantitative", title=title, scale=scale, axis=axis)


def _hidden_if(test: str) -> dict[str, object]:
    return {"condition": {"test": test, "value": 0}, "value": 1}
