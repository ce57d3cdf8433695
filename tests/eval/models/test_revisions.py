"""Which revisions a published suite has, and that each holds the step of its name."""

import shutil
import sys
from types import SimpleNamespace

import pytest

from tests.facts import write_manifest_of
from ucurve.errors import UserError
from ucurve.eval.models.targets import all_revisions, model_targets

PYTHIA = ["step143000", "main", "step0", "step1", "step512", "10M", "v2"]


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """Stand in for the hub's client: the names of branches, or the error of a network that is not there."""

    def stand_in(answer):
        def list_repo_refs(_, model):
            if isinstance(answer, Exception):
                raise answer
            return SimpleNamespace(branches=[SimpleNamespace(name=name) for name in answer])

        api = type("HfApi", (), {"list_repo_refs": list_repo_refs})
        place = SimpleNamespace(HF_HUB_CACHE=tmp_path / "cache")
        monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(HfApi=api, constants=place))

    monkeypatch.chdir(tmp_path)
    return stand_in


def test_all_of_a_suite_on_the_hub(hub):
    hub(PYTHIA)
    assert all_revisions("owner/pythia-14m") == ["step0", "step1", "step512", "step143000"]
    hub(["checkpoint-2000", "checkpoint-100", "10M", "misstep9x1", "refs"])
    assert all_revisions("owner/other") == ["checkpoint-100", "checkpoint-2000"]


def test_all_of_babylm_in_the_order_of_words(hub):
    hub(["main", *(f"chck_{number}M" for number in (1000, 100, 10, 2, 1, 20))])
    names = all_revisions("owner/babylm")
    assert names == [f"chck_{number}M" for number in (1, 2, 10, 20, 100, 1000)]


OLMO = ["main", "stage1-step150-tokens1B", "stage1-step9000-tokens20B", "stage2-ingredient1-step5000-tokens30B",
        "stage2-ingredient2-step5000-tokens30B"]  # fmt: skip


def test_all_of_a_suite_with_stages_are_those_of_the_first_one(hub, capsys):
    hub(OLMO)
    assert all_revisions("owner/olmo") == OLMO[1:3]
    said = "".join(capsys.readouterr())
    assert "2 revisions of later stages are left out, whose steps start from 0 again" in said
    assert f"'steps={{{OLMO[3]}: N, {OLMO[4]}: N}}'" in said
    assert all_revisions("owner/olmo", {OLMO[3]: 14000}) == [*OLMO[1:3], OLMO[3]]
    hub(OLMO[3:])
    with pytest.raises(
        UserError, match=r"no revision named like step512; .*'steps=\{stage2-ingredient1-step5000-tok"
    ):
        all_revisions("owner/olmo")


def test_a_pattern_takes_the_revisions_that_match(copy_model):
    folder = copy_model("family")
    for name in ("seed0-step8", "seed0-step16", "seed1-step4"):
        shutil.copytree(folder, folder / name, ignore=shutil.ignore_patterns("seed*"))
    assert [target.step for target in model_targets(str(folder), ["seed0-*"])] == [8, 16]
    with pytest.raises(UserError, match=r"'seed0-step16' and 'seed1-step4' differ in more than the step"):
        model_targets(str(folder), ["all"])
    with pytest.raises(
        UserError, match=r"has none named like 'sead\*'; there are seed0-step16, seed0-step8, seed1"
    ):
        model_targets(str(folder), ["sead*"])


def test_a_step_that_is_given_needs_no_name(copy_model):
    folder = copy_model("family")
    for name in ("early", "step512", "late"):
        shutil.copytree(folder, folder / name, ignore=shutil.ignore_patterns("early", "step*", "late"))
    given = {"late": 1000, "early": 10}
    for revisions in (["step512"], ["all"], ["early", "step512"]):
        targets = model_targets(str(folder), revisions, steps=given)
        assert [(target.revision, target.step) for target in targets] == [
            ("early", 10),
            ("step512", 512),
            ("late", 1000),
        ]
    assert [target.step for target in model_targets(str(folder), steps=given)] == [10, 1000]


def test_without_the_hub_those_of_its_cache(hub, tmp_path):
    hub(OSError("no network\nat all"))
    with pytest.raises(
        UserError, match=r"the hub does not list the revisions of owner/name \(OSError: no network\)"
    ):
        all_revisions("owner/name")
    refs = tmp_path / "cache" / "models--owner--name" / "refs"
    refs.mkdir(parents=True)
    for name in ("step16", "main", "step2"):
        (refs / name).touch()
    assert all_revisions("owner/name") == ["step2", "step16"]


def test_all_of_a_folder(copy_model):
    folder = copy_model("family")
    for name in ("step8", "step0", "main", "models--me--step1"):
        shutil.copytree(folder, folder / name, ignore=shutil.ignore_patterns("step*", "main"))
    (folder / "models--me--step1" / "config.json").unlink()
    (folder / "step9").mkdir()
    assert [target.step for target in model_targets(str(folder), ["all"])] == [0, 8]


def test_a_model_without_revisions(copy_model, hub):
    copy_model("family")
    hub(["main", "v2"])
    for model in ("family", "owner/name"):
        with pytest.raises(UserError, match=rf"'revisions=\[all\]': {model} has no revision named like step512"):
            model_targets(model, ["all"])
    with pytest.raises(UserError, match=r"model: no folder famly\. Did you mean 'family'\?"):
        model_targets("./famly", ["all"])


def test_a_revision_that_holds_another_step_is_refused(copy_model):
    folder = copy_model("family")
    shutil.copytree(folder, folder / "step8")
    write_manifest_of(folder / "step8", 16)
    with pytest.raises(UserError, match=r"step8: the revision 'step8' holds the checkpoint of step 16"):
        model_targets(str(folder), ["step8"])
