"""Compare scoring minimal pairs with lm-eval and minicons: the same model, pairs and text, side by side in one run.

python measurements/speed/scoring.py --pairs benchmarks/zhoblimp [--vocabulary 50000] [--model FOLDER]

Needs the extra ``bench``. Every scorer runs in a process of its own, in turn, round after round. What is timed is from
the sentences as text to one log probability each, tokenization included, loading the model, its tokenizer and the
libraries not.
Ratios are of medians; peak memory is the resident set of the whole process, and beside it what scoring added to it.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from measurements.processes import peak, peak_of_device, run_alone

if TYPE_CHECKING:
    import pandas as pd

    from ucurve.eval.scoring.loading import Device, Dtype

BATCH = 64  # sentences at once for the peers
FIRST = 2000  # pairs that are scored before the timed ones on an accelerator, whose first calls take longer
Scores = np.ndarray[Any, np.dtype[np.float64]]
Score = Callable[["pd.DataFrame"], Scores]


def ours(model: Path, device: "Device", dtype: "Dtype") -> Score:
    """Score as score.py does, from the pair table to the score table."""
    from ucurve.eval.models.targets import model_targets
    from ucurve.eval.scoring.batching import within_memory
    from ucurve.eval.scoring.loading import load_model
    from ucurve.eval.settings import score_settings
    from ucurve.eval.sweep.jobs import prepare
    from ucurve.eval.sweep.load import SweepCache

    loaded = load_model(model, dtype=dtype, device=device)
    (target,), cache = model_targets(str(model)), SweepCache()
    cache.tokenizer(target.folder)  # the others load theirs with the model

    def score(table: "pd.DataFrame") -> Scores:
        (job,) = prepare(target, [table], score_settings(scorer="sentence"), cache)
        scores, _ = within_memory(None, loaded, lambda size: job.scorer.score(loaded, size))
        return scores[["lp_good", "lp_bad"]].to_numpy().T.ravel()

    return score


def lm_eval(model: Path, device: "Device", dtype: "Dtype") -> Score:
    """Score by lm-eval's ``HFLM.loglikelihood``: every sentence as the continuation of an empty context."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    batch = BATCH if device == "cpu" else "auto"
    harness = HFLM(pretrained=str(model), device=device, dtype=dtype, batch_size=batch)

    def score(table: "pd.DataFrame") -> Scores:
        requests = [
            Instance(request_type="loglikelihood", doc={}, arguments=("", text), idx=place)
            for place, text in enumerate(_texts(table))
        ]
        return np.array([answer[0] for answer in harness.loglikelihood(requests, disable_tqdm=True)])

    return score


def minicons(model: Path, device: "Device", dtype: "Dtype") -> Score:
    """Score by minicons' ``sequence_score``, summed, after the start token."""
    from minicons.scorer import IncrementalLMScorer

    scorer = IncrementalLMScorer(str(model), device, dtype=dtype)

    def score(table: "pd.DataFrame") -> Scores:
        scores: list[float] = []
        texts = _texts(table)
        for start in range(0, len(texts), BATCH):
            batch = texts[start : start + BATCH]
            scores += scorer.sequence_score(batch, reduction=lambda steps: steps.sum(0).item(), bos_token=True)
        return np.array(scores)

    return score


SCORERS = {"ours": ours, "lm-eval": lm_eval, "minicons": minicons}


def _texts(table: "pd.DataFrame") -> list[str]:
    """Return all good members, then all bad ones; a text that occurs twice is scored twice, as its tool would."""
    return [*table["good"], *table["bad"]]


def work(
    scorer: str,
    model: Path,
    pairs: Path,
    out: Path,
    threads: int,
    device: "Device" = "cpu",
    dtype: "Dtype" = "float32",
) -> None:
    """Time one scorer in this process and write seconds, memory and scores."""
    import pandas as pd
    import torch

    torch.set_num_threads(threads)
    score, table = SCORERS[scorer](model, device, dtype), pd.read_parquet(pairs)
    if device != "cpu":
        score(table.head(FIRST))
    before = peak()
    start = time.perf_counter()
    scores = score(table)
    seconds = time.perf_counter() - start
    np.save(out.with_suffix(".npy"), scores)
    out.write_text(json.dumps({"seconds": seconds, "peak": peak_of_device(), "before": before}))


