import signal


def pytest_configure() -> None:
    """Give tests of Ctrl-C children that can be interrupted.

    A shell that starts a command in the background makes it ignore SIGINT, and so would all of its children.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
