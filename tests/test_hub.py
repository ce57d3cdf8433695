"""What comes from the Hugging Face hub, over HTTP: the real clients talk to the stand-in of ``tests.hub``."""

import io
import json
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pandas as pd
import pytest
import sentencepiece
import yaml

from tests.hub import Hub, serve
from tests.hub_repositories import BENCHMARK, CORPUS, TOKENIZER, benchmark_files, corpus_files, repositories
from ucurve.huggingface.pretrained import load_tokenizer
from ucurve.storage.files import sha256_file
from ucurve.templates.demo import demo_pairs, training_text

ROOT = Path(__file__).resolve().parents[1]
TYPED = ["train.py", "model=tiny", "tokens=200K"]
NAME = "tiny-200K-cllama-c4_zh-s0"


def environment(hub, home, **more):
    offline = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_TOKEN", "HF_HUB_CACHE")
    kept = {key: value for key, value in os.environ.items() if key not in offline}
    return kept | {
        "HF_ENDPOINT": hub.url,
        "HF_HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        **more,
    }


def start(arguments, cwd, variables):
    script, *rest = arguments
    command = [sys.executable, *([str(ROOT / script)] if script.endswith(".py") else [script]), *rest]
    return subprocess.run(
        command, cwd=cwd, env=variables, capture_output=True, text=True, check=False, timeout=240
    )


@pytest.fixture(scope="module")
def hub():
    with serve(Hub()) as hub:
        for (kind, name), files in repositories(documents=24_000, pairs=100).items():
            hub.commit(kind, name, files)
        yield hub


@pytest.fixture(scope="module")
def typed(hub, tmp_path_factory):
    """The folder in which the line was typed, and how it ended; run, cache and home of the hub's client lie there."""
    place = tmp_path_factory.mktemp("typed")
    return place, start(TYPED, place, environment(hub, place / "hf"))


def commit_of(hub, kind, name, branch="main"):
    return hub.repositories[kind, name].branches[branch]


@pytest.mark.slow
@pytest.mark.long
def test_the_line_as_typed_trains_and_scores_every_checkpoint(hub, typed):
    place, done = typed
    assert done.returncode == 0, done.stderr
    assert {path.name for path in place.iterdir()} == {"runs", "cache", "tokenizers", "hf"}
    run = place / "runs" / NAME
    scored = pd.read_csv(run / "eval/accuracy.csv")
    assert set(scored["benchmark"]) == {"zhoblimp"}
    assert sorted(set(scored["step"])) == json.loads((run / "run.json").read_text())["checkpoint_steps"]


@pytest.mark.long
def test_what_was_read_is_recorded(hub, typed):
    place, _ = typed
    run = place / "runs" / NAME
    corpus, tokenizer = commit_of(hub, "datasets", CORPUS), commit_of(hub, "models", TOKENIZER)
    assert json.loads((run / "run.json").read_text())["commits"] == {"data": corpus, "tokenizer": tokenizer}
    (index,) = place.glob("cache/*/index.json")
    assert json.loads(index.read_text())["source"] == {"dataset": CORPUS, "commit": corpus}
    assert json.loads((run / "tokenizer/statistics.json").read_text())["commit"] == tokenizer
    scores = json.loads((run / "eval/zhoblimp/sentence/step00000012.json").read_text())
    assert scores["notes"]["benchmark_commit"] == commit_of(hub, "datasets", BENCHMARK)


@pytest.mark.long
def test_a_sentencepiece_model_alone_gives_the_ids_of_sentencepiece(hub, typed):
    place, _ = typed
    content = hub.repositories["models", TOKENIZER].commits[commit_of(hub, "models", TOKENIZER)][
        "tokenizer.model"
    ]
    theirs = sentencepiece.SentencePieceProcessor(model_proto=content)
    ours = load_tokenizer(place / "runs" / NAME / "tokenizer")
    lines = [*islice(training_text(), 300), "鑫森淼 é 🎈", "两个 空格", "<s>不是</s>记号", "2024年"]
    assert ours(lines, add_special_tokens=False)["input_ids"] == theirs.encode(lines)
    assert (ours.unk_token_id, ours.bos_token_id, ours.eos_token_id) == (0, 1, 2)


