"""Token ids are those of ``tokenizer.json``, whatever class the folder names."""

import json
from itertools import chain

import pytest
import transformers
from tokenizers import Tokenizer
from transformers import AutoTokenizer

from tests.tokenizer_folders import CLASSES, END, PIPELINES, TEXTS, UNKNOWN, pipeline_text, write_folder
from ucurve.errors import UserError
from ucurve.eval.scoring.text.tokenize import tokenize
from ucurve.huggingface.pretrained import load_tokenizer
from ucurve.training.tokenizer.folder import load_foreign

BARE = {"add_special_tokens": False}
GRID = [(name, pipeline) for name in CLASSES for pipeline in PIPELINES]


def ids_of(tokenizer):
    return tokenizer(TEXTS, **BARE)["input_ids"]


def ids_of_file(folder):
    encoded = Tokenizer.from_file(str(folder / "tokenizer.json")).encode_batch(TEXTS, **BARE)
    return [one.ids for one in encoded], [one.offsets for one in encoded]


def assert_of_file(folder):
    ids, offsets = ids_of_file(folder)
    tokenizer, flat = load_tokenizer(folder), list(chain.from_iterable(ids))
    assert ids_of(tokenizer) == ids
    assert tokenizer(TEXTS, **BARE, return_offsets_mapping=True)["offset_mapping"] == offsets
    assert tokenize(TEXTS, tokenizer, placed=False)[0].tolist() == flat
    assert tokenize(TEXTS, tokenizer, placed=True)[0].tolist() == flat


@pytest.mark.parametrize(("name", "pipeline"), list(zip(CLASSES, [*PIPELINES] * 2, strict=False)))
def test_ids_are_those_of_the_file(tmp_path, name, pipeline):
    assert_of_file(write_folder(tmp_path / "folder", name, pipeline, CLASSES[name]))


@pytest.mark.long
@pytest.mark.parametrize(("name", "pipeline"), GRID)
def test_ids_are_those_of_the_file_for_every_class_and_pipeline(tmp_path, name, pipeline):
    assert_of_file(write_folder(tmp_path / "folder", name, pipeline, CLASSES[name]))


@pytest.mark.parametrize(
    ("pipeline", "settings"),
    [
        ("bytes", {"add_prefix_space": True}),
        ("bytes-prefix", {"add_prefix_space": False}),
        ("wordpiece-cased", {"do_lower_case": True, "strip_accents": True, "tokenize_chinese_chars": True}),
        ("spaces-nfkc", {"legacy": False, "add_bos_token": True}),
        ("bytes", {"fast_tokenizer_files": ["tokenizer.4.0.0.json", "tokenizer.json"]}),
        (
            "unigram",
            {"added_tokens_decoder": {"1": {"content": END, "lstrip": True, "rstrip": True, "special": True}}},
        ),
    ],
)
def test_settings_beside_the_file_do_not_change_its_ids(tmp_path, pipeline, settings):
    folder = write_folder(tmp_path / "folder", "LlamaTokenizerFast", pipeline, "mistral", **settings)
    (folder / "tokenizer.4.0.0.json").write_text(pipeline_text("words"), encoding="utf-8")
    assert_of_file(folder)


@pytest.mark.long
def test_a_switch_that_changes_the_splitting_is_without_effect(tmp_path):
    """transformers has it for vocabularies of more than 100,000 tokens."""
    settings = {"fix_mistral_regex": True, "tokenizer_class": "PreTrainedTokenizerFast"}
    folder = write_folder(tmp_path / "folder", "PreTrainedTokenizerFast", "bytes-cl100k", "mistral", **settings)
    content = json.loads(pipeline_text("bytes-cl100k"))
    content["model"]["vocab"] |= {f"unused{number}": 1000 + number for number in range(100_001)}
    (folder / "tokenizer.json").write_text(json.dumps(content))
    assert ids_of(AutoTokenizer.from_pretrained(folder)) != ids_of_file(folder)[0]
    assert_of_file(folder)


