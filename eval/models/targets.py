"""The models to score: checkpoints of a run, revisions of a published suite, or a single model."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatch
from glob import has_magic
from pathlib import Path

from ucurve.errors import (
    DamagedError,
    UserError,
    first_line,
    may_be_hub_id,
    missing_folder,
    refuse_missing_folder,
)
from ucurve.eval.models.folder import hash_of_parts, hash_parts
from ucurve.eval.models.hub_weights import HubFile, HubWeights, list_weights, loaded_weights
from ucurve.eval.models.revision_names import (
    Place,
    asked_steps,
    is_of_a_later_stage,
    names_a_checkpoint,
    place_revisions,
)
from ucurve.eval.models.same_weights import shorten
from ucurve.huggingface import pretrained
from ucurve.huggingface.foreign_code import WEIGHT_FILES, Weights
from ucurve.huggingface.model_files import refuse_adapter, refuse_pointers
from ucurve.huggingface.tokenizer_files import TOKENIZER_FILES, UNIGRAM_COUNTS
from ucurve.progress import log_line
from ucurve.storage.facts import Manifest, RunFacts, RunIdentity, own_faults, read_manifest, read_run_facts
from ucurve.storage.faults import listed_faults, refuse_faults
from ucurve.storage.run_folder import (
    CHECKPOINTS,
    CONFIGURATION,
    MANIFEST,
    RECORD,
    TOKENIZER,
    WEIGHTS,
    checkpoints,
    parse_step,
)

ALL = "all"  # alone among revisions: every one whose name has a step
MODEL_STEP = -1  # the step of a model that is not a checkpoint of a run
_WEIGHTS = WEIGHT_FILES["safetensors"]  # of this suite's checkpoints
_WANTED = ("*.json", _WEIGHTS, UNIGRAM_COUNTS, *TOKENIZER_FILES)
_LOADED = (_WEIGHTS, "generation_config.json", *TOKENIZER_FILES)  # by their names alone, if they are there
_AT_ONCE = 8  # revisions whose small files are fetched at the same time
_OURS = (b'"weights_sha256"', b'"manifest_sha256"', b'"config_sha256"', b'"data_sha256"')


# The folder of a revision in the cache, and its files of weights where these are not fetched yet.
_Fetched = tuple[Path, Sequence[HubFile] | None]


@dataclass(frozen=True)
class Target:
    """One model to score."""

    name: str  # its run's name, or the model's
    step: int  # of the checkpoint; -1 for a model alone
    folder: Path
    manifest: Manifest | None  # the checkpoint's manifest; None for a model that is not this suite's
    # The path of the unigram counts of its training tokens, which may not exist; a run has one for all checkpoints.
    counts: Path
    revision: str | None = None  # the name of the revision that was asked for
    weights: Weights = "safetensors"
    run: Path | None = None  # the run folder whose checkpoint it was asked for as; None for a model alone
    stated_tokens: int | None = None  # training tokens that the name of the revision states
    identity: RunIdentity | None = None  # of the run; None where there is no `run.json`
    # The weights where they are fetched when they are needed; None where they are there.
    hub: HubWeights | None = None

    @property
    def tokens(self) -> int | None:
        """Training tokens, by the checkpoint's manifest or the name of the revision; None where neither says."""
        return self.stated_tokens if self.manifest is None else self.manifest.tokens

    @property
    def ours(self) -> bool:
        """Whether this suite trained the model."""
        return self.manifest is not None

    @property
    def has_weights(self) -> bool:
        """Whether the model can be loaded: the weights of a checkpoint that was scored may have been removed."""
        return self.manifest is None or self.manifest.has_weights

    def weights_sha256(self) -> str:
        """Hash the weights as they are now; ``DamagedError`` when they are not those of the manifest."""
        return hash_of_parts(self.weight_parts())

    def weight_parts(self) -> dict[str, str]:
        """Hash each file of the weights as it is now; ``DamagedError`` when they are not those of the manifest."""
        if not self.has_weights:
            assert self.manifest is not None, "the weights of another model are there"
            return {WEIGHTS: self.manifest.weights_sha256}
        on_hub = {} if self.hub is None else {file.name: file.sha256 for file in self.hub.files}
        found = on_hub or hash_parts(self.folder, self.weights)
        if self.manifest is not None and hash_of_parts(found) != self.manifest.weights_sha256:
            raise DamagedError(
                f"{self.folder}: the weights are not those of manifest.json; the checkpoint is damaged"
            )
        return found

    def weight_bytes(self) -> int:
        """Return the size of the weights."""
        if self.hub is not None:
            return sum(file.size for file in self.hub.files)
        return sum(file.stat().st_size for file in self.folder.glob(WEIGHT_FILES[self.weights]))


