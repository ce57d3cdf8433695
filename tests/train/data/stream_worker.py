"""Tokenizes a data set of the stand-in hub in processes that kill themselves: ``stream_worker.py`` reads requests.

The libraries are loaded once; each request, a JSON object on one line, forks a process. It has ``cache``, ``tokenizer``,
``commit``, ``interventions`` and ``die_at``: the process kills itself when it has saved its progress so many times, or just
before that with a minus. The answer is its exit code.
"""

import json
import os
import signal
import sys
from pathlib import Path

import datasets  # noqa: F401 - loads what the processes need
from transformers import PreTrainedTokenizerFast  # noqa: F401

from tests.settings import corpus_settings
from ucurve.training.corpus import corpus, parallel
from ucurve.training.data import store

DATASET = "me/texts"


def die(at):
    save, count = store.save_progress, 0

    def dying(*given):
        nonlocal count
        count += 1
        if count == -at:
            os.kill(os.getpid(), signal.SIGKILL)
        save(*given)
        if count == at:
            os.kill(os.getpid(), signal.SIGKILL)

    store.save_progress = dying


def work(cache, tokenizer, commit, interventions, die_at):
    log = os.open(f"{cache}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)  # the pipe is for answers
    os.dup2(log, 2)
    corpus._SEGMENT_CHARACTERS, parallel._CHARACTERS_AT_ONCE, store._SHARD_TOKENS = 1_500, 400, 700
    die(die_at)
    given = {"dataset": DATASET, "commit": commit, "holdout": 0.1, "unit": "line", "interventions": interventions}
    settings = corpus_settings("hub", **given)
    store.build_token_store(corpus.Corpus(settings), Path(tokenizer), Path(cache), processes=1)


def main():
    for line in sys.stdin:
        process = os.fork()
        if process == 0:
            code = 1
            try:
                work(**json.loads(line))
                code = 0
            except Exception as error:
                sys.stderr.write(f"{error}\n")
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        sys.stdout.write(f"{code}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
