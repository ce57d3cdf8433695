"""Compare the numbers of a CSV file with those that were computed again, and print what differs."""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NoReturn

import numpy as np
import numpy.typing as npt
import pandas as pd

TOLERANCE = 2e-5  # relative: the CSV files have six significant digits
ROUNDING = 1e-9  # absolute: what rounding leaves of 0
_MOST_PRINTED = 3


class Comparison:
    """Counts what was compared of each CSV file, and keeps which columns were."""

    def __init__(self) -> None:
        self.numbers, self.differ = 0, 0
        self.largest = 0.0  # relative difference of numbers in which nothing is drawn
        self._columns: dict[str, set[str]] = {}

    def add(self, name: str, columns: Sequence[str], numbers: int, differ: int) -> None:
        """Count numbers of some columns of a CSV file."""
        self._columns.setdefault(name, set()).update(columns)
        self.numbers, self.differ = self.numbers + numbers, self.differ + differ

    def end(self, page: Mapping[str, pd.DataFrame]) -> NoReturn:
        """Print the sums and the columns that nothing was compared with; exit with 1 where something differs."""
        for name, table in page.items():
            if left := [str(column) for column in table if column not in self._columns.get(name, set())]:
                sys.stdout.write(f"not computed again, {name}: {', '.join(left)}\n")
        sys.stdout.write(
            f"{self.numbers} numbers and classes were computed again, {self.differ} differ; the largest relative "
            f"difference of those that are not drawn is {self.largest:.1e}\n"
        )
        sys.exit(int(self.differ > 0))

    def tables(self, name: str, again: pd.DataFrame, page: pd.DataFrame, keys: Sequence[str]) -> None:
        """Compare the columns that both tables have.

        A number with ``<name>_least`` and ``<name>_most`` agrees between these two, any other one up to rounding. Rows
        of the page that are not found again are differences; so are rows that the page lacks.
        """
        keyed = [_with_keys(table, keys) for table in (page, again)]
        both = keyed[0].merge(
            keyed[1], how="outer", on="key", suffixes=("", "_again"), indicator=True, validate="1:1"
        )
        sides = Counter(both["_merge"].astype(str))
        both = both[both["_merge"] == "both"]
        missing = sides["left_only"] + sides["right_only"]
        columns = [str(column) for column in page if column in again and column not in keys]
        differ = missing
        for column in columns:
            agree = self._agree(both, column)
            differ += int((~agree).sum())
            for row in both[~agree].head(_MOST_PRINTED).to_dict("records"):
                sys.stdout.write(
                    f"  {name}, {column} of {row['key']}: {row[column]} and {row[f'{column}_again']}\n"
                )
        self.add(name, [*keys, *columns], len(both) * len(columns), differ)
        sys.stdout.write(
            f"{name}: {len(both)} rows ({', '.join(map(str, columns))}), {differ} differ"
            + (f"; {missing} rows are on one side only\n" if missing else "\n")
        )

    def _agree(self, both: pd.DataFrame, column: str) -> npt.NDArray[np.bool_]:
        page, again = both[column], both[f"{column}_again"]
        if not (pd.api.types.is_numeric_dtype(page) and pd.api.types.is_numeric_dtype(again)):
            return np.asarray(page.fillna("").astype(str) == again.fillna("").astype(str), dtype=bool)
        one, other = page.to_numpy(float), again.to_numpy(float)
        if f"{column}_least" in both:
            least, most = (both[f"{column}_{end}"].to_numpy(float) for end in ("least", "most"))
            slack = np.where(np.isfinite(one), TOLERANCE * abs(one) + ROUNDING, 0)
            is_inside = (least - slack <= one) & (one <= most + slack)
            return np.asarray((np.isnan(one) & np.isnan(other)) | is_inside)
        apart = abs(one - other) / np.maximum(abs(one), ROUNDING)
        known = apart[(abs(one - other) > ROUNDING) & np.isfinite(apart)]
        self.largest = max(self.largest, float(known.max(initial=0)))
        return np.asarray(np.isclose(one, other, rtol=TOLERANCE, atol=ROUNDING, equal_nan=True))


def _with_keys(table: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Add the key of each row; large numbers in it are rounded in the CSV files."""
    rows = table[list(keys)].itertuples(index=False, name=None)
    return table.assign(
        key=[", ".join(f"{one:.5g}" if isinstance(one, float) else str(one) for one in row) for row in rows]
    )
