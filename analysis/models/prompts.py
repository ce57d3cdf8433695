"""Perplexity against prompts (Swe-BLiMP, section 6, Table 3)."""

from collections.abc import Iterator

import pandas as pd

from ucurve.analysis.data.last_scores import load_last_scores
from ucurve.analysis.data.study import BenchmarkScores, Study
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, table_columns
from ucurve.eval.store.keys import check_scores, find_key
from ucurve.eval.store.scores import score_path

PROMPTS = ("grammaticality", "acceptability")
AVERAGE = "Average"


def prompt_differences(points: pd.DataFrame) -> pd.DataFrame:
    """Subtract each model's accuracy by perplexity from its accuracies by prompts, NaN where it was not asked.

    Differences are positive where prompting is better. The most accurate model by perplexity is first; the row
    ``Average`` over the models is last.
    """
    deltas = {f"delta_{name}": points[name] - points["perplexity"] for name in PROMPTS}
    table = points[["model", "perplexity"]].assign(**deltas)
    ranked = table.sort_values("perplexity", ascending=False, kind="stable", ignore_index=True)
    ranked.loc[len(ranked)] = {"model": AVERAGE, **ranked.drop(columns="model").mean()}
    return ranked


_PERPLEXITY = ("ppl", "mean_lp", "nll")  # the first that was asked for; the first two decide every pair alike
_COLUMNS = table_columns(
    "model",
    Column("perplexity", "Perplexity (%)", "percent"),
    Column("delta_grammaticality", "Δ grammaticality (points)", "percent"),
    Column("delta_acceptability", "Δ acceptability (points)", "percent"),
)


@questions.section(questions.MODELS, place=3)
def prompt_sections(study: Study) -> Iterator[ReportSection]:
    """Compare prompts with perplexity on every benchmark that was scored both ways."""
    scored = study.benchmarks()
    asked = {one.benchmark: one for one in scored if one.scorer == "prompt"}
    for plain in (one for one in scored if one.scorer == "sentence" and one.benchmark in asked):
        prompted = asked[plain.benchmark]
        function = next((name for name in _PERPLEXITY if (plain.rows["linking"] == name).any()), None)
        accuracies = {name: _macro_accuracy(prompted, name) for name in PROMPTS}
        if function is None or all(values.empty for values in accuracies.values()):
            continue
        points = pd.DataFrame({"perplexity": _macro_accuracy(plain, function), **accuracies}).dropna(how="any")
        excluded = [model for model in points.index if _is_excluded(prompted, str(model))]
        points = points.drop(index=excluded)
        if points.empty:
            continue
        table = prompt_differences(points.rename_axis("model").reset_index())
        note = (
            f"Macro accuracy by {function} of the whole sentence, and how much more or less accurate either prompt is "
            "(Swe-BLiMP, Table 3), ties by the rule of each."
        )
        if excluded:
            note += f" Left out for over 10 % invalid answers (footnote 4): {', '.join(map(str, excluded))}."
        name = plain.benchmark.replace("/", "-")
        view = TableView(note, _COLUMNS, table, {f"prompts_{name}": table})
        yield ReportSection(f"Perplexity and prompts on {plain.benchmark}", (view,))


def _macro_accuracy(scored: BenchmarkScores, linking: str) -> pd.Series:
    """Return the mean over paradigms of each model; empty without stored scores."""
    last = load_last_scores(scored, linking)
    if last is None:
        return pd.Series(dtype="float64")
    return last.credit.groupby(last.pairs["paradigm"].to_numpy()).mean().mean()


def _is_excluded(asked: BenchmarkScores, model: str) -> bool:
    """Say whether the record of a model's last scores marks it as excluded."""
    run = next(run for run in asked.study.runs if run.label == model)
    step = int(asked.rows.loc[asked.rows["run"] == model, "step"].max())
    scores = score_path(run.folder, asked.benchmark, asked.scorer, step)
    check_scores(run.folder, scores)
    key = find_key(scores)
    return key is not None and bool(key.notes.get("excluded"))
