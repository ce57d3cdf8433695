"""One process that trains the runs of a list one after another, as train.py does; several by a launcher."""

import json
import sys
from pathlib import Path

from ucurve.config import Composed, compose
from ucurve.training.cli import train_command

if __name__ == "__main__":
    for words in json.loads(Path(sys.argv[1]).read_text()):
        train_command([Composed(compose("train", words), tuple(words))])