@pytest.mark.parametrize(
    "pipeline", ["bytes-lowercase", "bytes-cl100k", "llama-2", "unigram", "wordpiece-uncased"]
)
def test_what_training_saves_has_the_same_ids_for_everybody(tmp_path, pipeline):
    """A folder of a tokenizer alone has no config.json by which transformers would choose another class."""
    folder = write_folder(tmp_path / "folder", "GPT2TokenizerFast", pipeline)
    load_foreign(str(folder)).save_pretrained(tmp_path / "saved")
    (tmp_path / "saved" / "config.json").write_text(json.dumps({"model_type": "gpt_neox"}))
    theirs = AutoTokenizer.from_pretrained(tmp_path / "saved")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.encode_special_tokens = True  # in training, text is never read as a special token
    assert ids_of(theirs) == [one.ids for one in tokenizer.encode_batch(TEXTS, **BARE)]
    assert ids_of(load_tokenizer(tmp_path / "saved")) == ids_of(theirs)


def test_an_old_folder_has_the_special_tokens_of_its_class(tmp_path):
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = {token: number for number, token in enumerate([*special, "a", "b", "##b"])}
    transformers.BertTokenizer(vocab=vocabulary).save_pretrained(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text('{"model_max_length": 512}')
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    tokenizer = load_tokenizer(tmp_path)
    roles = ("pad", "unk", "cls", "sep", "mask")
    assert [getattr(tokenizer, f"{role}_token") for role in roles] == special
    assert tokenizer("ab a")["input_ids"] == [2, 5, 7, 5, 3]
    assert tokenizer.model_max_length == 512


def test_special_tokens_that_a_class_would_add_are_not_added(tmp_path):
    folder = write_folder(tmp_path / "folder", "BertTokenizer", "wordpiece-cased", "bert", eos_token=None)
    tokenizer = load_tokenizer(folder)
    assert (tokenizer.bos_token, tokenizer.eos_token, tokenizer.cls_token) == (END, None, None)
    assert len(tokenizer) == Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab_size()


def test_special_tokens_that_the_file_lacks_follow_its_own(tmp_path):
    folder = write_folder(
        tmp_path / "folder", "LlamaTokenizer", "bytes", bos_token="<bos>", chat_template="{{ 1 }}"
    )
    size = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab_size()
    tokenizer = load_tokenizer(folder)
    assert (tokenizer.bos_token_id, len(tokenizer)) == (size, size + 1)
    assert tokenizer("<bos>", **BARE)["input_ids"] == [size]
    assert tokenizer.get_chat_template() == "{{ 1 }}"
    assert ids_of(tokenizer) == ids_of_file(folder)[0]


def test_tokens_of_text_that_the_file_lacks_are_refused(tmp_path):
    folder = write_folder(tmp_path / "folder", "GPT2Tokenizer", "bytes")
    (folder / "added_tokens.json").write_text('{"dogs": 420}')
    message = r"folder: tokenizer\.json lacks tokens that tokenizer_config\.json or added_to"
    with pytest.raises(UserError, match=message):
        load_tokenizer(folder)


def test_a_file_that_holds_a_stand_in_is_left_to_its_class(tmp_path):
    """RoFormer's words come from a program; its file has BERT's in their place."""
    folder = write_folder(tmp_path / "folder", "RoFormerTokenizer", "wordpiece-cased", "roformer")
    with pytest.raises(UserError, match=r"folder: the tokenizer does not load .*rjieba"):
        load_tokenizer(folder)
    assert_of_file(write_folder(tmp_path / "other", "RoFormerTokenizer", "words", "roformer"))


def test_a_broken_file_is_named(tmp_path):
    folder = write_folder(tmp_path / "folder", "GPT2Tokenizer", "bytes", unk_token=UNKNOWN)
    (folder / "tokenizer.json").write_text('{"version": "1.0"}')
    with pytest.raises(UserError, match="folder: the tokenizer does not load"):
        load_tokenizer(folder)
