"""What Mamba's first weights do to its loss: those of its authors beside those that transformers draws.

``python -m measurements.training.mamba_first_weights --out FILE TRAINING HELD_OUT`` trains models of several sizes with
both on the characters of JSON lines (files, also ``.gz``), in the same order, and writes the loss in held-out text at
several places of each run. transformers' weights are what this suite drew until it drew them as the authors do.
"""

import argparse
import collections
import gzip
import json
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pandas as pd
import torch

from ucurve.training.engine.engine import TorchEngine
from ucurve.training.model import library
from ucurve.training.model.hidden import make_hidden_states
from ucurve.training.model.loss import summed_loss
from ucurve.training.optim import learning_rate, usual_optimizer, usual_rate

VOCABULARY, LENGTH, SEQUENCES, MICRO_BATCH = 8_192, 64, 16, 16
OPTIMIZER = usual_optimizer("cosine", 1e-3)  # as conf/model/mamba-14m.yaml and conf/train.yaml have it
PLACES, HELD_OUT_SEQUENCES = 4, 128


def main() -> None:
    """Train the models one after the other in one thread."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("training", type=Path)
    parser.add_argument("held_out", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sizes", nargs="+", default=["12x64", "10x128"], help="layers x width")
    parser.add_argument("--tokens", nargs="+", type=int, default=[130_000, 80_000], help="of each size")
    parser.add_argument("--seeds", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    counts = collections.Counter(read_text(arguments.training))
    ids = {character: number for number, (character, _) in enumerate(counts.most_common(VOCABULARY - 1), 1)}
    training, held_out = (cut(read_text(path), ids) for path in (arguments.training, arguments.held_out))
    rows: list[dict[str, object]] = []
    for size, tokens in zip(arguments.sizes, arguments.tokens, strict=True):
        for seed in range(arguments.seeds):
            order = torch.randperm(len(training), generator=torch.Generator().manual_seed(seed))
            for weights in ("authors", "transformers"):
                started, model = time.process_time(), build(size, seed, weights)
                for step, loss in train(model, training[order], tokens, held_out[:HELD_OUT_SEQUENCES]):
                    place = {"size": size, "seed": seed, "weights": weights, "tokens": step * SEQUENCES * LENGTH}
                    rows.append(place | {"held_out": loss})
                print(rows[-1], f"{time.process_time() - started:.0f} s", flush=True)
                pd.DataFrame(rows).to_csv(arguments.out, index=False)


def read_text(path: Path) -> str:
    """Return the texts of a file of JSON lines, one after the other."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        return "\n".join(json.loads(line)["text"] for line in file)


def cut(text: str, ids: dict[str, int]) -> torch.Tensor:
    """Return the ids of a text in sequences, 0 for a rare character, shape [sequences, length + 1]."""
    numbers = torch.tensor([ids.get(character, 0) for character in text])
    return numbers[: (len(numbers) - 1) // LENGTH * LENGTH + 1].unfold(0, LENGTH + 1, LENGTH)


def build(size: str, seed: int, weights: str) -> torch.nn.Module:
    """Build a Mamba of layers x width."""
    layers, width = map(int, size.split("x"))
    keys = {"hidden_size": width, "num_hidden_layers": layers, "state_size": 16, "initializer_range": 0.02}
    design = library.LibraryModel("mamba", json.dumps(keys))
    drawn = library.draw_as_authors if weights == "authors" else lambda _: None
    with mock.patch.object(library, "draw_as_authors", drawn):
        return design.build_model(VOCABULARY, LENGTH, 0, seed)


def train(
    model: torch.nn.Module, training: torch.Tensor, tokens: int, held_out: torch.Tensor
) -> Iterator[tuple[int, float]]:
    """Train a model, and yield steps with the mean loss in held-out text after them."""
    steps = tokens // (SEQUENCES * LENGTH)
    engine = TorchEngine(model, OPTIMIZER, MICRO_BATCH, torch.device("cpu"))
    yield 0, loss_in(model, held_out)
    for step in range(1, steps + 1):
        batch = training[(step - 1) * SEQUENCES : step * SEQUENCES]
        engine.step(batch, learning_rate(OPTIMIZER, step, steps, usual_rate("cosine")), step)
        if step in [steps * place // PLACES for place in range(1, PLACES + 1)]:
            yield step, loss_in(model, held_out)


def loss_in(model: torch.nn.Module, text: torch.Tensor) -> float:
    """Return the mean loss in nats."""
    hidden_states = make_hidden_states("float32")
    with torch.no_grad():
        parts = [summed_loss(model, part[:, :-1], part[:, 1:], hidden_states)[0] for part in text.split(32)]
    return float(sum(parts)) / text[:, 1:].numel()


if __name__ == "__main__":
    main()
