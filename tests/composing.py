"""A memory for Hydra, which takes as long to compose a configuration as a small model to train."""

import contextlib
import functools
from unittest import mock

import hydra
from hydra.core.config_store import ConfigStore

from ucurve import config
from ucurve.arguments import SEARCHPATH


@contextlib.contextmanager
def composing_once():
    """Let each combination of groups be composed once, and the files of each command be stored once.

    Before it composes, Hydra copies all files that are stored, which is half of its work; it changes none of them.
    """
    with (
        mock.patch.object(ConfigStore, "__deepcopy__", lambda store, _: store, create=True),
        mock.patch.object(hydra, "compose", remembering(hydra.compose)),
        mock.patch.object(config, "_stored", keeping_repositories(config._stored)),
    ):
        yield


def remembering(compose):
    """Return ``hydra.compose`` with a memory; folders of one's own are read each time."""
    known = functools.cache(lambda name, *overrides: compose(name, list(overrides)))

    def remembered(name, overrides):
        own_folders = any(override.startswith(SEARCHPATH) for override in overrides)
        return compose(name, overrides) if own_folders else known(name, *overrides)

    return remembered


def keeping_repositories(stored):
    """Return what tells Hydra the files of a command, made from the files once for each command."""
    repositories = {}

    @contextlib.contextmanager
    def kept(name):
        store = ConfigStore.instance()
        if name not in repositories:
            with stored(name):
                repositories[name] = store.repo
        before, store.repo = store.repo, repositories[name]
        try:
            yield
        finally:
            store.repo = before

    return kept
