import threading
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.train.run.test_objectives import BERT
from ucurve.training.data.prefetch import Prefetcher
from ucurve.training.engine.processes import Processes
from ucurve.training.run import trainer
from ucurve.training.run.prepare import prepare
from ucurve.training.run.run import train_run


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


@pytest.mark.parametrize("size", [1, 2, 8])
@pytest.mark.parametrize("given", [(), BERT], ids=["causal", "masked"])
def test_each_process_reads_its_own_sequences_alone(settings_of, given, size):
    prepared = prepare(settings_of(*given))
    whole = prepared.batches.of_step(3)
    shares = []
    for rank in range(size):
        processes = Processes(rank, size)
        store = Counting(prepared.store)
        if given:
            batches = replace(prepared.batches, batches=replace(prepared.batches.batches, store=store))
        else:
            batches = replace(prepared.batches, store=store)
        with Prefetcher(batches, place, 3, processes.share, reads_all=processes.is_rank0) as ahead:
            shares.append(ahead.of_step(3)[1].numpy())
        assert store.sequences == (len(whole) if rank == 0 else len(whole) // size)
    assert np.array_equal(np.concatenate(shares), whole)


class Counting:
    """A token stream that counts the sequences that are read."""

    def __init__(self, store):
        self.store, self.sequences = store, 0

    def windows(self, starts, length):
        self.sequences += len(starts)
        return self.store.windows(starts, length)


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
    with (
        pytest.raises(OSError, match="the disk is gone"),
        Prefetcher(Recording(failing=2), place, last=3) as ahead,
    ):
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
        return {
            path.parent.name: path.read_bytes() for path in settings.folder.glob("checkpoints/*/*.safetensors")
        }

    ahead = trained("ahead")
    monkeypatch.setattr(trainer, "Prefetcher", OneByOne)
    assert trained("one") == ahead
