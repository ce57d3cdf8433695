"""Refuses folders that look like a model but hold none, by their files, before anything is built or loaded."""

import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ucurve.errors import UserError
from ucurve.storage.files import read_json_or_empty

_POINTER = b"version https://git-lfs.github.com/spec/"
_LONGEST_POINTER = 1024  # bytes, by the specification of Git LFS
_ADAPTER = "adapter_config.json"
_LAYERS = re.compile(r"num_((hidden|encoder|decoder)_)?layers|n_layers?|(encoder|decoder)_layers")


def refuse_pointers(folder: Path, patterns: Iterable[str]) -> None:
    """Refuse files of a clone that has the pointers of Git LFS in place of large files."""
    files = sorted({file for pattern in patterns for file in folder.glob(pattern) if file.is_file()})
    small = [file for file in files if file.stat().st_size <= _LONGEST_POINTER]
    pointers = [file.name for file in small if file.read_bytes().startswith(_POINTER)]
    if pointers:
        verb = (
            "is a Git LFS pointer, not the file" if len(pointers) == 1 else "are Git LFS pointers, not the files"
        )
        raise UserError(f"{folder}: {', '.join(pointers)} {verb}: run git lfs pull in that folder")


def refuse_adapter(folder: Path) -> None:
    """Refuse an adapter, whose weights are added to those of a model that is elsewhere."""
    path = folder / _ADAPTER
    if path.exists():
        base = read_json_or_empty(path).get("base_model_name_or_path")
        model = f"the model {base!r}" if base else "a model"
        raise UserError(
            f"{path}: the folder holds an adapter (PEFT, such as LoRA) for {model}; merge it into it first"
        )


def only_gguf(folder: Path) -> str:
    """Say what to do with the GGUF files of a folder without other weights; nothing where there are none."""
    found = sorted(folder.glob("*.gguf"))
    if not found:
        return ""
    return (
        f"; {found[0].name} is GGUF, which is to be converted first: transformers reads it with "
        f"from_pretrained(FOLDER, gguf_file={found[0].name!r}), and save_pretrained writes safetensors"
    )


def refuse_more_layers(folder: Path, config: Mapping[str, object], files: Iterable[Path]) -> None:
    """Refuse a number of layers in ``config.json`` that the weights cannot have, before as many layers are built."""
    tensors = [_count_tensors(file) for file in files]
    held = sum(number or 0 for number in tensors)
    for key, layers in _integers(config) if tensors and None not in tensors else ():
        if _LAYERS.fullmatch(key) and layers > held:  # every layer has a tensor of its own at least
            raise UserError(
                f"{folder / 'config.json'}: {key} is {layers:,}, but the weights hold {held:,} tensors in all; "
                "config.json is not that of these weights"
            )


def _integers(value: object) -> Iterator[tuple[str, int]]:
    """Yield the whole numbers of a configuration and of its parts, such as ``text_config``, with their keys."""
    for key, inner in value.items() if isinstance(value, dict) else ():
        if isinstance(inner, int):
            yield key, inner
        yield from _integers(inner)


def _count_tensors(file: Path) -> int | None:
    """Count the tensors of a file; None for one that is broken or of an old form, of which loading tells more."""
    from safetensors import SafetensorError, safe_open

    try:
        if file.suffix == ".safetensors":
            with safe_open(file, framework="np") as opened:
                return len(opened.keys())
        with zipfile.ZipFile(file) as archive:
            # ``torch.save`` keeps each tensor as a file ARCHIVE/data/NUMBER.
            return sum("/data/" in name for name in archive.namelist())
    except (OSError, SafetensorError, zipfile.BadZipFile):
        return None
