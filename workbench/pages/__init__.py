"""What the browser gets: the pages of the rooms, their scripts and their style."""

from jinja2 import Environment, PackageLoader, StrictUndefined

_TEMPLATES = Environment(
    loader=PackageLoader("ucurve.workbench.pages"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
    lstrip_blocks=True,
)  # fmt: skip


def render(template: str, **values: object) -> str:
    """Return the markup of a page; texts among the values never become markup."""
    return _TEMPLATES.get_template(template).render(**values)
