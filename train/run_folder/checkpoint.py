"""Checkpoints: Hugging Face folders with a manifest, written completely or not at all, and compared with the model."""

import shutil
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from ucurve.errors import DamagedError, RunError, UserError
from ucurve.eval.scoring.loading import evaluating
from ucurve.huggingface.pretrained import ModelClass, load_model
from ucurve.huggingface.tokenizer_files import tokenizer_sha256
from ucurve.storage.facts import CheckpointFacts, Manifest, read_manifest, write_manifest
from ucurve.storage.faults import listed_faults
from ucurve.storage.files import contents, disk_faults, link_or_copy, new_folder, sha256_file
from ucurve.storage.run_folder import MANIFEST, WEIGHTS, checkpoint_folder, step_name
from ucurve.training.model.masked import is_masked
from ucurve.training.tokenizer.folder import tokenizer_files

if TYPE_CHECKING:  # a manifest is read and checked without torch
    import torch
    from transformers import PreTrainedModel


_PROBE_TOKENS = 32  # they are spread over the vocabulary


def write_checkpoint(run: Path, model: "PreTrainedModel", tokenizer: Path, facts: CheckpointFacts) -> Path:
    """Write the float32 weights of a checkpoint, read it back, compare it with the model, and return its folder.

    Raises:
        RunError: when files or weights differ.
    """
    folder = checkpoint_folder(run, facts.step)
    with new_folder(folder) as temporary:
        _save_model(model, temporary)
        for name in tokenizer_files(tokenizer):
            shutil.copyfile(tokenizer / name, temporary / name)
        write_manifest(temporary, describe_files(temporary, facts))
    problems = find_faults(folder)
    if problems:
        raise RunError("a checkpoint read back differs from what was written: " + "; ".join(problems))
    if not holds_weights(folder, model):
        raise RunError(f"{folder / WEIGHTS}: the weights read back differ from the live model's")
    return folder


def copy_checkpoint(source: Path, run: Path, facts: CheckpointFacts) -> None:
    """Give a run the checkpoint of another run at the step of ``facts``, with a manifest of its own.

    Raises:
        RunError: when the checkpoint is not what was written.
    """
    folder = checkpoint_folder(source, facts.step)
    if problems := find_faults(folder):
        raise RunError(f"{folder} cannot be copied: {'; '.join(problems)}; restore it from a copy")
    with new_folder(checkpoint_folder(run, facts.step)) as temporary:
        for file in contents(folder):
            if file.name != MANIFEST:
                # Files of a checkpoint are replaced and never changed, so that two runs may share them.
                link_or_copy(file, temporary / file.name)
        write_manifest(temporary, describe_files(temporary, facts, read_manifest(folder).weights_sha256))


@evaluating
def _compute_probe(model: "PreTrainedModel") -> "torch.Tensor":
    """Compute the logits of a few fixed tokens over the whole vocabulary, in float32, shape [1, length, V]."""
    import torch

    length = min(_PROBE_TOKENS, getattr(model.config, "max_position_embeddings", _PROBE_TOKENS))
    tokens = torch.linspace(0, model.config.vocab_size - 1, length).long()[None]  # int64[1, length]
    logits: torch.Tensor = model(tokens.to(model.get_output_embeddings().weight.device)).logits
    return logits.float()


def find_faults(folder: Path) -> list[str]:
    """Compare a checkpoint folder with its manifest and name what differs."""
    try:
        manifest = read_manifest(folder)
    except DamagedError as error:
        return [str(error)]
    found = {path.name for path in contents(folder)} - {MANIFEST}
    problems = listed_faults(folder, manifest.files, found, "the manifest")
    # A folder that somebody renamed would be taken for another step.
    if step_name(manifest.step) != folder.name:
        problems.append(f"{folder}: the manifest is of step {manifest.step}")
    return problems


def _hide_progress_bars() -> None:
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()


def _load_as(model: "PreTrainedModel", folder: Path) -> tuple["PreTrainedModel", dict[str, Collection[str]]]:
    """Load a checkpoint as a model of the same class in float32, with a report on keys that its file lacks or adds."""
    import torch

    _hide_progress_bars()
    kind: ModelClass = "AutoModelForMaskedLM" if is_masked(model) else "AutoModelForCausalLM"
    return load_model(folder, kind, dtype=torch.float32)


def holds_weights(folder: Path, model: "PreTrainedModel") -> bool:
    """Tell whether a checkpoint's weights are there and those of the live model, bit for bit."""
    import torch

    if not (folder / WEIGHTS).is_file():
        return False
    loaded, report = _load_as(model, folder)
    if any(report.values()):  # new weights were drawn for keys that the file lacks
        return False
    saved, live = dict(loaded.named_parameters()), dict(model.named_parameters())
    return saved.keys() == live.keys() and all(
        torch.equal(saved[name], live[name].detach().cpu()) for name in live
    )


def remove_weights(folder: Path) -> None:
    """Remove the weights of a checkpoint; their hash stays in the manifest, and its files are listed without them."""
    manifest = read_manifest(folder)
    files = {name: digest for name, digest in manifest.files.items() if name != WEIGHTS}
    write_manifest(folder, manifest.model_copy(update={"files": files}))
    (folder / WEIGHTS).unlink()


def other_shape(folder: Path | str | None) -> UserError:
    """Return the error of a start whose weights do not fit the model."""
    return UserError(f"start={folder}: a model of another shape; give the model= that it was trained with")


def take_weights(folder: Path, model: "PreTrainedModel") -> None:
    """Give a model the weights of a checkpoint.

    Raises:
        UserError: when the model has another shape.
    """
    import torch

    loaded, _ = _load_as(model, folder)
    saved, live = dict(loaded.named_parameters()), dict(model.named_parameters())
    shapes = [{name: tuple(one.shape) for name, one in parameters.items()} for parameters in (saved, live)]
    if shapes[0] != shapes[1]:
        raise other_shape(folder)
    with torch.no_grad():
        for name, parameter in live.items():
            parameter.copy_(saved[name])


def _save_model(model: "PreTrainedModel", folder: Path) -> None:
    _hide_progress_bars()
    # safetensors wraps a full disk in an error of its own.
    with disk_faults():
        # All weights are in one file, whose hash is that of the weights.
        model.save_pretrained(folder, max_shard_size="1000GB")


def describe_files(folder: Path, facts: CheckpointFacts, weights_sha256: str | None = None) -> Manifest:
    """Return the manifest of what is in a folder; the hash is given of weights that may not be there."""
    files = {path.name: sha256_file(path) for path in contents(folder) if path.name != MANIFEST}
    return Manifest(
        **{name: getattr(facts, name) for name in CheckpointFacts.model_fields},
        weights_sha256=weights_sha256 or files[WEIGHTS],
        tokenizer_sha256=tokenizer_sha256(folder),
        files=files,
    )


def compare_logits(folder: Path, model: "PreTrainedModel") -> None:
    """Compare the logits of a written checkpoint and of the live model on a few tokens, to find a wrong export.

    Raises:
        RunError: when the checkpoint does not load, or the logits differ.
    """
    try:
        loaded = _load_as(model, folder)[0].to(model.get_output_embeddings().weight.device)
    except UserError as error:
        raise RunError(f"a checkpoint does not load after it was written: {error}") from error
    distance = (_compute_probe(loaded) - _compute_probe(model)).norm().item()
    # Written in this way, the check also fails on a distance that is not a number.
    if not distance <= 0:
        raise RunError(
            f"{folder}: the logits of the checkpoint read back differ from the live model's by {distance:.3g} (norm), "
            "allowed 0; the checkpoint is not what was trained"
        )
