"""No code of a model, a tokenizer or a data set is ever run, and nobody is asked whether it may be."""

import ast
import builtins
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from tests.settings import corpus_settings, tokenizer_settings
from ucurve.errors import UserError
from ucurve.huggingface.foreign_code import weight_files
from ucurve.huggingface.pretrained import load_model, load_rows, load_tokenizer
from ucurve.training.tokenizer.build import build_tokenizer

ROOT = Path(__file__).resolve().parents[1]
HOME = "ucurve/huggingface/pretrained.py"
SOURCES = (
    "ucurve",
    "train",
    "eval",
    "generation",
    "validation",
    "analysis",
    "launch",
    "workbench",
    "tokenizers/build.py",
)

CODE = "runs code that lies beside what it loads"
PICKLE = "unpickles, which runs what the pickle says"
STRING = "runs a text"
FORBIDDEN = {
    "from_pretrained": CODE,
    "from_config": CODE,
    "pipeline": CODE,
    "load_dataset": CODE,
    "load_dataset_builder": CODE,
    "get_dataset_config_names": CODE,
    "get_class_from_dynamic_module": CODE,
    "get_kernel": CODE,
    "snapshot_download": "fetches what another call may run",
    "hf_hub_download": "fetches what another call may run",
    "torch.load": PICKLE,
    "torch.hub.load": CODE,
    "torch.jit.load": CODE,
    "torch.package.PackageImporter": CODE,
    "pickle.load": PICKLE,
    "pickle.loads": PICKLE,
    "pickle.Unpickler": PICKLE,
    "dill.load": PICKLE,
    "joblib.load": PICKLE,
    "read_pickle": PICKLE,
    "yaml.load": "makes any object that the file names",
    "yaml.unsafe_load": "makes any object that the file names",
    "hydra.utils.instantiate": "calls whatever the configuration names",
    "eval": STRING,
    "exec": STRING,
    "runpy.run_path": CODE,
    "importlib.util.spec_from_file_location": CODE,
    "os.system": STRING,
}
OURS = {"torch.library.get_kernel"}  # a kernel of torch itself, with a name as of one from the hub
PRESENT = {
    "from_pretrained",
    "from_config",
    "load_dataset",
    "get_dataset_config_names",
    "hf_hub_download",
    "snapshot_download",
}


def name_of(call):
    """Return the dotted name of what is called, as far as it is written down."""
    parts, node = [], call.func
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join(reversed([*parts, node.id if isinstance(node, ast.Name) else ""]))


def is_forbidden(name):
    """A method of any object counts when its name is enough; a builtin only when it stands alone."""
    alone = {"eval", "exec", "pipeline"}
    return name not in OURS and any(
        name == one or (one not in alone and name.endswith(f".{one}")) for one in FORBIDDEN
    )


