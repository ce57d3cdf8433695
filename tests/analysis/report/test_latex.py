"""LaTeX of tables: a table by hand, signs that mean something to LaTeX, and which tables are written."""

import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ucurve.analysis.report.html import Column, ReportSection, TableView
from ucurve.analysis.report.latex import MOST_ROWS, escape_latex, latex_table, latex_tables, write_latex

COLUMNS = (
    Column("run", "Run"), Column("tokens", "Tokens", "count"), Column("accuracy", "Accuracy (%)", "percent"),
    Column("p", "p", "p"), Column("slope", "Δ_1", "number"),
)  # fmt: skip
TABLE = pd.DataFrame({
    "run": ["a_b-s0", "量词 50%"], "tokens": [3_000_000, None], "accuracy": [0.87654, float("nan")],
    "p": [0.00001, 0.25], "slope": [1.23456, -2.0],
})  # fmt: skip
WORDS = {
    r"\textbackslash{}": "\\", r"\textasciitilde{}": "~", r"\textasciicircum{}": "^", r"\textasciigrave{}": "`",
    r"\textless{}": "<", r"\textgreater{}": ">", r"\textbar{}": "|", r"$\Delta$": "Δ", r"$\alpha$": "α",
}  # fmt: skip
DOCUMENT = r"""\documentclass{article}
\usepackage{booktabs,graphicx,longtable,rotating}
\begin{document}
%s
\end{document}
"""


def unescape(text: str) -> str:
    """Read back what LaTeX prints, for the commands that are used and no other."""
    known = "|".join(map(re.escape, WORDS))
    return re.sub(
        rf"({known})|\\([&%#$_{{}}])|{{(\[|\*)}}|{{}}",
        lambda found: WORDS[found[1]] if found[1] else found[2] or found[3] or "",
        text,
    )


def rows_of(latex: str) -> list[list[str]]:
    """The cells between the rules of a ``tabular``, as they stand in the file."""
    body = latex.partition("\\midrule\n")[2].partition("\\bottomrule")[0]
    return [row.split(" & ") for row in body.removesuffix(" \\\\\n").split(" \\\\\n")]


def unescaped_braces(latex: str) -> list[str]:
    return re.findall(r"[{}]", re.sub(r"\\[\\{}]", "", latex))


def table_of(cell: str, note: str = "note") -> str:
    table = pd.DataFrame({"a": ["x"], "b": [cell]})
    return latex_table("name", TableView(note, (Column("b", "B"), Column("a", "A")), table))


def test_a_table_is_as_the_report_shows_it() -> None:
    expected = r"""% Needs \usepackage{booktabs,ctex} and XeLaTeX or LuaLaTeX, with a font that has all the letters.
\begin{table}[tbp]
\centering
\caption{Of 100 \% \& more.}
\label{tab:my_runs}
\begin{tabular}{lrrrr}
\toprule
Run & Tokens & Accuracy (\%) & p & $\Delta$\_1 \\
\midrule
a\_b-s0 & 3,000,000 & 87.65 & \textless{}0.0001 & 1.235 \\
量词 50\% & – & – & 0.2500 & -2 \\
\bottomrule
\end{tabular}
\end{table}
"""
    assert latex_table("my_runs", TableView("Of 100 % & more.", COLUMNS, TABLE)) == expected


@pytest.mark.parametrize(
    ("text", "latex"),
    {
        "every sign": (r"&%#$_{}~^\<>|`", r"\&\%\#\$\_\{\}\textasciitilde{}\textasciicircum{}\textbackslash{}"
                       r"\textless{}\textgreater{}\textbar{}\textasciigrave{}"),
        "a starred sentence": ("*The cats is * here", "{*}The cats is * here"),
        "a bracket after the end of a row": ("[a]", "{[}a]"),
        "signs that become one": ("a---b '' ,,", "a-{}-{}-b '{}' ,{},"),
        "lines": ("a\n\n b\t", "a b"),
        "signs that LaTeX refuses": ("a\x00\x7fb", "ab"),
        "Chinese": ("“他们”喜欢。", "“他们”喜欢。"),
    }.values(),
)  # fmt: skip
def test_text_is_written_so_that_it_is_printed_as_it_is(text: str, latex: str) -> None:
    assert escape_latex(text) == latex