def run_targets(run: Path, steps: Sequence[int] | None = None) -> list[Target]:
    """List the checkpoints of a run, or those of ``steps``, in order; a ``DamagedError`` for damaged files."""
    refuse_missing_folder("run", run)
    facts = read_run_facts(run)
    if facts is None and (run / CONFIGURATION).is_file():
        raise DamagedError(f"{run / RECORD}: missing, and the folder is a run's; restore it from a copy")
    finished = facts is not None and facts.finished  # else a folder without manifest is being written
    there = [path for path in checkpoints(run) if finished or (path / MANIFEST).exists()]
    folders = {step: path for path in there if (step := parse_step(path.name)) is not None}
    if not folders:
        raise UserError(f"{run}: no checkpoints in {run / CHECKPOINTS}")
    absent = [step for step in steps or () if step not in folders]
    if absent:
        asked, held = (", ".join(map(str, steps)) for steps in (absent, sorted(folders)))
        raise UserError(f"{run}: no checkpoint of step {asked}; there are {held}")
    counts = _find_counts(run)
    wanted = sorted(folders if steps is None else set(steps))
    manifests = {step: _manifest_of_step(folders[step], step, facts) for step in wanted}
    name = run.resolve().name
    identity = None if facts is None else facts.identity
    return [
        Target(name, step, folders[step], manifests[step], counts, run=run, identity=identity) for step in wanted
    ]


def _manifest_of_step(folder: Path, step: int, facts: RunFacts | None) -> Manifest:
    """Read the manifest of a run's checkpoint, and compare every file but the weights, which ``Target`` hashes."""
    manifest = read_manifest(folder)
    if manifest.step != step:
        raise DamagedError(f"{folder}: the manifest is of step {manifest.step}")
    if facts is not None and manifest.config_sha256 != facts.config_sha256:
        raise DamagedError(f"{folder}: the manifest is of another run than run.json; restore both from a copy")
    _check_files(folder, manifest)
    return manifest


def _check_files(
    folder: Path, manifest: Manifest, wanted: Sequence[str] = ("*",), loaded: Sequence[str] = ("*",)
) -> None:
    """Compare all files but the weights with the manifest: ``wanted`` must exist, ``loaded`` must be listed."""
    files = manifest.files
    listed = {
        name: digest for name, digest in files.items() if _matches(name, wanted) and not fnmatch(name, _WEIGHTS)
    }
    names = {path.name for path in folder.iterdir()} - {MANIFEST}
    found = {name for name in names if name in listed or (name not in files and _matches(name, loaded))}
    refuse_faults(listed_faults(folder, listed, found, "the manifest"), "the checkpoint is damaged")


def model_targets(
    model: str,
    revisions: Sequence[str] | None = None,
    weights: Weights = "safetensors",
    steps: Mapping[str, int] | None = None,
) -> list[Target]:
    """Find a model: a local folder, or ``owner/name`` on the hub where no such folder can be meant.

    ``revisions`` are names on the hub or of subfolders, patterns such as ``stage1-*``, or ``all`` for every one whose
    name has a step; ``steps`` adds those whose names have none. Without revisions, the model itself has step -1.
    """
    if revisions is None and not steps:
        return [_model_target(model, None, Place(MODEL_STEP), weights, _fetch_all(model, [None], weights))]
    places = place_revisions(_named_revisions(model, revisions or (), steps or {}), steps)
    fetched = _fetch_all(model, list(places), weights)
    return [_model_target(model, name, place, weights, fetched) for name, place in places.items()]


def _named_revisions(model: str, revisions: Sequence[str], steps: Mapping[str, int]) -> list[str]:
    """Return the revisions that names and patterns mean, in their order."""
    if list(revisions) == [ALL]:
        return all_revisions(model, steps)
    there = _listed(model) if any(map(has_magic, revisions)) else []
    named: list[str] = []
    for asked in revisions:
        matched = [name for name in there if fnmatch(name, asked)] if has_magic(asked) else [asked]
        if not matched:
            raise UserError(f"revisions: {model} has none named like {asked!r}; there are {shorten(there)}")
        named += matched
    return named


def _model_target(
    model: str, revision: str | None, place: Place, weights: Weights, fetched: Mapping[str | None, _Fetched]
) -> Target:
    """Find and check the folder of a model or of one of its revisions, here or among those that were fetched."""
    local, hub = Path(model).expanduser(), None
    if local.is_dir():
        folder, name = local if revision is None else local / revision, local.resolve().name
        refuse_missing_folder("revisions", folder)
        if (folder / CHECKPOINTS).is_dir():
            one = next(iter(checkpoints(folder)), folder / CHECKPOINTS / "STEP")
            raise UserError(
                f"model={model} is the folder of a run: run={model} scores its checkpoints, model={one} one of them"
            )
    elif revision in fetched:
        (folder, files), name = fetched[revision], model
        hub = None if files is None else loaded_weights(model, revision, folder, files, weights)
    else:
        raise missing_folder("model", local)
    refuse_pointers(folder, ("*.json", WEIGHT_FILES[weights], *TOKENIZER_FILES))
    refuse_adapter(folder)
    manifest = read_manifest(folder) if _is_ours(folder) else None
    # A name that counts words is no step, and the manifest of a checkpoint of ours knows it.
    step = place.step if manifest is None or not place.in_words else manifest.step
    if manifest is not None and revision is not None and manifest.step != step:
        raise UserError(f"{folder}: the revision {revision!r} holds the checkpoint of step {manifest.step}")
    if manifest is not None:
        _check_files(folder, manifest, _WANTED, _LOADED)
    # A checkpoint that is given by itself has those of its run.
    real = folder.resolve()
    counts = real / UNIGRAM_COUNTS
    if real.parent.name == CHECKPOINTS and not counts.exists():
        counts = _find_counts(real.parent.parent)
    return Target(name, step, folder, manifest, counts, revision, weights, stated_tokens=place.tokens, hub=hub)


