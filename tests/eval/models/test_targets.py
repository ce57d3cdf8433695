import json
import shutil
import sys

import pytest

from tests.facts import without_network
from ucurve.errors import UserError
from ucurve.eval.models.targets import model_targets, run_targets
from ucurve.storage.files import sha256_file


def model_target(model):
    return model_targets(model)[0]


def test_checkpoints_in_order(run):
    targets = run_targets(run)
    assert [target.step for target in targets] == [0, 8]
    assert {target.name for target in targets} == {"tiny-1M-char-text-s0"}
    assert all(target.ours for target in targets)
    assert [target.step for target in run_targets(run, [8])] == [8]


def test_a_checkpoint_being_written_is_none(run):
    (run / "checkpoints" / ".step00000009.tmp-abc").mkdir()
    (run / "checkpoints" / "step00000010").mkdir()
    assert [target.step for target in run_targets(run)] == [0, 8]


def test_missing_run_names_the_nearest(run):
    with pytest.raises(UserError, match=r"run: no folder .*s1\. Did you mean '.*tiny-1M-char-text-s0'\?"):
        run_targets(run.with_name("tiny-1M-char-text-s1"))


def test_missing_step(run):
    with pytest.raises(UserError, match=r"no checkpoint of step 4, 5; there are 0, 8"):
        run_targets(run, [0, 4, 5])


def test_no_checkpoints(tmp_path):
    with pytest.raises(UserError, match="no checkpoints in"):
        run_targets(tmp_path)


@pytest.mark.parametrize("text", ["{", "[]", '{"tokens": 1}', '{"step": "x"}'])
def test_broken_manifest(run, text):
    (run / "checkpoints" / "step00000008" / "manifest.json").write_text(text)
    with pytest.raises(UserError, match=r"step00000008/manifest\.json: (not what was written|cannot be read)"):
        run_targets(run)


def test_damaged_weights_are_refused(run):
    weights = run / "checkpoints" / "step00000008" / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    first, second = run_targets(run)
    first.weights_sha256()
    with pytest.raises(UserError, match=r"step00000008: the weights are not those of manifest\.json"):
        second.weights_sha256()


def test_local_model(copy_model):
    target = model_target(str(copy_model("gpt")))
    assert (target.name, target.step, target.ours) == ("gpt", -1, False)


def test_checkpoint_alone_is_still_ours(run):
    target = model_target(str(run / "checkpoints" / "step00000008"))
    assert (target.step, target.ours, target.manifest.tokens) == (-1, True, 8000)


def test_checkpoint_alone_has_the_counts_of_its_run(run):
    folder = run / "checkpoints" / "step00000008"
    assert model_target(str(folder)).counts == run / "tokenizer" / "unigram_counts.npy"
    (folder / "unigram_counts.npy").touch()
    assert model_target(str(folder)).counts == folder / "unigram_counts.npy"


@pytest.mark.parametrize("text", ["{}", "[]", '{"step": 3, "files": []}', "<xml>"])
def test_a_manifest_of_another_tool_is_not_ours(copy_model, text):
    folder = copy_model()
    (folder / "manifest.json").write_text(text)
    target = model_target(str(folder))
    assert not target.ours
    assert target.weights_sha256() == sha256_file(folder / "model.safetensors")


@pytest.mark.parametrize("asked", ["modle", "./modle", "here/modle", "/nowhere/at/all", "a/b/c"])
def test_a_missing_path_reaches_for_nothing(copy_model, monkeypatch, asked):
    folder = copy_model("model")
    copied = folder.parent / "here"
    copied.mkdir()
    folder.rename(copied / "model")
    (copied.parent / "model").mkdir()
    monkeypatch.chdir(copied.parent)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)  # importing it would fail
    hint = r"Did you mean '.*model'\?" if asked.endswith("modle") else ""
    with pytest.raises(UserError, match=f"model: no folder .*{hint}"):
        model_target(asked)


def test_hub_model(copy_model, monkeypatch, tmp_path):
    folder = copy_model("cached")
    asked = []
    without_network(monkeypatch, lambda name, **options: asked.append((name, options)) or str(folder))
    monkeypatch.chdir(tmp_path)
    target = model_target("owner/name")
    assert (target.name, target.folder) == ("owner/name", folder)
    assert not any(pattern.endswith((".bin", ".pt", "*")) for pattern in asked[0][1]["allow_patterns"])


def test_hub_out_of_reach_or_without_a_revision(monkeypatch, tmp_path):
    def fail(*_, **__):
        raise OSError("no network\nat all")

    without_network(monkeypatch, fail)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        UserError, match=r"no folder 'owner/name' here, .* does not give it \(OSError: no network\)"
    ):
        model_target("owner/name")
    with pytest.raises(UserError, match=r"the hub does not give its revision 'step3' \(OSError: no network\)"):
        model_targets("owner/name", ["step3"])


def test_manifest_is_read_as_written(run):
    manifest = json.loads((run / "checkpoints" / "step00000008" / "manifest.json").read_text())
    del manifest["manifest_sha256"]
    assert run_targets(run, [8])[0].manifest.model_dump(exclude_none=True) == manifest


@pytest.mark.parametrize(
    ("names", "steps"),
    [
        (["step512", "step0"], [0, 512]),
        (["step00000008", "step-16", "step_32"], [8, 16, 32]),
        (["chck_10", "7"], [7, 10]),
        (["stage1-step1000-tokens4B", "stage1-step200-tokens1B"], [200, 1000]),
    ],
)
def test_revisions_are_subfolders_in_the_order_of_their_steps(copy_model, names, steps):
    folder = copy_model("family")
    for name in names:
        shutil.copytree(folder, folder / name, ignore=shutil.ignore_patterns(*names))
    targets = model_targets(str(folder), names)
    assert [target.step for target in targets] == steps
    assert {target.folder.name for target in targets} == set(names)
    assert {(target.name, target.ours, target.manifest) for target in targets} == {("family", False, None)}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            ["step0", "main", "final"],
            r"revisions: no step can be read off 'main'; .*'steps=\{main: N, final: N\}'",
        ),
        (["v1.5"], r"no step can be read off 'v1\.5'"),
        (["misstep9x1"], r"no step can be read off"),
        (["step1", "step01"], r"revisions: 'step1' and 'step01' are of one step, 1"),
        (["step7"], r"revisions: no folder .*step7\. Did you mean '.*step8'\?"),
    ],
)
def test_wrong_revisions(copy_model, names, message):
    folder = copy_model()
    (folder / "step8").mkdir()
    with pytest.raises(UserError, match=message):
        model_targets(str(folder), names)


def test_revisions_on_the_hub(copy_model, monkeypatch, tmp_path):
    folder, asked = copy_model("cached"), []

    def download(name, revision, **_):
        asked.append((name, revision))
        return str(folder)

    without_network(monkeypatch, download)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="of one step"):
        model_targets("owner/name", ["step8", "step08"])
    assert asked == []  # nothing is fetched before all names are read
    targets = model_targets("owner/name", ["step8", "step0"])
    assert sorted(asked) == [("owner/name", "step0"), ("owner/name", "step8")]
    assert [(target.name, target.step) for target in targets] == [("owner/name", 0), ("owner/name", 8)]
