"""A run as a repository of the hub, in a folder; swept from there with the numbers of the run itself."""

import json
import shutil
import socket
import sys
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.analysis.synthetic import run_maker, score_row
from tests.facts import change_run
from tests.hub import Hub as Served
from tests.hub import serve
from tests.settings import publish_command
from ucurve.analysis.data.runs import find_runs
from ucurve.errors import RunError, UserError
from ucurve.eval.api import score
from ucurve.eval.store.tables import ACCURACY, read_table
from ucurve.launch.publish.card import overall_accuracies
from ucurve.launch.publish.publish import revisions
from ucurve.storage.run_folder import checkpoints
from ucurve.training.run.run import train_run

LETTERS = "天地玄黄宇宙洪荒"
STEPS = [0, 3, 12]
FILES = {
    "config.json", "generation_config.json", "manifest.json", "model.safetensors", "tokenizer.json",
    "tokenizer_config.json", "unigram_counts.npy", "README.md", "learning_curve.png",
}  # fmt: skip


@pytest.fixture
def benchmarks(tmp_path):
    folder = tmp_path / "benchmarks" / "zhoblimp"
    folder.mkdir(parents=True)
    pairs = [
        {"UID": uid, "phenomenon": "p", "sentence_good": LETTERS[:size], "sentence_bad": LETTERS[size:1:-1]}
        for uid in ("a", "b")
        for size in range(2, 8)
    ]
    (folder / "pairs.jsonl").write_text("\n".join(json.dumps(pair) for pair in pairs) + "\n")
    return folder.parent


def trained(settings):
    train_run(settings)
    return settings.folder


LISTED = ("schedule=list", "schedule.count=null", f"schedule.steps={STEPS}")


@pytest.fixture
def run(finished_run):
    return finished_run(*LISTED)


@pytest.fixture
def scored(finished_run, benchmarks):
    return finished_run(*LISTED, "eval.benchmarks=[zhoblimp]", f"benchmark_root={benchmarks}")


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*_):
        raise AssertionError("reached for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def publish(run, out, **more):
    publish_command({"run": str(run), "out": str(out)} | more)


def numbers(folder):
    return read_table(ACCURACY, ACCURACY.path(folder)).drop(columns="run")


def test_a_published_suite_is_swept_with_the_numbers_of_the_run(scored, benchmarks, tmp_path, no_network, capsys):
    out = tmp_path / "published"
    publish(scored, out, repo="me/suite-2")
    assert capsys.readouterr().out == f"{out}: revisions step0, step3, step12, main\n"
    expected = numbers(scored)
    assert sorted(expected["step"].unique()) == STEPS
    assert expected["tokens"].max() == 12 * 128
    assert "slor" in set(expected["linking"])
    for name, wanted in {"all": ["all"], "named": ["step12", "step0", "step3"]}.items():
        place = tmp_path / name
        score(out, revisions=wanted, benchmarks=["zhoblimp"], benchmark_root=benchmarks, out=place)
        pd.testing.assert_frame_equal(numbers(place), expected)


@pytest.mark.long
def test_revisions_can_have_the_names_of_babylm(
    settings_of, benchmarks, tmp_path, no_network, monkeypatch, capsys
):
    monkeypatch.setattr("ucurve.training.checkpoint_schedule._BABYLM_UNIT", 100)  # words, in place of a million
    asked = ("tokens=800w", "data.words=jieba", "schedule=babylm", "schedule.count=null", "batch.sequences=1")
    run = trained(settings_of("eval.benchmarks=[zhoblimp]", f"benchmark_root={benchmarks}", *asked))
    out = tmp_path / "published"
    publish(run, out, names="words")
    names = [f"chck_{count}M" for count in range(9)]
    assert capsys.readouterr().out.endswith(f"{out}: revisions {', '.join(names)}, main\n")
    assert "| `chck_8M` |" in (out / "main" / "README.md").read_text(encoding="utf-8")
    score(out, revisions=["all"], benchmarks=["zhoblimp"], benchmark_root=benchmarks, out=tmp_path / "swept")
    pd.testing.assert_frame_equal(numbers(tmp_path / "swept"), numbers(run))


def test_the_hubs_client_finds_every_revision_offline(scored, benchmarks, tmp_path, no_network, monkeypatch):
    out, swept = tmp_path / "published", tmp_path / "swept"
    publish(scored, out, repo="me/suite-2")
    ids = torch.arange(8)[None]
    for folder, revision in zip(checkpoints(scored), revisions(scored), strict=True):
        there = {"revision": revision, "cache_dir": out, "local_files_only": True}
        published = AutoModelForCausalLM.from_pretrained("me/suite-2", **there)
        assert torch.equal(published(ids).logits, AutoModelForCausalLM.from_pretrained(folder)(ids).logits)
        assert AutoTokenizer.from_pretrained("me/suite-2", **there)(LETTERS).input_ids
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(out))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.chdir(tmp_path)
    score("me/suite-2", revisions=["all"], benchmarks=["zhoblimp"], benchmark_root=benchmarks, out=swept)
    pd.testing.assert_frame_equal(numbers(swept), numbers(scored))


