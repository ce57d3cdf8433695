"""What run.json, manifests and the keys of scores say, for tests that write such files by themselves."""

import shutil
from dataclasses import asdict

from ucurve.eval.store.keys import order_of, scores_below, stored_hash
from ucurve.eval.store.rows import ScoreRows, write_rows
from ucurve.eval.store.scores import pairs_path, score_path, write_scores
from ucurve.eval.store.tables import ACCURACY, Labels, make_blocks, read_table
from ucurve.eval.store.views import open_table
from ucurve.storage.facts import (
    Manifest,
    RunFacts,
    Status,
    read_manifest,
    read_run_facts,
    write_manifest,
    write_run_facts,
)
from ucurve.storage.files import sha256_file
from ucurve.storage.run_folder import MANIFEST, checkpoint_folder
from ucurve.storage.score_key import ScoreInputs, ScoreKey, read_key, write_key


def run_facts(**changes):
    """Return facts of a small run; ``parameters`` and others are given as they are in run.json."""
    facts = {
        "name": "14m-10M-char-demo-s0",
        "model": "14m",
        "factors": {
            "architecture": "gpt_neox",
            "size": "14m",
            "model": "14m",
            "budget": "10M",
            "tokenizer": "char",
        },
        "tokens_budget": 10_000_000,
        "tokenizer": "char",
        "tokenizer_sha256": "0" * 64,
        "vocabulary": 8130,
        "data": "demo",
        "data_sha256": "1" * 64,
        "corpus": {"documents": 10, "tokens": 1000, "start_tokens_seen": 10},
        "seeds": {"init": 0, "data": 0},
        "config_sha256": "2" * 64,
        "cell_sha256": "3" * 64,
        "parameters": {"total": 14_000_000, "non_embedding": 1_000_000},
        "checkpoint_steps": [],
        "code_revision": "a",
        "versions": {"torch": "2"},
        "hardware": {"cores": 2},
        "engine": {"kind": "torch", "processes": 1, "precision": "float32", "compiled": False},
    }
    return RunFacts.model_validate(facts | changes)


def write_run(folder, status: Status = "finished", **changes):
    """Write the run.json of a folder, which is made, with the hashes of its tokenizer, be it empty."""
    (folder / "tokenizer").mkdir(parents=True, exist_ok=True)
    files = {f"tokenizer/{path.name}": sha256_file(path) for path in sorted((folder / "tokenizer").iterdir())}
    write_run_facts(folder, run_facts(**{"status": status, "files": files} | changes))
    return folder


def manifest_of(step, **changes):
    """Return the manifest of a checkpoint that has no files."""
    facts = {
        "step": step,
        "tokens": step * 1000,
        "flops": step * 1e9,
        "flops_exact": step * 1e9,
        "epoch": step / 10,
        "data_sha256": "1" * 64,
        "config_sha256": "2" * 64,
        "precision": "float32",
        "weights_sha256": "4" * 64,
        "tokenizer_sha256": "5" * 64,
        "files": {},
    }
    return Manifest.model_validate(facts | changes)


def write_manifest_of(folder, step, **changes):
    """Write the manifest of a checkpoint's folder, which is made, with the hashes of what is in it.

    Weights are listed also where there are none, as in a checkpoint that lost them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = {path.name: sha256_file(path) for path in sorted(folder.iterdir()) if path.name != "manifest.json"}
    files.setdefault("model.safetensors", "4" * 64)
    hashes = {"files": files, "weights_sha256": files["model.safetensors"]}
    if "tokenizer.json" in files:
        hashes["tokenizer_sha256"] = files["tokenizer.json"]
    write_manifest(folder, manifest_of(step, **hashes | changes))
    return folder


def write_empty_checkpoint(run, step):
    """Write a checkpoint of which only the manifest is there."""
    return write_manifest_of(checkpoint_folder(run, step), step)


def change_run(folder, **changes):
    """Write the run.json of a folder again with some of it changed."""
    facts = read_run_facts(folder)
    write_run_facts(folder, RunFacts.model_validate(facts.model_dump() | changes))


def score_inputs(folder=None, **changes):
    """Return what a score depends on; of a run folder, what belongs to the run and the checkpoint of the step."""
    inputs = {
        "step": -1,
        "benchmark": "zho",
        "scorer": "sentence",
        "weights_sha256": "w",
        "config_sha256": "c",
        "tokenizer_sha256": "t",
        "tokens_sha256": "i",
        "data_sha256": "d",
        "settings": {"scorer": "sentence"},
    } | changes
    facts = None if folder is None else read_run_facts(folder)
    if facts is not None:
        inputs["run"] = facts.identity
        checkpoint = checkpoint_folder(folder, inputs["step"])
        if (checkpoint / MANIFEST).is_file():
            files = read_manifest(checkpoint).files
            inputs["weights_sha256"] = files["model.safetensors"]
            inputs["config_sha256"] = files.get("config.json", "c")
    return ScoreInputs.model_validate(inputs)


def store_scores(folder, benchmark, scorer, step, table, notes=None, **changes):
    """Store a table of scores with a key that fits the folder."""
    path = score_path(folder, benchmark, scorer, step)
    pairs = stored_hash(pairs_path(folder, benchmark))
    of_pairs = {} if pairs is None else {"data_sha256": pairs}
    inputs = score_inputs(folder, step=step, benchmark=benchmark, scorer=scorer, **of_pairs | changes)
    write_scores(path, table, inputs, folder.name, notes or {})
    return path


def store_key(folder, benchmark, scorer, step, more, **changes):
    """Store a key that fits the folder, without its scores."""
    inputs = score_inputs(folder, step=step, benchmark=benchmark, scorer=scorer, **changes)
    facts = {"model": folder.name, "scores_sha256": "s", "versions": {}} | more
    write_key(score_path(folder, benchmark, scorer, step), ScoreKey(**dict(inputs), **facts))


def store_rows(folder):
    """Store the rows of every score that has a key, from the table of the folder, which then has these alone."""
    path = ACCURACY.path(folder)
    table = read_table(ACCURACY, path)
    path.unlink()
    for scores in scores_below(folder):
        step, benchmark, scorer = order_of(folder, scores)
        own = table[(table["step"] == step) & (table["benchmark"] == benchmark) & (table["scorer"] == scorer)]
        first = own.iloc[0]
        labels = Labels(first["run"], step, first["tokens"], first["flops"], benchmark, scorer)
        rows = ScoreRows(read_key(scores).score_sha256)
        for of, lines in make_blocks(ACCURACY, own.drop(columns=[*asdict(labels)]), labels).items():
            rows.add(ACCURACY, of, lines)
        write_rows(scores, rows)
    with open_table(ACCURACY, folder) as made:
        shutil.copyfile(made, path)


def without_network(monkeypatch, snapshot_download):
    """Let the hub's client answer as without a network, and fetch by a function of the test."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
