"""Colors, dashes and markers: one for each line, by factors, and far enough apart for every eye."""

import itertools

import altair as alt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb

from ucurve.analysis.charts.parts import NameColumn, with_markers
from ucurve.analysis.plotting.facets import line_legend
from ucurve.analysis.plotting.style import COLORS, NUMBERED, LineStyles, styles_by_factor

LEAST_DISTANCE = 0.07  # in OKLab, of two colors beside each other; docs/analysis.md states it
# What people with full protanopia, deuteranopia and tritanopia see of linear RGB (Machado, Oliveira and Fernandes 2009).
SEEN = {
    "all colors": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def oklab(color: str, seen: object) -> np.ndarray:
    """Return a color as OKLab (Ottosson 2020), as somebody sees it."""
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.array(seen) @ linear, 0, 1)
    to_cones = [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
                [0.0883024619, 0.2817188376, 0.6299787005]]  # fmt: skip
    to_lab = [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
              [0.0259040371, 0.7827717662, -0.8086757660]]  # fmt: skip
    return np.array(to_lab) @ np.cbrt(np.array(to_cones) @ linear)


def least_distance(colors, seen) -> float:
    places = [oklab(color, seen) for color in colors]
    return min(float(np.linalg.norm(one - other)) for one, other in itertools.combinations(places, 2))


@pytest.mark.parametrize("seen", SEEN.values(), ids=SEEN)
def test_colors_keep_a_distance_for_every_eye(seen) -> None:
    assert least_distance(COLORS, seen) >= LEAST_DISTANCE
    sizes = [f"{number}m" for number in range(len(COLORS))]
    ordered = styles_by_factor([{size: {"size": size} for size in sizes}], {"size": sizes})
    assert least_distance([style.color for style in ordered.values()], seen) >= LEAST_DISTANCE


def grid(**factors: list[str]):
    """Every line of crossed factors by its label, and the views that leave one factor out."""
    lines = {
        ", ".join(levels): dict(zip(factors, levels, strict=True))
        for levels in itertools.product(*factors.values())
    }
    views = [lines]
    for left_out in factors:
        kept = [{name: level for name, level in line.items() if name != left_out} for line in lines.values()]
        views.append({", ".join(line.values()): line for line in kept})
    return views


def test_color_dashes_and_marker_are_those_of_three_factors() -> None:
    factors = {"architecture": ["neox", "llama"], "tokenizer": ["char", "bpe"], "corpus": ["a", "b"]}
    styles = styles_by_factor(grid(**factors), factors)
    for part, factor in (("color", 0), ("dashes", 1), ("marker", 2)):
        of_level = {(line.split(", ")[factor], str(getattr(style, part))) for line, style in styles.items()
                    if line.count(",") == 2}  # fmt: skip
        assert len(of_level) == 2, f"{part} is not that of the levels"
    assert styles["neox, char"] == styles["neox, char, a"], "a view without the marker's factor looks the same"
    assert styles["char, a"].color != styles["bpe, a"].color, (
        "without the color's factor the next one gives colors"
    )


@pytest.mark.parametrize(
    ("names", "count"), [((4, 2), 8), ((3, 4), 12), ((12,), 12), ((7, 4, 6), 168), ((9, 2), 18)]
)
def test_each_look_is_given_once(names, count) -> None:
    factors = {
        f"factor {place}": [f"{place}-{level}" for level in range(size)] for place, size in enumerate(names)
    }
    lines = grid(**factors)[0]
    looks = LineStyles(styles_by_factor([lines], factors))(lines)
    assert len(set(looks.values())) == len(lines) == count


@given(st.permutations([f"l{number}" for number in range(8)]), st.integers(1, 8))
def test_a_line_looks_the_same_in_whatever_figure_it_stands(order, shown) -> None:
    factors = {"architecture": [f"l{number}" for number in range(8)]}
    look = LineStyles(styles_by_factor(grid(**factors), factors))
    every = look(order)
    some = look(order[:shown])
    assert all((some[name].color, some[name].dashes) == (every[name].color, every[name].dashes) for name in some)


def test_a_legend_tells_lines_apart_that_differ_in_the_marker_alone() -> None:
    factors = {"architecture": ["neox", "llama"], "tokenizer": ["char", "bpe"], "corpus": ["a", "b"]}
    lines = grid(**factors)[0]
    look = LineStyles(styles_by_factor([lines], factors))
    samples = line_legend(look(lines)).values()
    assert len({(one.get_color(), one.get_linestyle(), one.get_marker()) for one in samples}) == len(lines)
    column = NameColumn("line", "Line", tuple(lines), tuple(look(lines).values()))
    shape = with_markers(alt.Chart().mark_point(), column).to_dict()["encoding"]["shape"]
    assert dict(zip(shape["scale"]["domain"], shape["scale"]["range"], strict=True))["neox, char, b"] == "square"
    assert shape["legend"] is not None


def test_a_model_from_elsewhere_looks_like_no_line_beside_it() -> None:
    factors = {"architecture": ["neox", "llama"]}
    look = LineStyles(styles_by_factor(grid(**factors), factors))
    styles = look(["pythia", "llama", "neox"])
    assert len({(style.color, str(style.dashes)) for style in styles.values()}) == 3


@pytest.mark.parametrize("count", [2, 5])
def test_larger_models_are_darker(count: int) -> None:
    sizes = [f"{number}m" for number in range(count)]
    styles = styles_by_factor([{size: {"size": size} for size in sizes}], {"size": sizes})
    light = [oklab(styles[size].color, np.eye(3))[0] for size in sizes]
    assert light == sorted(light, reverse=True)
    assert max(light) < 0.9  # still seen on white


def test_numbered_names_are_told_apart() -> None:
    styles = NUMBERED([f"line {index}" for index in range(28)])
    assert len({(style.color, str(style.dashes)) for style in styles.values()}) == 28
