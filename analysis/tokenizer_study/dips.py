"""Which dips stand with all seeds, and under which linking functions."""

import pandas as pd

from analysis.data.pair_scores import read_runs
from analysis.data.study import BenchmarkScores
from analysis.shape.tables import Shapes, find_shapes

_DIP = "U-shaped"
_COLUMNS = ("depth", "depth_low", "depth_high", "turn_from", "place", "turn_to")


def shapes_by_linking(scored: BenchmarkScores) -> dict[str, Shapes]:
    """Test the curves of a benchmark under each linking function that it was scored with."""
    rows = scored.rows[scored.rows["step"] >= 0]
    settings = scored.study.settings
    return {
        linking: find_shapes(
            read_runs(
                scored.study.runs, rows, scored.benchmark, scored.scorer, linking, scored.ties_rule, settings.cluster
            ),
            settings.cluster,
            settings.flat_margin / 100,
        )
        for linking in dict.fromkeys(rows["linking"].astype(str))
    }


def dip_table(shapes: dict[str, Shapes], tokenizers: dict[str, str]) -> pd.DataFrame:
    """List every curve that has a dip under at least one linking function, with its class under each of them.

    Args:
        shapes: by linking function.
        tokenizers: of each line, by its ``group``.

    Returns:
        One row per tokenizer, phenomenon and linking function: ``shape``, ``runs``, ``p`` (Holm over the curves of a
        linking function), ``stands`` (whether it is U-shaped, beyond the seeds), then its ``depth`` with interval
        (fractions), ``turn_from``, ``place`` and ``turn_to`` (tokens); NaN without a dip.
    """
    tables = [one.classes.assign(linking=linking) for linking, one in shapes.items() if len(one.classes)]
    classes = pd.concat(tables, ignore_index=True)
    classes = classes.assign(stands=classes["class"] == _DIP, tokenizer=classes["group"].map(tokenizers))
    classes[list(_COLUMNS)] = classes[list(_COLUMNS)].where(classes["stands"])
    kept = classes[classes.groupby(["group", "phenomenon"])["stands"].transform("any")]
    order = kept.sort_values(["tokenizer", "phenomenon"], kind="stable", ignore_index=True)
    return order[["tokenizer", "phenomenon", "linking", "shape", "runs", "p", "stands", *_COLUMNS]]