def calls(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node, name_of(node)


def faults(text):
    """Name the calls of a source text that may run or unpickle what others wrote, with their lines."""
    tree = ast.parse(text)
    for node, name in calls(tree):
        pickled = any(word.arg == "allow_pickle" and getattr(word.value, "value", True) for word in node.keywords)
        trusted = any(word.arg == "trust_remote_code" for word in node.keywords)
        shell = any(word.arg == "shell" for word in node.keywords)
        if is_forbidden(name) or pickled or trusted or shell:
            yield f"{name}:{node.lineno}"
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (
                f"{node.module}.{one.name}:{node.lineno}"
                for one in node.names
                if f"{node.module}.{one.name}" in FORBIDDEN
            )


def source_files():
    files = [ROOT / "tokenizers" / "build.py", *ROOT.glob("*.py")]
    for folder in SOURCES:
        files += (ROOT / folder).rglob("*.py")
    return {file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8") for file in files}


def test_nothing_is_loaded_outside_of_its_home():
    sources = source_files()
    assert len(sources) > 150
    found = {file: sorted(faults(text)) for file, text in sources.items() if file != HOME}
    assert {file: calls for file, calls in found.items() if calls} == {}


def test_the_home_never_trusts():
    tree = ast.parse(source_files()[HOME])
    found = {name.rpartition(".")[2] for _, name in calls(tree) if is_forbidden(name)}
    assert found == PRESENT
    for node, name in calls(tree):
        given = {word.arg: getattr(word.value, "value", None) for word in node.keywords}
        if name.endswith(("from_pretrained", "from_config", "load_dataset")):
            assert given.get("trust_remote_code") is False, name


@pytest.mark.parametrize(
    "text",
    [
        "AutoModel.from_pretrained(x)",
        "transformers.AutoModel.from_config(x)",
        "import torch\ntorch.load(x, weights_only=True)",
        "from pickle import loads",
        "datasets.load_dataset(x)",
        "pandas.read_pickle(x)",
        "eval('1')",
        "np.load(x, allow_pickle=True)",
        "anything(x, trust_remote_code=True)",
        "subprocess.run(x, shell=True)",
    ],
)
def test_such_calls_are_found(text):
    assert list(faults(text))


@pytest.mark.parametrize(
    "text", ["model.eval()", "np.load(x, allow_pickle=False)", "yaml.safe_load(x)", "json.loads(x)"]
)
def test_harmless_calls_pass(text):
    assert not list(faults(text))


@pytest.fixture
def folder(tmp_path):
    """A small GPT-2 with its tokenizer, and a file of code that leaves a mark when it is run."""
    folder = tmp_path / "published"
    vocabulary = {text: number for number, text in enumerate(["<eos>", "<unk>", *"abcdefghij ."])}
    tokenizer = Tokenizer(models.BPE(vocabulary, [], unk_token="<unk>"))
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<eos>", unk_token="<unk>")
    sizes = {"n_positions": 64, "n_embd": 8, "n_layer": 1, "n_head": 2}
    GPT2LMHeadModel(GPT2Config(vocab_size=14, bos_token_id=0, eos_token_id=0, **sizes)).save_pretrained(folder)
    fast.save_pretrained(folder)
    (folder / "evil.py").write_text(
        f"open({str(mark_of(folder))!r}, 'w').close()\nfrom transformers import *\n"
        "class C(GPT2Config): model_type = 'evil'\n"
        "class M(GPT2LMHeadModel): config_class = C\n"
        "class T(PreTrainedTokenizerFast): pass\n"
        "def generate(*given, **named): pass\n"
    )
    return folder


def mark_of(folder):
    return folder.parent / "mark"


@pytest.fixture(autouse=True)
def no_question(monkeypatch, tmp_path):
    """Whoever is asked says yes, in a test of its own process; the question alone fails the test."""
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))
    asked = []
    monkeypatch.setattr(builtins, "input", lambda *given: asked.append(given) or "y")
    yield
    assert asked == []
    assert not (tmp_path / "mark").exists()


def change(folder, file, **values):
    path = folder / file
    before = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({key: value for key, value in (before | values).items() if value is not None}))


MODEL_CODE = {"AutoConfig": "evil.C", "AutoModel": "evil.M", "AutoModelForCausalLM": "evil.M"}
TOKENIZER_CODE = {"AutoTokenizer": ["evil.T", None]}


def hostile_model(folder):
    change(folder, "config.json", model_type="evil", auto_map=MODEL_CODE)


def hostile_tokenizer(folder):
    (folder / "config.json").unlink()
    change(folder, "tokenizer_config.json", tokenizer_class="T", auto_map=TOKENIZER_CODE)


def test_a_model_that_is_code_is_refused(folder):
    hostile_model(folder)
    with pytest.raises(
        UserError,
        match=r"published/config\.json: auto_map asks for code .* \(evil\.C, evil\.M\); such code "
        r"is never run here, and transformers has no causal model of model_type 'evil'\. A model of an architecture",
    ):
        load_model(folder, "AutoModelForCausalLM")
    assert load_tokenizer(folder)("ab")["input_ids"] == [2, 3]  # of which transformers has all


def test_an_architecture_that_is_code_is_refused_though_its_type_is_known(folder):
    change(folder, "config.json", architectures=["M"], auto_map=MODEL_CODE)
    with pytest.raises(UserError, match=r"transformers has no architecture M"):
        load_model(folder, "AutoModelForCausalLM")


@pytest.mark.parametrize(
    "auto_map", [TOKENIZER_CODE, ["evil.T", None], {"AutoTokenizer": [None, "other/place--evil.T"]}]
)
def test_a_tokenizer_that_is_code_is_refused(folder, auto_map):
    hostile_tokenizer(folder)
    change(folder, "tokenizer_config.json", auto_map=auto_map)
    with pytest.raises(
        UserError,
        match=r"published/tokenizer_config\.json: auto_map asks for code that comes with the "
        r"tokenizer \(.*evil\.T\); such code is never run here, and transformers has no tokenizer 'T'\. A tokenizer that",
    ):
        load_tokenizer(folder)
    change(folder, "tokenizer_config.json", tokenizer_class=None)
    with pytest.raises(UserError, match="transformers has no tokenizer for it"):
        load_tokenizer(folder)


