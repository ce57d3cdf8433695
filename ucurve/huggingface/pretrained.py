"""The one place where anything in a form of Hugging Face is loaded: tokenizers, models, data sets, files of the hub.

No code that comes with them ever runs, and nobody is asked whether it may; ``tests/test_foreign_code.py`` finds calls
anywhere else that could. A chat template needs no check, as transformers renders it in a sandbox of Jinja without files
and modules, nor do data sets with a script, which ``datasets`` refuses.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from ucurve.errors import UserError, first_line
from ucurve.huggingface.file_tokenizer import (
    encode_by,
    is_bare_sentencepiece,
    is_whole,
    load_unigram,
    stand_in,
    usual_special_tokens,
)
from ucurve.huggingface.foreign_code import Weights, check_model, check_tokenizer
from ucurve.huggingface.tokenizer_files import TOKENIZER, VOCABULARY_FILES, has_tokenizer, no_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

ModelClass = Literal["AutoModelForCausalLM", "AutoModelForMaskedLM", "GPTNeoXForCausalLM"]


def fetch(
    name: str,
    patterns: Sequence[str],
    revision: str | None = None,
    kind: Literal["model", "dataset"] = "model",
    online: bool = True,
) -> Path:
    """Fetch files of a repository of the hub and return their folder, named after the commit; it raises many errors.

    The revision is a branch, tag or commit; None is the newest.
    """
    from huggingface_hub import snapshot_download

    folder = snapshot_download(
        name, repo_type=kind, revision=revision, allow_patterns=list(patterns), local_files_only=not online
    )
    return Path(folder)


def fetch_file(name: str, file: str, commit: str, quietly: bool = False) -> None:
    """Fetch a file of a commit into the cache, with a bar of progress unless ``quietly``; it raises many errors."""
    from huggingface_hub import hf_hub_download

    hf_hub_download(name, file, revision=commit, tqdm_class=_NoBar if quietly else None)


@contextmanager
def without_bars() -> Iterator[None]:
    """Fetch without bars of progress, as where many small files are fetched at the same time."""
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    if are_progress_bars_disabled():
        yield
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()


class _NoBar:
    """Takes the place of a bar of progress, for what is fetched in the background."""

    def __init__(self, **_: object) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, _: float | None = 1) -> None:
        """Show nothing."""


def load_tokenizer(folder: Path, **options: bool) -> "PreTrainedTokenizerBase":
    """Load the tokenizer of a local folder, with the ids of its ``tokenizer.json`` if there is one.

    Raises:
        UserError: when the folder has no tokenizer, needs code that comes with it, or does not load.
    """
    if not has_tokenizer(folder):
        raise no_tokenizer(folder)
    check_tokenizer(folder)
    load = _load_file if is_whole(folder) else _load_class
    try:
        with _never_asking():
            tokenizer = load(folder, **options)
    except UserError:
        raise
    except Exception as error:  # broken files raise errors of several libraries
        raise UserError(f"{folder}: the tokenizer does not load ({_reason(error)})") from error
    tokenizer.init_kwargs.pop("auto_map", None)  # else it would save the name of code that the folder has
    return tokenizer


def _load_file(folder: Path, **options: Any) -> "PreTrainedTokenizerBase":
    """Load a tokenizer by its ``tokenizer.json``, with the special tokens that other files name."""
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer.from_file(str(folder / TOKENIZER))
    options |= usual_special_tokens(folder, backend)
    tokenizer: PreTrainedTokenizerFast = PreTrainedTokenizerFast.from_pretrained(
        folder, local_files_only=True, trust_remote_code=False, tokenizer_object=stand_in(backend), **options
    )
    encode_by(tokenizer, backend, folder)
    return tokenizer


def _load_class(folder: Path, **options: Any) -> "PreTrainedTokenizerBase":
    """Load a tokenizer that only a class of transformers, or a SentencePiece model, describes."""
    from transformers import AutoTokenizer, LlamaTokenizer

    is_bare = is_bare_sentencepiece(folder)
    if is_bare and (unigram := load_unigram(folder, **options)) is not None:
        return unigram
    loader = LlamaTokenizer if is_bare else AutoTokenizer  # which leaves out SentencePiece's space before a text
    tokenizer = loader.from_pretrained(folder, local_files_only=True, trust_remote_code=False, **options)
    names = tokenizer.vocab_files_names.values()
    if names and not any((folder / name).is_file() for name in (*VOCABULARY_FILES, *names)):
        raise no_tokenizer(folder)  # without its files, such a class loads as an empty tokenizer
    return tokenizer


def load_model(
    folder: Path, model_class: ModelClass, weights: Weights = "safetensors", **options: object
) -> tuple["PreTrainedModel", dict[str, Collection[str]]]:
    """Load a model of a local folder, and what transformers reports of keys that are missing or left over.

    The options are those of ``from_pretrained``.

    Raises:
        UserError: when the folder needs code that comes with it, or does not load.
    """
    from ucurve.huggingface.selective_scan import take_quick_scan

    check_model(folder, model_class, weights)
    # With ``weights_only``, torch unpickles nothing but tensors from ``bin`` files.
    always = {"local_files_only": True, "weights_only": True, "output_loading_info": True}
    always["use_safetensors"] = weights == "safetensors"
    try:
        with _never_asking():
            loader = _class_of_transformers(model_class)
            model, report = loader.from_pretrained(folder, trust_remote_code=False, **always, **options)
    except Exception as error:  # broken files raise errors of several libraries
        raise UserError(f"{folder}: the model does not load ({_reason(error)})") from error
    take_quick_scan(model)
    return model, report


def new_model(
    configuration: "PreTrainedConfig", model_class: Literal["AutoModelForCausalLM", "AutoModelForMaskedLM"]
) -> "PreTrainedModel":
    """Build a model of transformers with weights drawn at random; errors are those of the architecture."""
    from ucurve.huggingface.selective_scan import take_quick_scan

    with _never_asking():
        loader = _class_of_transformers(model_class)
        model: PreTrainedModel = loader.from_config(configuration, trust_remote_code=False)
    take_quick_scan(model)
    return model


def _class_of_transformers(name: ModelClass) -> Any:
    """Return a class, which from then on knows our own architectures too."""
    import transformers

    import ucurve.huggingface.lstm  # noqa: F401 - registers itself

    return getattr(transformers, name)


class RowStream(Protocol):
    """The rows of a data set that are fetched as they are read, and the place in them, which JSON can hold."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the rows after the place that was loaded last."""

    def state_dict(self) -> dict[str, Any]:
        """Return the place after the row that was yielded last."""

    def load_state_dict(self, place: dict[str, Any]) -> object:
        """Begin after a place that ``state_dict`` returned."""


