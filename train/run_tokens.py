"""The token stream a finished or running run is trained on, found again from its folder."""

from dataclasses import replace
from pathlib import Path

from train.config import RunSettings
from train.corpus import Corpus
from train.tokens import INDEX, TokenStore, build_token_store, is_complete_store, open_store
from ucurve.errors import UserError
from ucurve.files import read_json_or_empty
from ucurve.progress import say
from ucurve.run_folder import TOKENIZER


def open_run_tokens(
    run: Path, settings: RunSettings, data_sha256: str, cache: Path | None = None, data_path: str | None = None
) -> TokenStore:
    """Open a run's token stream: from the cache, else built anew from the corpus with the run's own tokenizer.

    Args:
        run: run folder.
        settings: its settings.
        data_sha256: hash of the stream the run is trained on, as ``run.json`` has it.
        cache: folder of the token streams; None for the one in the settings.
        data_path: where the corpus lies now; None for the place in the settings.

    Raises:
        UserError: when the stream is in no cache and the corpus cannot be read or is not the run's.
    """
    place = cache or Path(settings.paths.cache)
    folder = _find(place, data_sha256)
    return open_store(folder) if folder is not None else _rebuild(run, settings, data_sha256, place, data_path)


def _find(cache: Path, data_sha256: str) -> Path | None:
    """Return the folder of the cache that holds the stream, byte for byte."""
    for path in sorted(cache.glob(f"tokens-*/{INDEX}")):
        index = read_json_or_empty(path)
        if index.get("sha256") == data_sha256 and is_complete_store(path.parent, index.get("key", "")):
            return path.parent
    return None


def _rebuild(run: Path, settings: RunSettings, data_sha256: str, cache: Path, data_path: str | None) -> TokenStore:
    say(f"{cache} does not hold the token stream of {run.name}; it is built from the corpus")
    data = settings.data if data_path is None else replace(settings.data, path=data_path)
    try:
        store = build_token_store(Corpus(data), run / TOKENIZER, cache)
    except UserError as error:
        raise UserError(
            f"{run}: its token stream is not in {cache} and cannot be built anew: {error}\n"
            "  cache=FOLDER names another cache, data_path=PATH the place where the corpus lies now"
        ) from error
    if store.sha256 != data_sha256:
        raise UserError(
            f"{run}: the corpus gives another token stream now, {store.sha256[:16]}, than the run is trained on, "
            f"{data_sha256[:16]} (data_sha256 in run.json); data_path=PATH names another place of the corpus"
        )
    return store
