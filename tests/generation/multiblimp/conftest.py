import pytest

from tests.generation.multiblimp.toy import GOOD, treebank
from tests.settings import multiblimp_settings
from ucurve.generation.multiblimp.make import make
from ucurve.generation.treebank import read_treebank


@pytest.fixture
def read(tmp_path):
    def read(*sentences):
        (tmp_path / "toy-ud-dev.conllu").write_text(treebank(*sentences), encoding="utf-8")
        return list(read_treebank(tmp_path / "toy-ud-dev.conllu"))

    return read


@pytest.fixture
def made(tmp_path, read):
    """What is made of sentences: the pairs by paradigm, and what was dropped."""

    def made(*sentences, unimorph=None, language="epo", **more):
        read(*sentences)
        if unimorph is not None:
            (tmp_path / "forms").write_text(unimorph, encoding="utf-8")
            more["unimorph"] = tmp_path / "forms"
        result = make(multiblimp_settings(treebanks=(str(tmp_path / "*.conllu"),), language=language, **more), 0)
        return result, {paradigm.name: paradigm for paradigm in result.paradigms}

    return made


@pytest.fixture
def command(tmp_path, read, run_command):
    def call(*more, sentences=GOOD):
        read(*sentences)
        given = ["source=multiblimp", f"treebanks=[{tmp_path}/*.conllu]", "language=epo", *more]
        return run_command("generate", *given)

    return call