def load_rows(source: str, part: str | None, split: str, revision: str | None = None) -> Iterable[dict[str, Any]]:
    """Load the rows of a data set of the hub; a script in it is refused. Errors are those of several libraries."""
    import datasets

    rows: Iterable[dict[str, Any]] = datasets.load_dataset(
        source, part, split=split, revision=revision, trust_remote_code=False
    )
    return rows


def stream_rows(source: str, part: str | None, split: str, revision: str | None = None) -> RowStream:
    """Return the rows of a data set of the hub without fetching them; refusals and errors as of ``load_rows``."""
    import datasets

    rows: RowStream = datasets.load_dataset(
        source, part, split=split, streaming=True, revision=revision, trust_remote_code=False
    )
    return rows


def data_set_parts(source: str, revision: str | None = None) -> list[str]:
    """Return the names of the parts of a hub data set (its configurations), sorted; errors as for ``load_rows``."""
    import datasets

    return sorted(datasets.get_dataset_config_names(source, revision=revision))


@contextmanager
def _never_asking() -> Iterator[None]:
    """Let transformers refuse at once where it would ask on the terminal."""
    # It does not pass ``trust_remote_code`` on to the parts of a composite model, and would ask again for each.
    from transformers import dynamic_module_utils as dynamic

    before = dynamic.TIME_OUT_REMOTE_CODE
    dynamic.TIME_OUT_REMOTE_CODE = 0
    try:
        yield
    finally:
        dynamic.TIME_OUT_REMOTE_CODE = before


def _reason(error: Exception) -> str:
    if "trust_remote_code" in str(error):  # what a part of a composite model asks for
        return "a part of it is code that comes with it, and such code is never run here"
    return first_line(error)
