"""Build one tokenizer alone: ``python tokenizers/build.py tokenizer=word data=text data.path=FOLDER``."""

import sys
from pathlib import Path

# At the end, so that the name of this folder never stands in for the library ``tokenizers``.
sys.path.append(str(Path(__file__).resolve().parent.parent))

from ucurve.cli import run

if __name__ == "__main__":
    run("build")
