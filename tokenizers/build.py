"""Build one tokenizer alone: ``python tokenizers/build.py tokenizer=word data=text data.path=FOLDER``."""

import sys
from pathlib import Path

# At the end, so that the name of this folder never stands in for the library ``tokenizers``.
sys.path.append(str(Path(__file__).resolve().parent.parent))

from train.tokenizer_command import build_command
from ucurve.command import run_command

if __name__ == "__main__":
    run_command("build", build_command, "what was finished is kept, the same command goes on")
