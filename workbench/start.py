"""What the start page lists: the runs, the projects and the questionnaires that there are."""

from ucurve.analysis.data.runs import find_runs
from ucurve.errors import UcurveError
from ucurve.workbench.explore.library import list_scores, no_runs
from ucurve.workbench.judge.questionnaires import Questionnaires
from ucurve.workbench.settings import WorkbenchSettings
from ucurve.workbench.write.projects import list_projects


def start_values(settings: WorkbenchSettings) -> dict[str, object]:
    """Return what ``templates/start.html`` shows; runs that cannot be read are replaced by the reason."""
    values: dict[str, object] = {
        "projects": [
            {"project": one.name, "templates": len(one.template_names())} for one in list_projects(settings.projects)
        ],
        "questionnaires": Questionnaires(settings.projects).names(),
    }
    patterns = settings.run_patterns()
    try:
        runs = find_runs(patterns) if patterns else []
    except UcurveError as error:
        return {**values, "runs": [], "no_runs": str(error)}
    return {
        **values,
        "runs": [
            {
                "run": run.label,
                "status": run.status,
                "checkpoints": len(run.saved),
                "benchmarks": sorted({str(scored["benchmark"]) for scored in list_scores(run)}),
            }
            for run in runs
        ],
        "no_runs": no_runs(),
    }
