"""Train models of all families by train.py and by a plain loop over the library's own model, and compare them.

``python -m tests.train.families FOLDER [--models 14m llama-14m] [--ways one ddp deepspeed] [--steps 200] [--tiny]``
trains each model on the demo's grammar in one process, in two by DistributedDataParallel and in two by DeepSpeed,
scores it, checks its files and draws all models in one figure; the suite runs a short version (``test_families.py``).
Where losses of one process differ by more than they may, engine and plain loop are set side by side in float64: if they
agree there, the difference was rounding, and those of two processes may be ten times as large. FOLDER keeps the runs.
"""

import argparse
import contextlib
import json
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import torch
import yaml
from safetensors.torch import load_file
from torch import nn
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

from tests.train.launching import finish, start
from tests.train.tiny_models import TINY
from ucurve.progress import log_line
from ucurve.storage.facts import read_run_facts
from ucurve.training.engine.engine import TorchEngine, split_batch
from ucurve.training.run.prepare import prepare
from ucurve.training.run_folder.config_file import load_settings
from ucurve.training.verify import verify_folder

SEQUENCES, LENGTH = 16, 32
WAYS = {  # the number of processes, and overrides
    "one": (1, ["engine=torch"]),
    "ddp": (2, ["engine=torch"]),
    "deepspeed": (2, ["engine=deepspeed"]),
}
WITHIN = 1e-4
WITHIN_IN_FLOAT64 = 1e-9


def overrides(folder, way, model, steps, tiny):
    """The words of train.py."""
    return [
        *(TINY[model] if tiny else [f"model={model}"]),
        "data=demo",
        "tokenizer=char",
        f"tokens={steps * SEQUENCES * LENGTH}",
        f"batch.sequences={SEQUENCES}",
        f"batch.length={LENGTH}",
        f"schedule.count={2 if tiny else 4}",
        "eval.benchmarks=[demo]",
        *(["eval.subset=5"] if tiny else []),
        *[
            f"paths.{name}={folder / place}"
            for name, place in (("runs", way), ("cache", "c"), ("tokenizers", "t"))
        ],
        *WAYS[way][1],
    ]


def train_all(folder, models, ways, steps, tiny):
    """Train every model in every way, with one start for each number of processes; returns each model's run folders."""
    for size in sorted({WAYS[way][0] for way in ways}):
        jobs = [
            overrides(folder, way, model, steps, tiny) for way in ways if WAYS[way][0] == size for model in models
        ]
        (folder / "jobs.json").write_text(json.dumps(jobs))
        worker = ["-m", "tests.train.families_worker", folder / "jobs.json"]
        codes, errors = finish(start(worker, size), timeout=7200)
        assert not any(codes), errors
    names = sorted(path.parent.name for path in folder.glob("one/*/run.json"))
    return [{way: folder / way / name for way in ways} for name in names]


class PlainLSTM(nn.Module):
    """torch's own LSTM between an embedding and the same matrix, with the weights of a checkpoint."""

    def __init__(self, checkpoint):
        super().__init__()
        weights = load_file(checkpoint / "model.safetensors")
        layers = json.loads((checkpoint / "config.json").read_text())["num_hidden_layers"]
        self.embedding = nn.Embedding.from_pretrained(weights["lstm.embedding.weight"], freeze=False)
        self.lstm = nn.LSTM(self.embedding.embedding_dim, self.embedding.embedding_dim, layers, batch_first=True)
        of_torch = {
            f"{kind}_l{layer}": weights[f"lstm.layers.{layer}.{kind}"]
            for layer in range(layers)
            for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        }
        self.lstm.load_state_dict(of_torch)

    def forward(self, ids):
        return self.lstm(self.embedding(ids))[0] @ self.embedding.weight.T


def reference(checkpoint):
    """The library's model of a checkpoint, and the function from token ids to logits."""
    configuration = json.loads((checkpoint / "config.json").read_text())
    if configuration["model_type"] == "lstm":
        model = PlainLSTM(checkpoint)
        return model, model
    masked = configuration["architectures"][0].endswith("ForMaskedLM")
    model = (AutoModelForMaskedLM if masked else AutoModelForCausalLM).from_pretrained(
        checkpoint, attn_implementation="eager"
    )
    return model, lambda ids: model(input_ids=ids).logits


def cosine(settings, step, steps):
    """The factor of the peak at a step: up in a hundredth of the steps, then half a cosine down to a tenth."""
    warmup = max(1, round(settings["warmup"] * steps))
    if step <= warmup:
        return step / warmup
    left = (1 + torch.tensor(torch.pi * (step - warmup) / (steps - warmup), dtype=torch.float64).cos().item()) / 2
    return settings["minimum"] + (1 - settings["minimum"]) * left


