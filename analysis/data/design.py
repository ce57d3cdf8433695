"""The design of a grid: the factors of its runs, which of them vary, and the lines that follow from them."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import pandas as pd

from ucurve.storage.facts import Level

FACTORS = ("architecture", "size", "tokenizer", "budget", "corpus")  # which labels name wherever they vary
_MODEL = "model"  # the name of the model file, of one architecture and size
_TEXT, _SETTINGS = "text", "settings"  # the hashes of the tokens and of the whole configuration without seeds
_PART_OF = {  # of a setting the factor that it belongs to, by how its name begins
    "objective.": "objective", "tokenizer.": "tokenizer", "data.": "corpus", "optimizer.": "optimizer", "rate.": "rate",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Design:
    """The runs of an analysis that were trained here, by the levels of their factors; seeds are none."""

    factors: Mapping[str, Mapping[str, Level]]  # by run

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row for each run and a column for each factor; missing where a run has no such factor."""
        others = set(itertools.chain(*self.factors.values())).difference(FACTORS)
        # What tells lines apart where no factor does comes last, so that labels name it only then.
        last = ("name", _TEXT, _SETTINGS)
        order = sorted(others, key=lambda name: (name in last and 1 + last.index(name), "." in name, name))
        columns = [*FACTORS, *order]
        rows = [[levels.get(name) for name in columns] for levels in self.factors.values()]
        return pd.DataFrame(rows, list(self.factors), columns, dtype=object)

    def level(self, run: str, factor: str) -> Level | None:
        """Return the level of a run; None where it has none or was not trained here."""
        return self.factors.get(run, {}).get(factor)

    def levels(self, factor: str) -> list[str]:
        """Return the levels of a factor, in the order of the runs."""
        return [str(level) for level in self.table[factor].dropna().unique()]

    def among(self, runs: Iterable[str]) -> "Design":
        """Return the design of some runs."""
        return Design({run: self.factors[run] for run in runs})

    @cached_property
    def varying(self) -> tuple[str, ...]:
        """The factors that have several levels, those that only repeat what others tell left out."""
        return tuple(_telling(self.table))

    @property
    def crossed(self) -> tuple[tuple[str, str], ...]:
        """The pairs of factors of which every level of one was trained with every level of the other."""
        texts = {name: _texts(self.table[name]) for name in self.varying}
        levels = {name: len(set(texts[name]) - {None}) for name in texts}
        return tuple(
            (one, other)
            for one, other in itertools.combinations(texts, 2)
            if _count(texts, (one, other)) == levels[one] * levels[other]
        )

    def views(self) -> Iterator[Mapping[str, Mapping[str, Level]]]:
        """Yield the levels of the lines by their label: of all lines, then of those that leave out what curves do."""
        for without in ((), *((factor,) for factor in self.varying), ("size", "budget")):
            left = [factor for factor in self.varying if factor not in without]
            yield {
                label: {factor: self.factors[run][factor] for factor in left if factor in self.factors[run]}
                for run, label in self.lines(*without).items()
            }

    @cache  # noqa: B019 - a design lives as long as its study
    def lines(self, *without: str) -> Mapping[str, str]:
        """Return the label of each run's line: the runs that are equal in all factors but ``without``.

        Without the architecture they need not be equal in the objective either, where each architecture has one. A
        label has the levels of the factors in which the lines differ; where there is one line, or a line has no level
        of them, the model's name, or the levels of ``FACTORS`` that are left.
        """
        if "architecture" in without and "objective" in self.table:
            objectives = self.table.groupby("architecture")["objective"].nunique(dropna=False)
            without = (*without, "objective") if objectives.max() == 1 else without
        left_out = [name for name in map(str, self.table) if _is_left_out(name, without)]
        levels = self.table.drop(columns=left_out)
        telling = _telling(levels)
        if not telling:
            telling = [_MODEL] if _MODEL in levels else [name for name in FACTORS if name in levels]
        rows = levels[telling].itertuples(name=None)
        labels = {run: ", ".join(filter(None, map(_name_level, telling, row))) for run, *row in rows}
        return {run: label or str(self.factors[run].get(_MODEL, run)) for run, label in labels.items()}


NO_DESIGN = Design({})


def make_design(factors: Mapping[str, Mapping[str, Level]], hashes: Mapping[str, tuple[str, str]]) -> Design:
    """Return the design of runs by their label, from their factors and the hashes of their tokens and settings.

    The hashes tell lines apart where no factor does: a model file that was edited between two runs, or another version
    that built another tokenizer.
    """
    # Eight digits of a hash tell the runs of a grid apart, and fit into a label.
    named = {run: {_TEXT: text[:8], _SETTINGS: settings[:8]} for run, (text, settings) in hashes.items()}
    return Design({run: {**levels, **named[run]} for run, levels in factors.items()})


def _is_left_out(name: str, without: Sequence[str]) -> bool:
    """Return whether a factor, or what it depends on, is among those that lines need not be equal in."""
    if name == _SETTINGS:  # which every factor changes
        return bool(without)
    part_of = next((factor for start, factor in _PART_OF.items() if name.startswith(start)), name)
    depends_on = {_MODEL: ("architecture", "size"), _TEXT: ("tokenizer", "corpus")}.get(name, (part_of, name))
    return not set(depends_on).isdisjoint(without)


def _telling(levels: pd.DataFrame) -> list[str]:
    """Return the factors that differ: the usual ones all, of the others those that tell runs apart."""
    texts = {name: _texts(levels[name]) for name in map(str, levels)}  # pandas takes 40 times as long
    told = [name for name in FACTORS if len(set(texts.get(name, []))) > 1]
    count = _count(texts, told)
    for name in texts:
        if name not in told and _count(texts, [*told, name]) > count:
            told.append(name)
            count = _count(texts, told)
    return told


def _texts(levels: pd.Series) -> list[str | None]:
    return [None if pd.isna(level) else str(level) for level in levels]


def _count(texts: Mapping[str, Sequence[str | None]], names: Sequence[str]) -> int:
    """Count the combinations of levels of some factors; of no factors there is one."""
    return len(set(zip(*(texts[name] for name in names), strict=True))) if names else 1


def _name_level(name: str, level: Level | None) -> str:
    if pd.isna(level):
        return ""
    if name == "budget":
        return f"{level} tokens"
    return f"{name}={level}" if "." in name or name in (_TEXT, _SETTINGS, "rate") else str(level)
