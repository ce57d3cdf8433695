"""The held-out loss of every checkpoint, and ``held_out.csv``, where it is written."""

import functools
import itertools
import math
import operator

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedModel

from ucurve.huggingface.pretrained import ModelClass, load_model
from ucurve.progress import log_line
from ucurve.storage.facts import own_faults, read_run_facts
from ucurve.storage.faults import refuse_faults
from ucurve.storage.run_folder import HELD_OUT, MANIFEST, checkpoint_folder
from ucurve.training.engine.processes import Processes
from ucurve.training.model.design import NOT_PREDICTED
from ucurve.training.model.view import compute_in_view
from ucurve.training.run.prepare import PreparedRun
from ucurve.training.run_folder.checkpoint import find_faults
from ucurve.training.run_folder.records import RunRecord

LossSums = NDArray[np.float64]  # of all targets, and of the tokens between documents; shape [2]

_POSITIONS = 512  # in one forward pass on a processor; their logits are in memory at once
_LOGIT_BYTES = 2**30  # of float32 logits of one pass elsewhere


class HeldOutLog:
    """Measures the loss of stored checkpoints on the held-out text for ``held_out.csv``, which rank 0 writes.

    The loss is that of exactly the weights that are stored. A missing or changed line is computed again from them.
    """

    def __init__(self, run: PreparedRun, record: RunRecord, device: torch.device, processes: Processes) -> None:
        self._run, self._record, self._device, self._processes = run, record, device, processes

    def measure(self, step: int) -> dict[str, float]:
        """Write the line of a checkpoint and return its losses by name, if there is held-out text.

        Every process calls this and measures its share.

        Raises:
            DamagedError: when the line of an earlier step is missing and its checkpoint is not what was written.
        """
        if self._run.store.held_out is None:
            return {}
        before = self._processes.run_on_rank0(lambda: self._lines_before(step))
        lines = {earlier: line or self._line(earlier) for earlier, line in before.items()}
        lines[step] = self._line(step)  # a resumed run repeats those of later steps
        columns = self._run.plan.settings.held_out_columns
        text = "".join(f"{line}\n" for line in (",".join(columns), *lines.values()))
        self._processes.run_on_rank0(lambda: self._record.write_file(HELD_OUT, text))
        values = dict(zip(columns, lines[step].split(","), strict=True))
        return {name: float(values[name]) for name in ("loss", "bits_per_byte", "masked_loss") if name in values}

    def _lines_before(self, step: int) -> dict[int, str | None]:
        """Return the lines of the checkpoints before a step, None for one that has to be measured."""
        run = self._run.folder
        written = self._read_lines()
        lines: dict[int, str | None] = {}
        for earlier in (one for one in self._run.plan.checkpoint_steps if one < step):
            folder = checkpoint_folder(run, earlier)
            if earlier in written:
                lines[earlier] = written[earlier]
            elif (folder / MANIFEST).exists():
                refuse_faults(find_faults(folder), f"restore it from a copy; {HELD_OUT} needs its loss")
                lines[earlier] = None
        return lines

    def _read_lines(self) -> dict[int, str]:
        """Return the lines of the file by step; empty where it is missing or not what was written."""
        run = self._run.folder
        if not (run / HELD_OUT).is_file():
            return {}
        faults = own_faults(run, read_run_facts(run), [HELD_OUT])
        if faults:
            log_line(f"{'; '.join(faults)}; the held-out loss is measured again")
            return {}
        lines = (run / HELD_OUT).read_text(encoding="utf-8").splitlines()[1:]
        return {int(line.partition(",")[0]): line for line in lines}

    def _line(self, step: int) -> str:
        """Measure a checkpoint in all processes, and return its line of ``held_out.csv``."""
        store, plan, batch = self._run.store, self._run.plan, self._run.plan.settings.batch
        assert store.held_out is not None, "only a run with held-out text has lines"
        # Of int64, shape [tokens].
        ids = store.held_out.ids
        masking = None if plan.settings.objective.predicts_next else self._run.masking
        inputs, targets = (ids[:-1], ids[1:]) if masking is None else masking.held_out(ids, batch.length)

        def measure_own() -> dict[int, LossSums]:
            checkpoint = checkpoint_folder(self._run.folder, step)
            kind: ModelClass = "AutoModelForCausalLM" if masking is None else "AutoModelForMaskedLM"
            model = load_model(checkpoint, kind, dtype=torch.float32)[0]
            torch.nn.Module.to(model, self._device)
            rank, size = self._processes.rank, self._processes.size
            return window_losses(model, inputs, targets, batch.length, self._run.document_token, rank, size)

        # An error in one process is raised in all of them before results are exchanged.
        parts = self._processes.gather(self._processes.run_on_all(measure_own))
        loss_sum, of_separators = add_up(
            {number: sums for part in parts for number, sums in part.items()}
        ).tolist()
        predicted = targets[targets != NOT_PREDICTED]
        tokens = step * batch.tokens
        cells: tuple[float, ...] = (step, tokens, plan.flops(tokens), loss_sum / max(1, len(predicted)))
        if masking is not None:
            return ",".join(map(repr, (*cells, len(predicted))))
        size = store.held_out.facts.bytes
        # Both are bits per byte of the text: of its own tokens, and of the tokens between documents.
        bits = [nats / math.log(2) / size for nats in (loss_sum - of_separators, of_separators)]
        return ",".join(map(repr, (*cells, *bits, len(predicted), size)))


def add_up(losses: dict[int, LossSums]) -> LossSums:
    """Add up losses in the order of their numbers, which one process and several have in common."""
    return functools.reduce(operator.add, (losses[number] for number in sorted(losses)), np.zeros(2))


@torch.no_grad()
def window_losses(
    model: PreTrainedModel,
    inputs: NDArray[np.int64],
    targets: NDArray[np.int64],
    length: int,
    separator: int,
    first: int = 0,
    every: int = 1,
) -> dict[int, LossSums]:
    """Return the loss of passes over the windows in nats, by their number: every so many, from the first on.

    It is summed over all targets, and over those that are ``separator``, the token between documents. Inputs and
    targets have shape [tokens]; a target may be ``NOT_PREDICTED``.
    """
    predicted = len(inputs)
    positions = _POSITIONS if model.device.type == "cpu" else _LOGIT_BYTES // (4 * model.config.vocab_size)
    whole, at_once = predicted // length * length, max(1, positions // length) * length
    # The last pass is what is left of the text, a window that is shorter than the others.
    passes = [
        (start, end)
        for start, end in itertools.pairwise([*range(0, whole, at_once), whole, predicted])
        if start < end
    ]
    losses: dict[int, LossSums] = {}
    for number in range(first, len(passes), every):
        start, end = passes[number]
        given, wanted = (torch.from_numpy(part[start:end]).to(model.device) for part in (inputs, targets))
        windows = given.view(-1, min(length, end - start))  # int64[windows, length]
        # Of float32, shape [windows * length, V].
        logits = (
            compute_in_view(model, windows, lambda ids, **keys: model(ids, **keys).logits).float().flatten(0, 1)
        )
        cross_entropies = torch.nn.functional.cross_entropy(
            logits, wanted, ignore_index=NOT_PREDICTED, reduction="none"
        )
        of_separators = cross_entropies[wanted == separator]  # float32[separators]
        losses[number] = np.array([float(part.double().sum()) for part in (cross_entropies, of_separators)])
    return losses