def has_checkpoint(run: Path) -> bool:
    """Say whether a run has a complete checkpoint."""
    return any((folder / MANIFEST).exists() for folder in checkpoints(run))


def _find_counts(run: Path) -> Path:
    """Return the path of a run's counts, which must be what was written."""
    refuse_faults(
        own_faults(run, read_run_facts(run), [f"{TOKENIZER}/{UNIGRAM_COUNTS}"]), "restore it from a copy"
    )
    return run / TOKENIZER / UNIGRAM_COUNTS


def _is_ours(folder: Path) -> bool:
    """Tell a checkpoint's manifest, even a damaged one, from another tool's file of that name: ours holds hashes."""
    try:
        text = (folder / MANIFEST).read_bytes()
    except OSError:
        return False
    return not text.strip() or any(name in text for name in _OURS)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def _fetch_all(model: str, revisions: Sequence[str | None], weights: Weights) -> dict[str | None, _Fetched]:
    """Fetch the files of revisions of a model on the hub, several at a time; nothing for any other."""
    if Path(model).expanduser().is_dir() or not may_be_hub_id(model):
        return {}
    if len(revisions) > 1:
        log_line(f"{model}: fetching the configurations and tokenizers of {len(revisions)} revisions")
    with pretrained.without_bars(), ThreadPoolExecutor(_AT_ONCE) as pool:
        found = [_fetch(model, revisions[0], weights)]  # alone first: for mistakes, and for imports
        return dict(
            zip(
                revisions,
                [*found, *pool.map(lambda name: _fetch(model, name, weights), revisions[1:])],
                strict=True,
            )
        )


def _fetch(model: str, revision: str | None, weights: Weights) -> _Fetched:
    """Fetch the files of a revision, without those of weights where the hub lists these with their hashes."""
    patterns = ["*.json", UNIGRAM_COUNTS, *TOKENIZER_FILES]
    try:
        listed = list_weights(model, revision, weights)
        if listed is None:
            return pretrained.fetch(model, [*patterns, WEIGHT_FILES[weights]], revision), None
        folder = pretrained.fetch(model, patterns, revision)
        if folder.name != listed[0]:  # the branch has moved in the meantime
            return _fetch(model, revision, weights)
        return folder, listed[1]
    except Exception as error:  # the hub's client raises errors of several libraries
        what = "it" if revision is None else f"its revision {revision!r}"
        raise UserError(
            f"model: no folder {model!r} here, and the hub does not give {what} ({first_line(error)})"
        ) from error


def all_revisions(model: str, steps: Mapping[str, int] | None = None) -> list[str]:
    """Return the revisions of a model whose names have a step, and those of ``steps``, in the order of their steps.

    Those of later stages of training, which count their steps from 0 again, are left out, and a message says so.
    """
    steps, names = steps or {}, _listed(model)
    later = [name for name in names if is_of_a_later_stage(name) and name not in steps]
    found = [name for name in names if names_a_checkpoint(name) and name not in later]
    if not found and not steps:
        raise UserError(
            f"'revisions=[{ALL}]': {model} has no revision named like step512; there are {shorten(names)}. Name those "
            f"wanted, with the place of each on the axis of steps: {asked_steps(later or names)}"
            if names
            else f"'revisions=[{ALL}]': {model} has no revision named like step512, nor any other"
        )
    if later:
        log_line(
            f"'revisions=[{ALL}]': {len(later)} revisions of later stages are left out, whose steps start from 0 "
            f"again; to score them too, give their places on the axis of steps: {asked_steps(later)}"
        )
    return list(place_revisions(found, steps))


def _listed(model: str) -> list[str]:
    """List the revisions of a model: subfolders of a folder, or branches on the hub."""
    local = Path(model).expanduser()
    if local.is_dir():
        return sorted(path.parent.name for path in local.glob("*/config.json"))
    if not may_be_hub_id(model):
        raise missing_folder("model", local)
    from huggingface_hub import HfApi, constants

    try:
        return [branch.name for branch in HfApi().list_repo_refs(model).branches]
    except Exception as error:  # the hub's client raises errors of several libraries
        # Without network, those that were fetched before can be scored.
        cached = Path(constants.HF_HUB_CACHE, f"models--{model.replace('/', '--')}", "refs")
        names = [path.name for path in cached.glob("*")]
        if not names:
            raise UserError(
                f"model: the hub does not list the revisions of {model} ({first_line(error)})"
            ) from error
        return names