@given(st.text(st.sampled_from("\\{}[]$%&*-',`~^_#<>|α0 \n\x00") | st.characters(exclude_categories=["Cs"])))
def test_any_text_in_a_cell_and_a_caption_is_read_back(text: str) -> None:
    printed = " ".join(re.sub(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]", "", text).split())
    latex = table_of(text, note=f"Note {text}")
    ((cell, other),) = rows_of(latex)
    caption = latex.partition("\\caption{")[2].partition("}\n\\label")[0]
    assert (unescape(cell), other) == (printed, "x")
    assert unescape(caption) == f"Note {printed}".strip()
    braces = unescaped_braces(latex)
    depths = [braces[:end].count("{") - braces[:end].count("}") for end in range(len(braces) + 1)]
    assert min(depths) == depths[-1] == 0


def test_the_first_line_names_the_packages() -> None:
    assert table_of("a").startswith("% Needs \\usepackage{booktabs}.\n")
    assert table_of("Größe – Δ").startswith("% Needs \\usepackage{booktabs}.\n")
    assert table_of("量").startswith("% Needs \\usepackage{booktabs,ctex} and XeLaTeX or LuaLaTeX")
    assert table_of("число").startswith("% Needs \\usepackage{booktabs} and XeLaTeX or LuaLaTeX")


@pytest.mark.parametrize(
    ("columns", "packages", "environment"),
    [
        (1, "booktabs", "table"),
        (3, "booktabs,graphicx", "table"),
        (4, "booktabs,rotating,graphicx", "sidewaystable"),
    ],
)
def test_a_wide_table_is_made_smaller_and_a_very_wide_one_is_turned(
    columns: int, packages: str, environment: str
) -> None:
    view = TableView("note", tuple(Column("a", "a" * 40) for _ in range(columns)), pd.DataFrame({"a": ["b"]}))
    latex = latex_table("name", view)
    assert latex.startswith(f"% Needs \\usepackage{{{packages}}}.\n\\begin{{{environment}}}")
    scaled = "\\resizebox{\\linewidth}{!}{%\n\\begin{tabular}" in latex
    assert scaled == (f"\\end{{tabular}}}}\n\\end{{{environment}}}" in latex) == (columns > 1)


def test_a_long_text_is_broken_into_lines() -> None:
    assert "{p{6cm}l}" in table_of("many words " * 9)


def test_a_table_longer_than_a_page_repeats_its_headings() -> None:
    latex = latex_table(
        "n", TableView("note", (Column("a", "A", "count"),), pd.DataFrame({"a": range(1000, 1090)}))
    )
    assert latex.startswith("% Needs \\usepackage{booktabs,longtable}.\n\\begin{longtable}{r}\n")
    assert all(f"\n1,{place:03d} \\\\\n" in latex for place in range(90))
    assert latex.count("\nA \\\\\n") == 2


def test_every_csv_file_has_its_table_except_long_ones_that_are_not_shown() -> None:
    part, other = TABLE.head(1), pd.DataFrame({"is_odd": [True], "n": [1234], "share": [0.123456]})
    long = pd.DataFrame({"n": range(MOST_ROWS + 1)})
    missing = pd.DataFrame({"a": ["x"]})
    section = ReportSection(
        "Numbers",
        (
            TableView("shown", COLUMNS, part, {"runs": TABLE, "other": other, "missing": missing}),
            TableView("absent", (Column("a", "Absent"),), missing),
        ),
        {"long": long, "nothing": pd.DataFrame()},
    )
    tables = latex_tables(section)
    assert list(tables) == ["runs", "other", "missing"]
    assert "\\caption{shown}" in tables["runs"]
    assert len(rows_of(tables["runs"])) == 1
    assert "\\caption{All columns of other.csv.}" in tables["other"]
    assert "is\\_odd & n & share \\\\" in tables["other"]
    assert rows_of(tables["other"]) == [["True", "1,234", "0.1235"]]
    assert "Absent \\\\" in tables["missing"]


def test_a_long_table_that_the_report_shows_is_written() -> None:
    long = pd.DataFrame({"n": range(MOST_ROWS + 1)})
    section = ReportSection("s", (TableView("note", (Column("n", "N"),), long, {"long": long}),))
    assert list(latex_tables(section)) == ["long"]


def test_a_tex_program_reads_the_tables(tmp_path: Path) -> None:
    program = next((found for name in ("pdflatex", "tectonic") if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip("no LaTeX on PATH (looked for pdflatex, tectonic)")
    table = TABLE.assign(run=[r"*[&%#$_{}~^\<>|`--", "[a] Größe"])
    long, wide = pd.concat([table] * 40), tuple(COLUMNS * 5)
    views = [TableView("A_b & c", COLUMNS, one, {name: one}) for name, one in (("short", table), ("long", long))]
    section = ReportSection("s", (*views, TableView("wide", wide, table, {"wide": pd.DataFrame()})))
    paths = write_latex(section, tmp_path)
    assert [path.name for path in paths] == ["short.tex", "long.tex", "wide.tex"]
    inputs = "\n".join(f"\\input{{{path.name}}}" for path in paths)
    (tmp_path / "all.tex").write_text(DOCUMENT % inputs)
    options = ["-interaction=nonstopmode", "-halt-on-error", "-draftmode"] if program.endswith("pdflatex") else []
    command = [program, *options, "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