def test_a_revision_holds_the_checkpoint_and_nothing_else(run, tmp_path):
    out = tmp_path / "published"
    publish(run, out)
    assert {path.name for path in out.iterdir()} == {"step0", "step3", "step12", "main"}
    for folder, revision in zip(checkpoints(run), ("step0", "step3", "step12"), strict=True):
        assert {path.name for path in (out / revision).iterdir()} == FILES
        for name in FILES - {"README.md", "learning_curve.png", "unigram_counts.npy"}:
            assert (out / revision / name).read_bytes() == (folder / name).read_bytes()
    assert (out / "main" / "manifest.json").read_bytes() == (out / "step12" / "manifest.json").read_bytes()


def test_the_card_says_what_made_it(scored, tmp_path):
    engine = {"kind": "torch", "processes": 1, "precision": "float32", "compiled": False}
    made = {"versions": {"torch": "2"}, "hardware": {}, "engine": engine}
    change_run(
        scored,
        sessions=[{"after_step": 0, "code_revision": "a"} | made, {"after_step": 5, "code_revision": "b"} | made],
    )
    publish(scored, tmp_path / "published", repo="me/suite")
    card = (tmp_path / "published" / "main" / "README.md").read_text(encoding="utf-8")
    record = json.loads((scored / "run.json").read_text())
    facts = [record[key] for key in ("name", "data_sha256", "config_sha256", "code_revision")]
    assert all(f"{fact}" in card for fact in facts)
    assert f"{record['parameters']['total']:,}" in card
    assert 'from_pretrained("me/suite", revision="step3")' in card
    assert str(tmp_path) not in card
    assert "| 1 | `a` | 2 |\n| 6 | `b` | 2 |" in card
    overall = overall_accuracies(*find_runs([str(scored)]))
    row = overall[overall["step"] == 3].set_index("linking")["accuracy"]
    assert "| `step3` | " + " | ".join(f"{100 * value:.1f}" for value in row) + " |" in card
    bits = [json.loads(line)["bits_per_byte"] for line in (scored / "metrics.jsonl").read_text().splitlines()]
    assert f"| `step3` | 384 | {record['parameters']['total'] * 6 * 384:.3g} |" in card
    assert f"| {bits[2]:.3f} |" in card
    assert (tmp_path / "published" / "main" / "learning_curve.png").read_bytes().startswith(b"\x89PNG")


OF_BOTH_SIDES = {
    "masked": (["model=bert-tiny"], "AutoModelForMaskedLM"),
    "mntp": (["model=bert-tiny", "objective=mntp"], "AutoModelForMaskedLM"),
    "hybrid": (["model=llama-tiny", "objective=hybrid"], "AutoModelForCausalLM"),
}


@pytest.mark.parametrize("objective", OF_BOTH_SIDES)
def test_a_model_that_sees_both_sides_is_published_with_the_class_that_loads_it(
    objective, finished_run, benchmarks, tmp_path
):
    chosen, loaded_by = OF_BOTH_SIDES[objective]
    run = finished_run(*LISTED, *chosen, "eval.benchmarks=[zhoblimp]", f"benchmark_root={benchmarks}")
    publish(run, tmp_path / "published")
    newest = tmp_path / "published" / "main"
    card = (newest / "README.md").read_text(encoding="utf-8")
    assert f"model = {loaded_by}.from_pretrained(" in card
    assert ("pipeline_tag: fill-mask" in card) == (loaded_by == "AutoModelForMaskedLM")
    assert ("from the position before it" in card) == (objective != "masked")
    assert (
        type(getattr(transformers, loaded_by).from_pretrained(newest)).__name__
        in (newest / "config.json").read_text()
    )
    assert (newest / "learning_curve.png").read_bytes().startswith(b"\x89PNG")


def test_the_card_of_an_lstm_has_the_import_that_knows_it(finished_run, tmp_path):
    publish(finished_run(*LISTED, "model=lstm-tiny"), tmp_path / "published")
    card = (tmp_path / "published" / "main" / "README.md").read_text(encoding="utf-8")
    assert "import ucurve.huggingface.lstm  # the architecture" in card


