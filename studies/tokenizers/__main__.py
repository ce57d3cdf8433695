"""``python -m analysis.tokenizer_study``: the page of a study of tokenizers, made of its run folders."""

from ucurve.cli import run

if __name__ == "__main__":
    run("tokenizer_study")
