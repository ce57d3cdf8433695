"""What curves are compared with: people, and models that were not trained here (ZhoBLiMP, Figure 3)."""

import pandas as pd

from analysis.human import human_of
from analysis.study import Scored


def reference_lines(scored: Scored) -> pd.DataFrame:
    """Return what stands in a benchmark's FLOPs curves as level lines.

    Returns:
        ``reference`` (name), ``phenomenon`` (``all``: overall) and ``accuracy``: people's agreement, the mean over
        paradigms, where ``human=`` has it, then every folder of scores of a model (step -1), over pairs.
    """
    rows = scored.rows
    models = rows[(rows["step"] == -1) & (rows["linking"] == scored.linking) & (rows["split"] == "all")]
    table = models[["run", "phenomenon", "accuracy"]].rename(columns={"run": "reference"})
    people = human_of(scored)
    if people is not None:
        levels = people.rename(columns={"macro": "accuracy"})[["phenomenon", "accuracy"]].dropna()
        table = pd.concat([levels.assign(reference="human"), table])
    return table.astype({"reference": str, "phenomenon": str})[["reference", "phenomenon", "accuracy"]]