@pytest.mark.parametrize("file", ["tokenizer_config.json", "config.json"])
@pytest.mark.parametrize(
    "name", ["AutoModelForCausalLM", "AutoProcessor", "AutoFeatureExtractor", "AutoTokenizer", "pipeline"]
)
def test_a_tokenizer_class_that_is_none_is_refused(folder, file, name):
    """Such a class would load other files of the folder, and does not know that no code is wanted."""
    hostile_model(folder)
    for other in ("processor_config.json", "preprocessor_config.json"):
        change(
            folder,
            other,
            auto_map={"AutoProcessor": "evil.T", "AutoFeatureExtractor": "evil.T"},
            processor_class="T",
        )
    change(folder, "tokenizer_config.json", tokenizer_class=None)
    change(folder, file, tokenizer_class=name)
    with pytest.raises(
        UserError, match=rf"published/{file}: tokenizer_class is '{name}', which is not a tokenizer"
    ):
        load_tokenizer(folder)


def test_code_for_what_transformers_has_is_left_alone(folder, tmp_path):
    """Many models of the hub keep the code of the time before transformers had them."""
    change(folder, "config.json", auto_map=MODEL_CODE)
    change(folder, "tokenizer_config.json", auto_map=TOKENIZER_CODE)
    for other in ("processor_config.json", "preprocessor_config.json", "generation_config.json"):
        change(folder, other, auto_map={"AutoProcessor": "evil.T"}, custom_generate="evil")
    (folder / "custom_generate").mkdir()
    (folder / "evil.py").rename(folder / "custom_generate" / "generate.py")
    model, _ = load_model(folder, "AutoModelForCausalLM")
    assert type(model) is GPT2LMHeadModel
    tokenizer = load_tokenizer(folder)
    tokenizer.save_pretrained(tmp_path / "again")
    assert "evil" not in (tmp_path / "again" / "tokenizer_config.json").read_text()


def test_a_part_of_a_model_that_is_code_is_refused(folder):
    """transformers asks again for each part of a composite model; here it must not."""
    part = {"model_type": "trocr", "auto_map": {"AutoModel": "evil.M"}, "_name_or_path": str(folder)}
    change(folder, "config.json", model_type="fuyu", architectures=["FuyuForCausalLM"], text_config=part)
    message = r"published: the model does not load \(a part of it is code that comes with it, and such"
    with pytest.raises(UserError, match=message):
        load_model(folder, "AutoModelForCausalLM")


@pytest.mark.parametrize("key", ["attn_implementation", "_attn_implementation", "experts_implementation"])
@pytest.mark.parametrize("nested", [False, True])
def test_a_compiled_kernel_of_the_hub_is_refused(folder, key, nested):
    value = {key: "owner/kernel:attention"}
    change(folder, "config.json", **({"text_config": value} if nested else value))
    message = rf"config\.json: {key} is 'owner/kernel:attention', a compiled kernel of the hub"
    with pytest.raises(UserError, match=message):
        load_model(folder, "AutoModelForCausalLM")


def test_a_quantisation_that_nobody_knows_imports_nothing(folder):
    change(
        folder, "config.json", quantization_config={"quant_method": "evil", "modules": "evil", "code": "evil.C"}
    )
    load_model(folder, "AutoModelForCausalLM")


