import threading

import numpy as np
import pytest
import torch

from train.data.prefetch import Prefetcher
from train.run import trainer
from train.run.prepare import prepare
from train.run.run import train_run


def place(windows):
    return torch.from_numpy(windows)


def threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("batches")]


def test_every_batch_is_that_of_its_step(settings_of):
    batches = prepare(settings_of()).batches
    with Prefetcher(batches, place, last=6) as ahead:
        for step in (3, 4, 5, 6, 2):
            windows, share = ahead.of_step(step)
            assert np.array_equal(windows, batches.of_step(step))
            assert np.array_equal(share.numpy(), windows)
    assert not threads()


class Recording:
    """Batches that note which steps were asked for, and fail at one of them."""

    def __init__(self, failing=0):
        self.steps, self.failing, self.prepared = [], failing, threading.Semaphore(0)

    def of_step(self, step):
        self.steps.append(step)
        self.prepared.release()
        if step == self.failing:
            raise OSError("the disk is gone")
        return np.zeros((2, 3), dtype=np.int64)


def test_the_next_batch_is_prepared_before_it_is_asked_for():
    batches = Recording()
    with Prefetcher(batches, place, last=2) as ahead:
        ahead.of_step(1)
        assert batches.prepared.acquire(timeout=60)
        assert batches.prepared.acquire(timeout=60)
        ahead.of_step(2)
    assert batches.steps == [1, 2], "nothing beyond the last step, and nothing twice"


def test_an_error_of_the_thread_belongs_to_its_step():
    with pytest.raises(OSError, match="the disk is gone"), Prefetcher(Recording(failing=2), place, last=3) as ahead:
        assert ahead.of_step(1)[1].shape == (2, 3)
        ahead.of_step(2)
    assert not threads()


def test_a_run_has_the_same_bytes_without_looking_ahead(settings_of, monkeypatch):
    class OneByOne(Prefetcher):
        def of_step(self, step):
            return self._prepare(step)

    def trained(name):
        settings = settings_of(f"name={name}")
        train_run(settings)
        return {path.parent.name: path.read_bytes() for path in settings.folder.glob("checkpoints/*/*.safetensors")}

    ahead = trained("ahead")
    monkeypatch.setattr(trainer, "Prefetcher", OneByOne)
    assert trained("one") == ahead
