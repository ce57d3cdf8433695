"""``python -m eval.generation``: minimal pairs from templates, a vocabulary and phrases."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from eval.generation.build import REPORT_NAME, build_benchmark
from ucurve.errors import INTERRUPTED, UcurveError
from ucurve.progress import say


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, 2 after a user's mistake, or 130 after Ctrl-C."""
    options = _parser().parse_args(arguments)
    try:
        outcomes = build_benchmark(
            options.templates, options.vocabulary, options.phrases, options.out, options.pairs, options.seed
        )
    except UcurveError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted: the same command begins anew\n")
        return INTERRUPTED
    for outcome in outcomes:
        if outcome.note:
            say(f"{outcome.file}: {outcome.note}")
    made = sum(outcome.pairs for outcome in outcomes)
    complete = sum(outcome.pairs == outcome.wanted for outcome in outcomes)
    uids = len({outcome.uid for outcome in outcomes})
    say(f"{made} pairs; {complete} of {uids} paradigms complete; see {options.out / REPORT_NAME}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m eval.generation", description="Make minimal pairs from templates.")
    parser.add_argument("--templates", type=Path, required=True, metavar="DIR", help="folder of *.json templates")
    parser.add_argument("--vocabulary", type=Path, required=True, metavar="FILE", help="words with properties, TSV")
    parser.add_argument("--phrases", type=Path, required=True, metavar="FILE", help="named phrases, JSON")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to make")
    parser.add_argument("--pairs", type=int, default=300, help="pairs a paradigm (default 300)")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same pairs (default 0)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