def test_of_a_masked_run_without_scores_no_curve_is_drawn(finished_run, tmp_path):
    publish(finished_run(*LISTED, "model=bert-tiny"), tmp_path / "published")
    newest = tmp_path / "published" / "main"
    assert "learning_curve.png" not in (newest / "README.md").read_text(encoding="utf-8")
    assert not (newest / "learning_curve.png").exists()


def test_the_ties_of_a_benchmark_are_counted_by_one_rule(tmp_path):
    make_run, steps, rules = run_maker(tmp_path), (8, 0), ("wrong", "half")
    rows = [
        score_row(step, 0.5, split=split, paradigm=paradigm) | {"ties_rule": rule, "benchmark": name}
        for name, own in (("both", rules), ("strict", rules[:1]))
        for rule in own
        for step in steps
        for paradigm in ("all", "macro", "a")
        for split in ("all", "equal")
    ]
    overall = overall_accuracies(*find_runs([str(make_run(rows))]))
    found = overall.sort_values(["benchmark", "step"])[["benchmark", "step", "ties_rule"]]
    assert found.astype(str).values.tolist() == [
        ["both", "0", "half"], ["both", "8", "half"], ["strict", "0", "wrong"], ["strict", "8", "wrong"],
    ]  # fmt: skip
    assert overall_accuracies(*find_runs([str(make_run(None, seed=1))])).empty


class Hub:
    """Stands in for the hub's client and keeps what it was asked to do."""

    def __init__(self, refused=None):
        self.calls, self.sent, self.refused = [], {}, refused

    def repo_exists(self, repo):
        return False

    def create_repo(self, repo, exist_ok, private):
        self.calls.append(("repo", repo))

    def create_branch(self, repo, branch, exist_ok):
        self.calls.append(("branch", branch))

    def upload_folder(self, repo_id, folder_path, revision, commit_message, delete_patterns):
        if revision == self.refused:
            raise OSError("503 Service Unavailable\nlater")
        assert (repo_id, delete_patterns) == ("me/suite", "*")
        self.calls.append(("send", revision))
        self.sent[revision] = {path.name: path.read_bytes() for path in Path(folder_path).iterdir()}


@pytest.fixture
def hub(monkeypatch):
    def stand_in(refused=None):
        one = Hub(refused)
        monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(HfApi=lambda: one))
        return one

    return stand_in


def test_uploading_sends_every_revision_and_main_last(run, tmp_path, hub):
    out, client = tmp_path / "published", hub()
    publish(run, out, repo="me/suite", upload=True)
    assert client.calls == [
        ("repo", "me/suite"),
        *[(what, revision) for revision in ("step0", "step3", "step12") for what in ("branch", "send")],
        ("send", "main"),
    ]
    assert {name: set(files) for name, files in client.sent.items()} == dict.fromkeys(client.sent, FILES)
    assert client.sent["main"] == client.sent["step12"] != client.sent["step3"]


def test_a_broken_upload_goes_on_and_keeps_the_card_of_the_user(run, tmp_path, hub):
    out = tmp_path / "published"
    hub(refused="step3")
    message = r"me/suite: the hub does not take the revision step3 \(OSError: 503 Service Una"
    with pytest.raises(RunError, match=message):
        publish(run, out, repo="me/suite", upload=True)
    (out / "main" / "README.md").write_text("mine")
    client = hub()
    publish(run, out, repo="me/suite", upload=True)
    assert client.sent["main"]["README.md"] == b"mine"
    (out / "step3" / "optimizer.pt").write_bytes(b"x")
    with pytest.raises(UserError, match=r"is not what was published of .*s0: step3/optimizer\.pt differs"):
        publish(run, out, repo="me/suite", upload=True)
    (out / "step3" / "optimizer.pt").unlink()
    shutil.copyfile(out / "step12" / "model.safetensors", out / "step3" / "model.safetensors")
    with pytest.raises(UserError, match=r"step3/model\.safetensors differs"):
        publish(run, out, repo="me/suite", upload=True)
    shutil.rmtree(out / "step0")
    with pytest.raises(UserError, match=r"step0/config\.json differs"):
        publish(run, out, repo="me/suite", upload=True)


def test_counts_that_were_damaged_are_not_sent(run, tmp_path, hub):
    out, client = tmp_path / "published", hub()
    publish(run, out)
    counts = out / "step3" / "unigram_counts.npy"
    content = bytearray(counts.read_bytes())
    content[-1] ^= 1
    counts.write_bytes(content)
    with pytest.raises(UserError, match=r"step3/unigram_counts\.npy differs"):
        publish(run, out, repo="me/suite", upload=True)
    assert client.calls == []


