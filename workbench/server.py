"""The application: the start page, the pages of the rooms and their requests, behind the gate."""

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from importlib.resources import files

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from ucurve.analysis.data.runs import find_runs
from ucurve.errors import UcurveError, UserError
from ucurve.workbench.explore.library import list_scores, no_runs
from ucurve.workbench.explore.room import explore_room
from ucurve.workbench.judge.questionnaires import Questionnaires
from ucurve.workbench.judge.room import judge_room
from ucurve.workbench.login import LOGIN, Login
from ucurve.workbench.pages import render
from ucurve.workbench.replies import in_thread, json_route
from ucurve.workbench.room import File, Room
from ucurve.workbench.security import STATIC, Gate
from ucurve.workbench.settings import WorkbenchSettings
from ucurve.workbench.write.projects import describe_projects
from ucurve.workbench.write.room import write_room


def start_values(settings: WorkbenchSettings) -> dict[str, object]:
    """Return what ``templates/start.html`` shows; runs that cannot be read are replaced by the reason."""
    values: dict[str, object] = {
        "projects": describe_projects(settings.projects),
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


def make_rooms(settings: WorkbenchSettings) -> list[Room]:
    """Make the rooms, which share nothing but the settings; their order is that of the menu."""
    # Most people come for the curves, so these are first.
    return [explore_room(settings), write_room(settings), judge_room(settings)]


def make_app(settings: WorkbenchSettings, rooms: Sequence[Room], login: Login) -> Starlette:
    """Make the application: the start page, and the pages of the rooms in the order of the menu."""

    async def start(request: Request) -> Response:
        del request
        return HTMLResponse(
            render("start.html", room=None, rooms=rooms, **await in_thread(start_values, settings))
        )

    routes = [
        Route("/", start),
        Route(LOGIN, login.show),
        Route(LOGIN, login.read, methods=["POST"]),
        # Before the folder of the same address, since the first route that fits is taken.
        Route(f"{STATIC}vega.js", _vega),
        Route(f"{STATIC}look.css", _look),
        Mount(STATIC.rstrip("/"), StaticFiles(packages=[("ucurve.workbench.pages", "static")])),
    ]
    for room in rooms:
        routes.append(Route(f"/{room.name}", partial(_page, room, rooms)))
        routes += [
            Route(f"/{room.name}/api/{action.path}", json_route(action.handler), methods=[action.method])
            for action in room.actions
        ]
        if room.files is not None:
            routes.append(Route(f"/{room.name}/files/{{path:path}}", partial(_file, room.files)))

    @contextlib.asynccontextmanager
    async def until_it_ends(app: Starlette) -> AsyncIterator[None]:
        del app
        yield
        for room in rooms:
            room.end()

    gate = Middleware(Gate, settings=settings, login=login)
    return Starlette(routes=routes, middleware=[gate], lifespan=until_it_ends)


async def _page(room: Room, rooms: Sequence[Room], request: Request) -> Response:
    """Send the page of a room, with the menu of all."""
    del request
    return HTMLResponse(render(f"{room.name}.html", room=room, rooms=rooms))


async def _file(find: Callable[[str], File], request: Request) -> Response:
    """Send a file of a room under the policy of its own."""
    try:
        file = await in_thread(find, request.path_params["path"])
    except UserError as error:
        return PlainTextResponse(str(error), 404)
    return Response(
        file.content, headers={"Content-Type": file.media_type, "Content-Security-Policy": file.policy}
    )


async def _look(request: Request) -> Response:
    """Send the colors and letters that the report has too."""
    del request
    return Response((files("ucurve") / "look.css").read_bytes(), media_type="text/css")


async def _vega(request: Request) -> Response:
    """Send the libraries that draw the charts."""
    from ucurve.analysis.charts.offline import vega_script

    del request
    return Response(vega_script(), media_type="text/javascript")