@pytest.mark.long
def test_analyze_without_an_argument_draws_the_run(typed):
    place, _ = typed
    done = start(["analyze.py"], place, os.environ | {"PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    assert (place / "figures/report.html").is_file()


@pytest.mark.long
def test_a_run_goes_on_with_the_commits_it_began_with_when_a_branch_moved(hub, typed):
    place, _ = typed
    run = place / "runs" / NAME
    began = yaml.safe_load((run / "config.yaml").read_text())
    main = hub.repositories["datasets", CORPUS]
    before = main.branches["main"]
    try:
        hub.commit("datasets", CORPUS, corpus_files(["别的文字。"] * 50))
        again = start(TYPED, place, environment(hub, place / "hf"))
        other = start([*TYPED, "name=other"], place, environment(hub, place / "hf"))
    finally:
        main.branches["main"] = before
    assert again.returncode == 0, again.stderr
    assert f"{NAME} is finished" in again.stderr
    assert yaml.safe_load((run / "config.yaml").read_text()) == began
    assert other.returncode == 2
    assert "epochs of data=c4_zh" in other.stderr  # it read the new text, which is too short
    assert len(list(place.glob("tokenizers/cllama-c4_zh-*"))) == 2


@pytest.mark.long
def test_a_published_run_is_on_the_hub_with_a_revision_for_each_checkpoint(hub, typed, tmp_path):
    place, _ = typed
    run = place / "runs" / NAME
    command = ["-m", "launch.publish", f"run={run}", f"out={tmp_path / 'out'}", "repo=me/suite", "upload=true"]
    done = start(command, tmp_path, environment(hub, tmp_path / "hf", HF_TOKEN="any"))
    assert done.returncode == 0, done.stderr
    sent = hub.repositories["models", "me/suite"]
    assert sorted(sent.branches) == sorted(["main", *(f"step{step}" for step in range(13))])
    for name, step in (("step3", "step3"), ("main", "step12")):
        files = sent.commits[sent.branches[name]]
        assert {path: content for path, content in files.items() if path != ".gitattributes"} == {
            path.name: path.read_bytes() for path in (tmp_path / "out" / step).iterdir()
        }
    fetched = "from ucurve.huggingface.pretrained import fetch; print(fetch('me/suite', ['*'], 'step3'))"
    folder = ask(hub, tmp_path / "hf", fetched)
    assert sha256_file(Path(folder) / "model.safetensors") == sha256_file(
        tmp_path / "out/step3/model.safetensors"
    )


def ask(hub, home, code):
    """What Python prints for some code, in a process whose clients talk to the hub."""
    done = start(["-c", code], ROOT, environment(hub, home))
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


READ_CORPUS = """
import json
from ucurve.training.corpus.corpus import Corpus, pin_corpus
from tests.settings import corpus_settings
found = []
for more in {asked}:
    settings = pin_corpus(corpus_settings(kind="hub", dataset="me/texts", **more))
    corpus = Corpus(settings)
    found.append([settings.commit, corpus.fingerprint(), list(corpus.documents())])
print(json.dumps(found))
"""


def parquet(texts):
    content = io.BytesIO()
    pd.DataFrame({"text": texts}).to_parquet(content)
    return content.getvalue()


@pytest.mark.long
def test_revisions_of_a_dataset_are_different_corpora(tmp_path):
    asked = [{}, {"revision": "v1"}, {"subset": "old"}]
    card = b"---\nconfigs:\n- {config_name: new, data_files: new/*.parquet, default: true}\n"
    card += b"- {config_name: old, data_files: old/*.parquet}\n---\n"
    with serve(Hub()) as hub:
        first = hub.commit("datasets", "me/texts", {"data/train.parquet": parquet(["一"])}, "v1")
        files = {"README.md": card, "new/a.parquet": parquet(["二"]), "old/a.parquet": parquet(["三", "四"])}
        second = hub.commit("datasets", "me/texts", files)
        main, old, subset = json.loads(ask(hub, tmp_path, READ_CORPUS.format(asked=asked)))
        (by_commit,) = json.loads(ask(hub, tmp_path, READ_CORPUS.format(asked=[{"revision": first}])))
    assert [main[0], old[0], subset[0]] == [second, first, second]
    assert [main[2], old[2], subset[2]] == [["二"], ["一"], ["三", "四"]]
    assert len({main[1], old[1], subset[1]}) == 3
    assert by_commit == old


def test_revisions_of_a_benchmark(tmp_path):
    pairs = list(islice(demo_pairs(), 40))
    code = (
        "from ucurve.eval.benchmarks.load import load_benchmark\n"
        "for revision in (None, 'v1'):\n"
        "    pairs = load_benchmark('zhoblimp', revision=revision)\n"
        "    print(len(pairs), pairs.attrs['commit'])\n"
    )
    with serve(Hub()) as hub:
        old = hub.commit("datasets", BENCHMARK, benchmark_files(pairs[:30]), "v1")
        new = hub.commit("datasets", BENCHMARK, benchmark_files(pairs))
        assert ask(hub, tmp_path, code) == f"40 {new}\n30 {old}"


TOKENIZER_FOLDERS = """
from pathlib import Path
from tests.settings import corpus_settings, tokenizer_settings
from ucurve.training.tokenizer.build import build_tokenizer, pin_tokenizer
for revision in (None, "v1", "{commit}"):
    settings = pin_tokenizer(tokenizer_settings(kind="hub", name="mine", path="me/tokens", revision=revision))
    print(build_tokenizer(settings, corpus_settings(kind="text", path="{text}"), Path("{out}")).name)
"""


@pytest.mark.long
def test_revisions_of_a_tokenizer_have_folders_of_their_own(hub, tmp_path):
    (tmp_path / "text.txt").write_text("天地玄黄\n")
    files = hub.repositories["models", TOKENIZER].commits[commit_of(hub, "models", TOKENIZER)]
    old = hub.commit("models", "me/tokens", files, "v1")
    hub.commit("models", "me/tokens", files | {"README.md": b"moved"})
    code = TOKENIZER_FOLDERS.format(commit=old, text=tmp_path / "text.txt", out=tmp_path / "out")
    main, by_branch, by_commit = ask(hub, tmp_path / "hf", code).splitlines()
    assert main != by_branch == by_commit


@pytest.mark.parametrize(
    ("missing", "what"),
    [
        ([CORPUS, TOKENIZER, BENCHMARK], f"data.dataset={CORPUS} cannot be fetched"),
        ([TOKENIZER], f"tokenizer.path={TOKENIZER} cannot be fetched"),
        ([BENCHMARK], "benchmark 'zhoblimp' could not be fetched"),
    ],
)
def test_what_the_hub_does_not_give_ends_the_line_before_anything_is_made(tmp_path, missing, what):
    with serve(Hub()) as hub:
        for (kind, name), files in repositories(documents=50, pairs=10).items():
            if name not in missing:
                hub.commit(kind, name, files)
        done = start(TYPED, tmp_path, environment(hub, tmp_path / "hf"))
    assert done.returncode == 2
    assert done.stderr.count("error: ") == 1
    assert what in done.stderr
    assert {path.name for path in tmp_path.iterdir()} <= {"hf"}


def test_without_the_hub_the_message_gives_the_lines_that_need_no_network(tmp_path):
    done = start(TYPED, tmp_path, environment(Hub(url="http://127.0.0.1:9"), tmp_path / "hf"))
    assert done.returncode == 2
    assert done.stderr.count("error: ") == 1
    assert f"python {ROOT / 'train.py'} model=14m tokens=10M tokenizer=char data.path=TEXTS" in done.stderr
    assert f"python {ROOT / 'train.py'} experiment=demo" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} <= {"hf"}


@pytest.mark.long
def test_own_text_and_a_dry_run_ask_no_hub(tmp_path):
    (tmp_path / "text.txt").write_text("天地玄黄宇宙洪荒\n" * 200)
    small = ["tokens=1K", "batch.sequences=8", "batch.length=16", "model=tiny", "tokenizer=char"]
    with serve(Hub()) as hub:
        own = start(["train.py", *small, "data.path=text.txt"], tmp_path, environment(hub, tmp_path / "hf"))
        plan = start([*TYPED, "dry_run=true"], tmp_path, environment(hub, tmp_path / "hf"))
        assert hub.requests == []
    assert own.returncode == 0, own.stderr
    assert "nothing is scored" in own.stderr
    assert plan.returncode == 0, plan.stderr
    assert NAME in plan.stdout