@pytest.mark.parametrize("name", ["evil.bin", "../elsewhere/model.safetensors", "/model.safetensors"])
def test_an_index_may_only_name_safetensors_of_the_folder(folder, name):
    torch.save({}, folder / "evil.bin")
    (folder / "model.safetensors").rename(folder / "part.safetensors")
    index = {"metadata": {}, "weight_map": {"transformer.wte.weight": name, "lm_head.weight": "part.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    message = rf"index\.json: weight_map names '{name}', which is not a safetensors file of this f"
    with pytest.raises(UserError, match=message):
        load_model(folder, "AutoModelForCausalLM")


@pytest.mark.parametrize("name", ["pytorch_model.bin", "sub/model.safetensors"])
def test_weights_named_by_the_configuration(folder, name):
    change(folder, "config.json", transformers_weights=name)
    message = rf"config\.json: transformers_weights is '{name}', which is not a safetensors file"
    with pytest.raises(UserError, match=message):
        load_model(folder, "AutoModelForCausalLM")


def test_an_adapter_is_no_model(folder):
    change(folder, "adapter_config.json", base_model_name_or_path="owner/name", peft_type="LORA")
    message = (
        r"adapter_config\.json: the folder holds an adapter \(PEFT, such as LoRA\) for the model 'owner/name'"
    )
    with pytest.raises(UserError, match=message):
        load_model(folder, "AutoModelForCausalLM")


@pytest.mark.parametrize(
    "template",
    ["{{ ''.__class__.__mro__[1].__subclasses__() }}", "{{ messages.append(1) }}", "{% include 'config.json' %}"],
)
def test_a_chat_template_has_neither_python_nor_files(folder, template):
    (folder / "chat_template.jinja").write_text(template)
    tokenizer = load_tokenizer(folder)
    with pytest.raises(Exception, match=r"unsafe|no loader"):
        tokenizer.apply_chat_template([{"role": "user", "content": "a"}], tokenize=False)


def test_a_data_set_with_a_script_is_refused(tmp_path):
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "rows.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'w').close()\n")
    with pytest.raises(RuntimeError, match="scripts are no longer supported"):
        load_rows(str(tmp_path / "rows"), None, "train")


def test_a_tokenizer_of_the_hub_is_fetched_without_its_code_and_refused(folder, monkeypatch, tmp_path):
    hostile_tokenizer(folder)
    wanted = []
    monkeypatch.setattr(
        "ucurve.training.tokenizer.folder.fetch",
        lambda name, patterns, revision: wanted.extend(patterns) or folder,
    )
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("ab cd.\n")
    settings = tokenizer_settings(kind="hub", name="mine", path="owner/name")
    with pytest.raises(UserError, match="auto_map asks for code"):
        build_tokenizer(settings, corpus_settings(kind="text", path="text.txt"), tmp_path / "out")
    assert not any(pattern.endswith((".py", ".bin", "*")) for pattern in wanted)


def run(script, *arguments, cwd):
    variables = os.environ | {"HF_HUB_OFFLINE": "1", "HF_MODULES_CACHE": str(cwd / "modules")}
    command = [sys.executable, str(ROOT / script), *arguments]
    return subprocess.run(
        command, cwd=cwd, env=variables, input="y\n" * 9, capture_output=True, text=True, check=False
    )


@pytest.mark.long
@pytest.mark.parametrize("script", ["score.py", "train.py", "tokenizers/build.py"])
def test_a_yes_on_the_terminal_changes_nothing(folder, tmp_path, script):
    (tmp_path / "text.txt").write_text("ab cd.\n" * 400)
    (tmp_path / "pairs.jsonl").write_text('{"sentence_good": "ab c.", "sentence_bad": "cab."}\n')
    (hostile_model if script == "score.py" else hostile_tokenizer)(folder)
    arguments = {
        "score.py": [f"model={folder}", "benchmarks=[custom]", "custom.path=pairs.jsonl", "out=scores"],
        "train.py": [
            "model=tiny",
            "tokens=1024",
            "batch.sequences=4",
            "schedule.count=2",
            "data=text",
            "data.path=text.txt",
            "tokenizer=hub",
        ],
        "tokenizers/build.py": ["data=text", "data.path=text.txt", "tokenizer=hub"],
    }[script]
    more = [] if script == "score.py" else [f"tokenizer.path={folder}"]
    done = run(script, *arguments, *more, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert "[y/N]" not in done.stdout + done.stderr
    assert "config.json: auto_map asks for code that comes with the" in done.stderr
    assert not mark_of(folder).exists()
    assert not (tmp_path / "scores").exists()
    assert not (tmp_path / "runs").exists()


def test_of_weights_that_are_there_twice_those_that_are_loaded_are_chosen(tmp_path):
    shards = {"model-1.safetensors", "model-2.safetensors"}
    index = {"weight_map": dict(zip(["a", "b"], sorted(shards), strict=True))}
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    other = {"consolidated.safetensors"}
    assert weight_files(tmp_path, {"model.safetensors", *shards, *other}, "safetensors") == {"model.safetensors"}
    assert weight_files(tmp_path, {*shards, *other}, "safetensors") == shards
    assert weight_files(tmp_path, other, "safetensors") == other
