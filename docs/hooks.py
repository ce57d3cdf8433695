"""What `make docs` adds: colors of the report, notebooks, a list of modules, and a search without tables of numbers."""

import ast
import itertools
import json
import re
from html import escape, unescape
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = (*sorted(ROOT.glob("analysis/notebooks/*.ipynb")), *sorted(ROOT.glob("studies/*/*.ipynb")))
EXECUTED = ROOT / "cache" / "notebooks"  # where `make notebooks` writes them
PACKAGES = ("ucurve", "eval", "train", "generation", "validation", "analysis", "launch", "workbench")
_NUMBER = re.compile(r"[^A-Za-z]*\d[^A-Za-z]*")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the style sheet of the report's colors, a list of the modules, and a page for each notebook."""
    files.append(File.generated(config, "look.css", content=_look()))
    files.append(File.generated(config, "modules.md", content=list_modules()))
    for path in NOTEBOOKS:
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=_page(path)))
    return files


def on_page_content(html: str, page: Page, **_: object) -> str:
    """Put the outputs of a notebook into its page, and tables of numbers out of the search."""
    if page.file.src_uri.startswith("notebooks/"):
        outputs = _outputs(Path(page.file.src_uri).stem)
        return re.sub(r'<div data-output="(\d+)"></div>', lambda found: outputs[int(found[1])], html)
    return re.sub(r"<table>.*?</table>", lambda found: _without_numbers(found[0]), html, flags=re.DOTALL)


def _look() -> str:
    """The colors that follow the system's setting, for the button of the site that chooses light or dark."""
    text = (ROOT / "ucurve" / "look.css").read_text(encoding="utf-8")
    light, dark = re.findall(r":root \{(.*?)\n *\}", text, flags=re.DOTALL)
    return "\n".join([
        text, f'[data-md-color-scheme="default"] {{{light}\ncolor-scheme: light;}}',
        f'[data-md-color-scheme="slate"] {{{dark}\ncolor-scheme: dark;}}',
    ])  # fmt: skip


def list_modules() -> str:
    """Return the Markdown of all modules, by folder: what each is for, and its public functions and classes."""
    parts = [
        "# Modules",
        "What each file of the code is for, in the first line of its docstring, and its public functions and classes, "
        "in the order of the packages. [How the code is laid out](architecture.md) says how they work together.",
    ]
    paths = [
        path
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"), key=lambda path: (path.parent, path.name))
    ]
    for folder, modules in itertools.groupby(paths, key=lambda path: path.parent.relative_to(ROOT)):
        parts += [f"## {folder}", *map(_list_module, modules)]
    return "\n\n".join([*parts, ""])


def _list_module(path: Path) -> str:
    module = ast.parse(path.read_text(encoding="utf-8"))
    purpose = (ast.get_docstring(module) or "").partition("\n")[0]
    named = [node.name for node in module.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    public = ", ".join(f"`{name}`" for name in named if not name.startswith("_"))
    return f"- `{path.name}`: {purpose}" + (f" *Names:* {public}" if public else "")


def _page(path: Path) -> str:
    """The Markdown of a notebook, with a place for the outputs of each cell of code."""
    parts = []
    for number, cell in enumerate(_cells(path)):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        else:
            parts += [f"```python\n{source}\n```", f'<div data-output="{number}"></div>']
    kept = f"*The file is `{path.relative_to(ROOT)}`; `make notebooks` runs it.*"
    return "\n\n".join([*parts, kept, ""])


def _cells(path: Path) -> list[dict]:
    executed = EXECUTED / path.name
    return json.loads((executed if executed.is_file() else path).read_text(encoding="utf-8"))["cells"]


def _outputs(name: str) -> list[str]:
    """Return the outputs of each cell as HTML."""
    [path] = [path for path in NOTEBOOKS if path.stem == name]
    return [
        f'<div class="output" data-search-exclude>{"".join(map(_output, cell.get("outputs", ())))}</div>'
        for cell in _cells(path)
    ]


def _output(output: dict) -> str:
    data = output.get("data", {})
    if "text/html" in data:
        return "".join(data["text/html"])
    if "image/png" in data:
        return f'<img alt="" src="data:image/png;base64,{"".join(data["image/png"]).strip()}">'
    text = "".join(data.get("text/plain", output.get("text", "")))
    return f"<pre>{escape(text)}</pre>" if text else ""


def _without_numbers(table: str) -> str:
    """Exclude a table from the search if most of its cells are numbers."""
    cells = [
        unescape(re.sub(r"<.*?>", "", cell)).strip()
        for cell in re.findall(r"<td.*?>(.*?)</td>", table, re.DOTALL)
    ]
    numbers = sum(_NUMBER.fullmatch(cell) is not None for cell in cells)
    return table.replace("<table>", "<table data-search-exclude>", 1) if numbers > len(cells) / 2 else table