@contextlib.contextmanager
def float64_in(model):
    """Let a model compute in float64, also the norms and softmax that its module in the library casts to float32."""
    module = sys.modules[type(model).__module__]
    kept = module.torch
    module.torch = SimpleNamespace(**vars(kept) | {"float32": kept.float64})
    model.double()
    try:
        yield
    finally:
        module.torch = kept


def engine_losses_in_float64(run):
    """The mean loss per target of each step of the engine in float64; of a causal model."""
    prepared = prepare(load_settings(run))
    plan, settings = prepared.plan, prepared.plan.settings
    shape = plan.vocabulary, settings.batch.length, prepared.document_token
    model = settings.model.design.build_model(*shape, settings.seeds.init)
    with float64_in(model):
        engine, losses = (
            TorchEngine(model, settings.optimizer, settings.engine.micro_batch, torch.device("cpu")),
            [],
        )
        for step in range(1, plan.steps + 1):
            windows = engine.place(prepared.batches.of_step(step))
            losses.append(engine.step(windows, plan.learning_rate(step), step).loss_sum / (SEQUENCES * LENGTH))
    return losses


def plain_losses(run, precision=contextlib.nullcontext):
    """The mean loss per target of each step, by the library's model and loss, and two AdamW; and its parameters."""
    model, logits_of = reference(run / "checkpoints/step00000000")
    with precision(model):
        return train_plainly(run, model.train(), logits_of), sum(one.numel() for one in model.parameters())


def train_plainly(run, model, logits_of):
    """Train a model for the steps of a run; returns the losses."""
    settings = yaml.safe_load((run / "config.yaml").read_text())["optimizer"]
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            module.padding_idx = None  # RoBERTa's -1 would be the last row, which gets no gradient
    groups = ([], [])
    for name, parameter in model.named_parameters():
        groups[parameter.ndim < 2 or name.endswith("A_log")].append(parameter)
    adamw = partial(torch.optim.AdamW, lr=settings["learning_rate"], betas=settings["betas"], eps=settings["eps"])
    optimizers = [adamw(groups[0], weight_decay=settings["weight_decay"]), adamw(groups[1], weight_decay=0.0)]
    prepared, losses = prepare(load_settings(run)), []
    for step in range(1, prepared.plan.steps + 1):
        inputs, targets = split_batch(torch.from_numpy(prepared.batches.of_step(step)))
        logits = logits_of(inputs)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), settings["clip"])
        for optimizer in optimizers:
            optimizer.param_groups[0]["lr"] = settings["learning_rate"] * cosine(
                settings, step, prepared.plan.steps
            )
            optimizer.step()
            optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def run_losses(run):
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [line.get("masked_loss", line.get("loss")) for line in lines]


def largest_difference(ours, others):
    assert len(ours) == len(others) > 0
    return max(abs(one - other) for one, other in zip(ours, others, strict=True))


def compare(runs):
    """Train a model by the plain loop; returns its parameters, and by how much the losses in each way differ."""
    facts = read_run_facts(runs["one"])
    expected, parameters = plain_losses(runs["one"])
    assert facts.parameters["total"] == parameters, (facts.name, parameters)
    ours = run_losses(runs["one"])
    apart = {way: largest_difference(run_losses(run), expected) for way, run in runs.items()}
    found = {"model": facts.model, "parameters": parameters, "first": ours[0], "last": ours[-1], "apart": apart}
    if apart["one"] <= WITHIN:
        return found | {"limit": WITHIN}
    expected, _ = plain_losses(runs["one"], float64_in)
    in_float64 = largest_difference(engine_losses_in_float64(runs["one"]), expected)
    limit = 10 * apart["one"] if in_float64 <= WITHIN_IN_FLOAT64 else WITHIN
    return found | {"limit": limit, "apart_in_float64": in_float64}


def check(run):
    """Check that the files of a run are whole and that each checkpoint is scored."""
    verify_folder(run)
    scored = {path.stem for path in run.glob("eval/demo*/*/step*.parquet")}
    assert scored == {f"step{step:08d}" for step in read_run_facts(run).checkpoint_steps}, scored


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", nargs="+", default=list(TINY))
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--tiny", action="store_true")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    folder = arguments.folder.resolve()
    trained = train_all(folder, arguments.models, arguments.ways, arguments.steps, arguments.tiny)
    found = [compare(runs) for runs in trained]  # before a run is checked, which makes transformers' Mamba quick
    for run in [run for runs in trained for run in runs.values()]:
        check(run)
    for facts in found:
        log_line(json.dumps(facts))
    drawing = ["analyze.py", f"runs={folder}/one/*", f"out={folder}/figures"]
    codes, errors = finish(start(drawing))
    assert codes == [0], errors
    far = [facts["model"] for facts in found if max(facts["apart"].values()) > facts["limit"]]
    sys.exit(f"further from the plain loop than the limit: {far}" if far else 0)


if __name__ == "__main__":
    main()