@pytest.fixture
def served(monkeypatch, tmp_path):
    """The stand-in of ``tests.hub``, to which the hub's own client talks in this process."""
    with serve(Served()) as one:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", one.url)
        files = f"{one.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", files)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hf"))
        monkeypatch.setenv("HF_TOKEN", "any")
        yield one


def test_a_repository_of_something_else_is_replaced_only_when_asked(run, tmp_path, served):
    other = {"README.md": b"mine", "notes.txt": b"mine", "pytorch_model.bin": b"mine"}
    served.commit("models", "me/thesis", other)
    given = {"run": run, "out": tmp_path / "out", "repo": "me/thesis", "upload": True}
    with pytest.raises(
        UserError,
        match=r"repo=me/thesis: main holds README\.md, notes\.txt, pytorch_model\.bin, and no .*replace=true",
    ):
        publish(**given)
    there = served.repositories["models", "me/thesis"]
    assert list(there.branches) == ["main"]
    assert there.commits[there.branches["main"]].items() >= other.items()
    assert not (tmp_path / "out").exists()
    publish(**given, replace=True)
    assert set(there.commits[there.branches["main"]]) - {".gitattributes"} == FILES
    publish(**given)


def test_a_branch_of_another_run_is_not_replaced_either(run, tmp_path, served, settings_of):
    """As after an upload of another run that was cut off before ``main``."""
    other = trained(settings_of("schedule=list", "schedule.count=null", f"schedule.steps={STEPS}", "seed=1"))
    manifest = (checkpoints(other)[1] / "manifest.json").read_bytes()
    served.commit("models", "me/suite", {})
    served.commit("models", "me/suite", {"manifest.json": manifest}, "step3")
    served.commit("models", "me/suite", {"a.txt": b""}, "of-somebody")
    with pytest.raises(
        UserError, match=r"repo=me/suite: step3 holds manifest\.json, and no manifest\.json of this run"
    ):
        publish(run, tmp_path / "out", repo="me/suite", upload=True)
    publish(other, tmp_path / "out", repo="me/suite", upload=True)


def test_a_private_repository(run, tmp_path, served):
    publish(run, tmp_path / "out", repo="me/suite", upload=True, private=True)
    there = served.repositories["models", "me/suite"]
    assert there.private
    there.private = False
    with pytest.raises(UserError, match="private=true: me/suite is there already and public"):
        publish(run, tmp_path / "out", repo="me/suite", upload=True, private=True)


def test_leftovers_of_a_killed_publication_are_removed(run, tmp_path):
    (tmp_path / ".published.tmp-0123456789ab" / "step0").mkdir(parents=True)
    (tmp_path / ".mine.tmp-0123456789ab").mkdir()
    publish(run, tmp_path / "published")
    assert {path.name for path in tmp_path.iterdir() if path.name.startswith(".")} == {".mine.tmp-0123456789ab"}


def test_what_cannot_be_published(run, tmp_path):
    mistakes = {
        r"out=.*hub lies in the run folder": {"out": run / "hub"},
        r"upload=true needs repo=USER/NAME": {"upload": True},
        r"repo: got 'suite'": {"repo": "suite"},
        r"private=true is for upload=true": {"repo": "me/suite", "private": True},
        r"names=words: the budget of .* is in tokens; one in words, as tokens=100Mw, counts them": {
            "names": "words"
        },
    }
    for message, given in mistakes.items():
        with pytest.raises(UserError, match=message):
            publish(**{"run": run, "out": tmp_path / "out"} | given)
    (run / "checkpoints" / "step00000003" / "model.safetensors").write_bytes(b"")
    message = r"(?s)is not published, it has 1 fault\(s\).*step00000003/model\.safetensors: its"
    with pytest.raises(RunError, match=message):
        publish(run, tmp_path / "out")
    change_run(run, status="running")
    with pytest.raises(RunError, match="the run is running, not finished"):
        publish(run, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith((".", "out"))) == []


def test_the_command_line(run, tmp_path, run_command):
    code, said, _ = run_command("publish", f"run={run}", f"out={tmp_path / 'out'}", "repo=me/14m-suite")
    assert (code, said) == (0, f"{tmp_path / 'out'}: revisions step0, step3, step12, main\n")
    assert (tmp_path / "out" / "models--me--14m-suite" / "refs" / "step12").is_file()
