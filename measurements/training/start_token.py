"""What it costs to score after a start token that training hardly saw: the first token, decisions and accuracy.

    python measurements/training/start_token.py RUN ... --benchmark BENCHMARKS/zhoblimp [--pairs 100]

The last checkpoint of each run scores the same pairs twice: after the start token, as ucurve does, and after a line
break, where the tokenizer has one. Printed are how often training saw the start token, the mean nats of the first token
of a sentence after either, the share of SLLN-LP decisions that differ between the two, and the LP accuracies.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from ucurve.errors import missing_folder
from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.eval.linking import slln_lp
from ucurve.eval.metrics.accuracy import decide
from ucurve.eval.pairs import subset_pairs
from ucurve.eval.scoring.loading import load_model
from ucurve.huggingface.pretrained import load_tokenizer
from ucurve.storage.facts import read_run_facts
from ucurve.storage.run_folder import checkpoints
from ucurve.training.tokenizer.folder import end_of_document

SENTENCES_AT_ONCE = 64


@dataclass(frozen=True)
class Scores:
    """Scores of sentences after one token; both arrays have shape [sentences].

    Attributes:
        first: log probability of the first token.
        lp: sum over all tokens.
    """

    first: NDArray[np.float64]
    lp: NDArray[np.float64]


def score_after(start: int, sentences: Sequence[list[int]], model: Any) -> Scores:
    """Score sentences, given as token ids, each after the token ``start``."""
    first, lp = np.empty(len(sentences)), np.empty(len(sentences))
    by_length = sorted(range(len(sentences)), key=lambda number: len(sentences[number]))
    for place in range(0, len(by_length), SENTENCES_AT_ONCE):
        numbers = by_length[place : place + SENTENCES_AT_ONCE]
        longest = len(sentences[numbers[-1]])
        ids = torch.tensor([[start, *sentences[n], *[0] * (longest - len(sentences[n]))] for n in numbers])
        with torch.inference_mode():
            logits = model(ids[:, :-1]).logits  # causal: the padding at the right changes no score before it
        chosen = logits.log_softmax(-1).gather(-1, ids[:, 1:, None])[..., 0].double()
        inside = torch.arange(longest)[None, :] < torch.tensor([len(sentences[n]) for n in numbers])[:, None]
        first[numbers] = chosen[:, 0].numpy()
        lp[numbers] = (chosen * inside).sum(1).numpy()
    return Scores(first, lp)


def decide_pairs(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 for a right pair, .5 for a tie, else 0; the first half of the values is of the good sentences."""
    right, ties = decide(*np.split(values, 2))
    return right + ties / 2


def measure(run: Path, sentences: Sequence[str]) -> str:
    """Measure one run; the good sentences come first, then the bad ones. Return a row of the table."""
    last = checkpoints(run)[-1]
    tokenizer = load_tokenizer(last)
    model = load_model(last)
    ids = tokenizer(list(sentences), add_special_tokens=False)["input_ids"]
    n = np.array([len(one) for one in ids])
    facts = read_run_facts(run)
    if facts is None:
        raise missing_folder("run", run)
    distance = facts.corpus.tokens / facts.corpus.documents
    scores = score_after(end_of_document(tokenizer), ids, model)
    row = [f"{run.name:<36}{facts.tokens_budget / distance:>8,.0f}{distance:>8,.0f}{-scores.first.mean():>9.2f}"]
    (newline, *more) = tokenizer("\n", add_special_tokens=False)["input_ids"]
    if more or newline == tokenizer.unk_token_id:
        return "".join([*row, f"{'-':>9}{'-':>9}{100 * decide_pairs(scores.lp).mean():>9.1f}{'-':>9}"])
    other = score_after(newline, ids, model)
    differ = (decide_pairs(slln_lp(scores.lp, n)) != decide_pairs(slln_lp(other.lp, n))).mean()
    accuracies = (100 * decide_pairs(one.lp).mean() for one in (scores, other))
    row += [f"{-other.first.mean():>9.2f}{100 * differ:>9.1f}", *(f"{accuracy:>9.1f}" for accuracy in accuracies)]
    return "".join(row)


def main() -> None:
    """Print a row for each run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--benchmark", type=Path, required=True, help="folder of a benchmark")
    parser.add_argument("--pairs", type=int, help="at most this many of each paradigm")
    options = parser.parse_args()
    pairs = load_benchmark(options.benchmark.name, options.benchmark.parent)
    if options.pairs:
        pairs = subset_pairs(pairs, options.pairs)
    print(f"{len(pairs):,} pairs")
    print(
        f"{'run':<36}{'seen':>8}{'1 in':>8}{'start':>9}{'newline':>9}{'differ %':>9}{'LP start':>9}{'newline':>9}"
    )
    for run in options.runs:
        print(measure(run, [*pairs["good"], *pairs["bad"]]), flush=True)


if __name__ == "__main__":
    main()
