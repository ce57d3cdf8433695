"""Means of the weights of checkpoints: a run folder of its own, made of a finished run without training."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from ucurve.errors import UserError
from ucurve.eval.models.targets import Target, run_targets
from ucurve.fields import format_names
from ucurve.huggingface.foreign_code import WEIGHT_FILES
from ucurve.progress import log_line
from ucurve.storage.facts import RunFacts, read_manifest, read_run_facts, write_manifest, write_run_facts
from ucurve.storage.files import contents, link_or_copy, new_folder, remove_leftovers, sha256_file, sha256_json
from ucurve.storage.locks import only_writer
from ucurve.storage.run_folder import HELD_OUT, MANIFEST, METRICS, TOKENIZER, checkpoint_folder


def average_runs(runs: Sequence[Path], last: int) -> list[Path]:
    """Return the run folders of the means of ``last`` checkpoints of runs; folders of means are passed over."""
    facts = {run: read_run_facts(run) for run in runs}
    trained = {run: one for run, one in facts.items() if one is None or one.averaged is None}
    if not trained:
        raise UserError(f"average={last}: {', '.join(map(str, runs))} is the mean of checkpoints already")
    for run, one in trained.items():
        if one is None or not one.finished:
            raise UserError(f"average={last}: {run} is not finished, and its means would be of fewer checkpoints")
    return [_average_run(run, one, last) for run, one in trained.items() if one is not None]


def _average_run(run: Path, facts: RunFacts, last: int) -> Path:
    """Return the folder beside a run whose checkpoint at each step is the mean of the ``last`` ones up to that step.

    It is written unless it is there. The first steps, up to which there are fewer checkpoints, have the mean of those.
    The mean is that of Kaddour 2022 (*Stop Wasting My Time! Saving Days of ImageNet and BERT Training with Latest
    Weight Averaging*) and Sanyal et al. 2023 (*Early Weight Averaging meets High Learning Rates*).
    """
    targets = run_targets(run)
    hashes = [target.weights_sha256() for target in targets]
    folder = run.resolve().parent / f"{run.resolve().name}-average={last}"
    if not folder.exists():
        if without := [target.folder.name for target in targets if not target.has_weights]:
            raise UserError(
                f"average={last}: the weights of {format_names(without)} of {run} were removed by prune"
            )
        log_line(f"{folder}: writing the means of {last} checkpoints of {run}")
        with only_writer(folder):
            remove_leftovers(folder.parent, folder.name)  # of a process that was killed
            with new_folder(folder) as temporary:
                for end in range(1, len(targets) + 1):
                    begin = max(0, end - last)
                    _write_checkpoint(targets[begin:end], hashes[begin:end], temporary)
                files = {name: digest for name, digest in facts.files.items() if name != HELD_OUT}
                (temporary / TOKENIZER).mkdir()
                for name in (*files, METRICS):
                    link_or_copy(run / name, temporary / name)
                changed = {
                    "name": f"{facts.name}-average={last}",
                    "factors": {**facts.factors, "average": f"mean of {last} checkpoints"},
                    "cell_sha256": sha256_json([facts.cell_sha256, last]),
                    "averaged": last,
                    "held_out": None,
                    "files": files,
                }
                write_run_facts(temporary, facts.model_copy(update=changed))
    found = [read_manifest(target.folder).averaged for target in run_targets(folder)]
    if found != [tuple(hashes[max(0, end - last) : end]) for end in range(1, len(targets) + 1)]:
        raise UserError(
            f"{folder}: not the means of the checkpoints of {run}; remove it, and they are made again"
        )
    return folder


def _write_checkpoint(targets: Sequence[Target], hashes: Sequence[str], run: Path) -> None:
    """Write the mean of checkpoints as the one of the last of them, with its manifest but for the weights."""
    source, manifest = targets[-1].folder, targets[-1].manifest
    assert manifest is not None, "a checkpoint of a run has a manifest"
    folder = checkpoint_folder(run, targets[-1].step)
    folder.mkdir(parents=True)
    weights = {file.name for file in source.glob(WEIGHT_FILES["safetensors"])}
    for file in contents(source):
        if file.name in weights and len(targets) > 1:  # the mean of one is that one
            _write_mean([target.folder / file.name for target in targets], folder / file.name)
        elif file.name != MANIFEST:
            link_or_copy(file, folder / file.name)
    files = {
        name: sha256_file(folder / name) if name in weights else digest for name, digest in manifest.files.items()
    }
    # A checkpoint of this suite has one file of weights.
    (weights_sha256,) = (files[name] for name in weights)
    changed = {"weights_sha256": weights_sha256, "files": files, "averaged": tuple(hashes)}
    write_manifest(folder, manifest.model_copy(update=changed))


def _write_mean(files: Sequence[Path], target: Path) -> None:
    """Write the mean of each tensor: added in float32, the first file first, and divided by their number."""
    from safetensors import safe_open
    from safetensors.torch import save_file

    with ExitStack() as stack:
        opened = [stack.enter_context(safe_open(file, "pt")) for file in files]
        mean = {}
        for name in opened[0].keys():  # noqa: SIM118 - it is no mapping
            total = opened[0].get_tensor(name)
            for other in opened[1:]:
                total += other.get_tensor(name)
            mean[name] = total / len(files)
        save_file(mean, target, metadata={"format": "pt"})