def make_pairs(folder: Path, paradigms: int | None, out: Path) -> int:
    """Store the pair table of a benchmark, or of every k-th paradigm of it; return the number of pairs."""
    from ucurve.eval.benchmarks.load import load_benchmark

    table = load_benchmark(folder.name, folder.parent)
    names = sorted(set(table["paradigm"]))
    if paradigms is not None:
        names = names[:: max(1, len(names) // paradigms)][:paradigms]
    table = table[table["paradigm"].isin(names)].reset_index(drop=True)
    table.to_parquet(out)
    return len(table)


def make_model(pairs: Path, vocabulary: int, out: Path) -> None:
    """Store a Pythia-14M shape with random weights and a tokenizer of the benchmark's characters.

    The weights are spread wider than at the start of a training, so that pairs differ by more than rounding.
    """
    import pandas as pd
    import torch
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers
    from transformers import GPTNeoXConfig, GPTNeoXForCausalLM, PreTrainedTokenizerFast

    from ucurve.huggingface.tokenizer_files import ANY_CHARACTER

    characters = sorted({character for text in _texts(pd.read_parquet(pairs)) for character in text})
    ids = {token: place for place, token in enumerate(["<eos>", "<unk>", *characters])}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token="<unk>"))  # noqa: S106
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(ANY_CHARACTER), "isolated")  # as our tokenizer=char
    special = {"eos_token": "<eos>", "bos_token": "<eos>", "unk_token": "<unk>"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(out)
    torch.manual_seed(0)
    shape = {"hidden_size": 128, "num_hidden_layers": 6, "num_attention_heads": 4, "intermediate_size": 512}
    config = GPTNeoXConfig(vocab_size=vocabulary, max_position_embeddings=64, initializer_range=0.1, **shape)
    GPTNeoXForCausalLM(config).save_pretrained(out)


def run(
    scorer: str,
    model: Path,
    pairs: Path,
    folder: Path,
    threads: int,
    device: "Device" = "cpu",
    dtype: "Dtype" = "float32",
) -> tuple[dict[str, float], Scores]:
    """Run one scorer in a process of its own."""
    out = folder / f"{scorer}.json"
    given = {"work": scorer, "model": model, "pairs": pairs, "threads": threads, "device": device, "dtype": dtype}
    return run_alone(__file__, out, given, threads), np.load(out.with_suffix(".npy"))


def compare(arguments: argparse.Namespace, folder: Path) -> None:
    """Run all scorers round after round and print what they took, as ratios to ours."""
    pairs, model = folder / "pairs.parquet", arguments.model
    count = make_pairs(arguments.pairs, arguments.paradigms, pairs)
    if model is None:
        model = folder / "model"
        make_model(pairs, arguments.vocabulary, model)
    taken: dict[str, list[dict[str, float]]] = {name: [] for name in arguments.scorers}
    scores: dict[str, Scores] = {}
    for number in range(arguments.rounds):
        for name in arguments.scorers:
            facts, scores[name] = run(name, model, pairs, folder, arguments.threads)
            taken[name].append(facts)
            print(f"round {number + 1}: {name:9} {facts['seconds']:7.1f} s", flush=True)
    report(count, taken, scores)


def report(count: int, taken: dict[str, list[dict[str, float]]], scores: dict[str, Scores]) -> None:
    """Print medians, ratios, memory and how far the scores lie apart."""
    medians = {
        name: {key: statistics.median(facts[key] for facts in each) for key in each[0]}
        for name, each in taken.items()
    }
    mine, own = medians["ours"], scores["ours"]
    print(f"\n{count:,} pairs; medians of {len(taken['ours'])} rounds")
    print("           pairs/s  ours is  peak MB  of it scoring  ours takes  largest difference  other decisions")
    for name, facts in medians.items():
        print(
            f"{name:9} {count / facts['seconds']:8.0f} {facts['seconds'] / mine['seconds']:7.2f}x {facts['peak']:8.0f} "
            f"{facts['peak'] - facts['before']:14.0f} {mine['peak'] / facts['peak']:10.2f}x "
            f"{np.abs(scores[name] - own).max():19.1e} {other_decisions(scores[name], own):16d}"
        )


def other_decisions(scores: Scores, own: Scores) -> int:
    """Return how many pairs two scorers decide differently."""
    from ucurve.eval.metrics.accuracy import decide

    answers = [decide(*np.split(each, 2))[0] for each in (scores, own)]
    return int((answers[0] != answers[1]).sum())


def main() -> None:
    """Read the command line; ``--work`` is for the processes this one starts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=Path, required=True, help="folder of a benchmark's files")
    parser.add_argument("--model", type=Path, help="a model folder; without it, a Pythia-14M shape")
    parser.add_argument("--vocabulary", type=int, default=8000, help="rows of the made model's output layer")
    parser.add_argument("--paradigms", type=int, help="how many of its paradigms, evenly chosen; default all")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--scorers", nargs="+", choices=SCORERS, default=list(SCORERS))
    parser.add_argument("--device", default="cpu", help=argparse.SUPPRESS)
    parser.add_argument("--dtype", default="float32", help=argparse.SUPPRESS)
    parser.add_argument("--work", choices=SCORERS, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        chosen = (arguments.threads, arguments.device, arguments.dtype)
        work(arguments.work, arguments.model, arguments.pairs, arguments.out, *chosen)
        return
    with tempfile.TemporaryDirectory() as folder:
        compare(arguments, Path(folder))


if __name__ == "__main__":
    main()
