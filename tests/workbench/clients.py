"""A client of the workbench without a server, let in as a browser is that opens the printed address."""

from starlette.testclient import TestClient

from ucurve.workbench.login import Login
from ucurve.workbench.server import make_app


def open_client(settings, rooms, base_url="http://127.0.0.1", **options):
    login = Login(settings.password)
    client = TestClient(make_app(settings, rooms, login), base_url=base_url, **options)
    if login.token is not None:
        client.get("/", params={"token": login.token}, follow_redirects=False)
    return client
