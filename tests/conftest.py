import gc
import os
import signal
import sys
from pathlib import Path

import pytest
import torch
from hydra.core.global_hydra import GlobalHydra
from hypothesis import settings
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM, PreTrainedTokenizerFast

from tests.composing import composing_once
from tests.facts import write_manifest_of
from ucurve import cli

settings.register_profile("any machine", deadline=None)  # a busy one takes longer than 200 ms now and then
settings.load_profile("any machine")
ROOT = Path(__file__).resolve().parents[1]
LONGEST = ("test_tutorial", "test_stress", "test_kills", "test_families", "test_selftest")  # of make long
LETTERS = "".join(chr(0x4E00 + number) for number in range(40))
VOCABULARY = len(LETTERS) + 2


def pytest_configure() -> None:
    """Give tests of signals children that can be interrupted.

    A shell that starts a command in the background makes it ignore SIGINT, ``nohup`` SIGHUP, and so would all children.
    Until all tests are collected, nothing is garbage, and to look for it would take a tenth of that time.
    """
    gc.disable()
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the modules that take longest, so that no process works on one alone at the end."""
    items.sort(key=lambda item: item.path.stem not in LONGEST)


def pytest_collection_finish() -> None:
    """Keep what imports and collection made, millions of objects, out of every later garbage collection.

    A training thaws them at its end, and each later training and test of the process would go through all of them.
    """
    gc.collect()
    gc.freeze()
    gc.unfreeze = lambda: None
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def unsynced():
    """Let no test wait for the disk: only after a power cut would it matter what was flushed."""
    with pytest.MonkeyPatch.context() as patch:
        # Of a closed file an error still.
        patch.setattr(os, "fsync", lambda descriptor: os.fstat(descriptor) and None)
        yield


@pytest.fixture(scope="session", autouse=True)
def composed_once():
    with composing_once():
        yield


@pytest.fixture(scope="session")
def shared():
    folder = Path(os.environ.get("UCURVE_SHARED", ROOT.parent / "shared"))
    if not (folder / "benchmarks" / "zhoblimp").is_dir():
        pytest.skip("the published benchmark files are not here (../shared or $UCURVE_SHARED)")
    return folder


@pytest.fixture
def run_command(monkeypatch, capsys):
    """A function that runs a command in this process and returns its exit code, output and messages."""

    def run(name, *arguments):
        GlobalHydra.instance().clear()
        monkeypatch.setattr(sys, "argv", [f"{name}.py", *map(str, arguments)])
        code = 0
        try:
            cli.run(name)
        except SystemExit as ended:
            code = ended.code
        return code, *capsys.readouterr()

    return run


@pytest.fixture(scope="session")
def make_tokenizer():
    def make(letters=LETTERS, **special):
        vocabulary = {"<eos>": 0, "<unk>": 1} | {letter: place + 2 for place, letter in enumerate(letters)}
        tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
        tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
        names = {"eos_token": "<eos>", "bos_token": "<eos>", "unk_token": "<unk>"} | special
        return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)

    return make


@pytest.fixture(scope="session")
def tokenizer(make_tokenizer):
    return make_tokenizer()


@pytest.fixture(scope="session")
def make_model():
    def make(seed=0, vocabulary=VOCABULARY, positions=64, spread=0.4):
        torch.manual_seed(seed)
        config = GPTNeoXConfig(
            vocab_size=vocabulary,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=positions,
            initializer_range=spread,
            hidden_dropout=0.3,
            attention_dropout=0.3,
        )
        return GPTNeoXForCausalLM(config).eval()

    return make


@pytest.fixture(scope="session")
def model(make_model):
    return make_model()


@pytest.fixture(scope="session")
def write_checkpoint(tokenizer):
    def write(folder, model, step=0, manifest=True, tokenizer=tokenizer):
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        if manifest:
            write_manifest_of(folder, step)
        return folder

    return write
