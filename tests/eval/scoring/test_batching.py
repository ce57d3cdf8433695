import pytest
import torch

from ucurve import progress
from ucurve.errors import RunError
from ucurve.eval.run import score_run
from ucurve.eval.scoring.batching import ACCELERATOR, PROCESSOR, within_memory
from ucurve.eval.scoring.causal import log_probabilities as causal
from ucurve.eval.settings import score_settings

FIRST = PROCESSOR.batch_tokens


class Holding:
    """Stands for a model on a device whose memory holds so many tokens."""

    def __init__(self, tokens, device="cpu"):
        self.device, self.tokens, self.asked = torch.device(device), tokens, []

    def score(self, size):
        self.asked.append(size)
        if size > self.tokens:
            raise torch.OutOfMemoryError("out of memory")
        return size


def test_the_number_is_halved_until_the_memory_holds_it(capsys):
    model = Holding(1000)
    assert within_memory(None, model, model.score) == 512
    assert model.asked == [FIRST >> halved for halved in range(len(model.asked))]
    assert model.asked[-2:] == [1024, 512]
    assert capsys.readouterr().err.count("the device's memory is full; going on with") == len(model.asked) - 1


def test_an_accelerator_begins_with_more():
    model = Holding(10**6, "cuda")
    assert within_memory(None, model, model.score) == ACCELERATOR.batch_tokens > FIRST


@pytest.mark.parametrize(
    ("given", "holds", "asked"),
    [(64, 63, [64]), (None, 0, [FIRST >> halved for halved in range(FIRST.bit_length())])],
)
def test_where_nothing_helps(given, holds, asked):
    model = Holding(holds)
    with pytest.raises(
        RunError, match=rf"batch_tokens={asked[-1]}: the device's memory does not hold it \(out of mem"
    ):
        within_memory(given, model, model.score)
    assert model.asked == asked


def test_other_errors_pass():
    with pytest.raises(ZeroDivisionError):
        within_memory(None, Holding(1), lambda size: size // 0)


def test_a_sweep_goes_on_with_smaller_batches_and_counts_each_sentence_once(
    run, tmp_path, records, write_benchmark, monkeypatch, capsys
):
    root = write_benchmark(tmp_path / "benchmarks", records[:30])
    settings = score_settings(benchmarks=("zhoblimp",), benchmark_root=root, linking=("lp",))
    real, sizes = causal.token_log_probabilities, []

    def full_at_the_end(model, sentences, start, batch_tokens, *args):
        sizes.append(batch_tokens)
        scores = real(model, sentences, start, batch_tokens, *args)
        if batch_tokens > FIRST // 4:
            raise torch.OutOfMemoryError("out of memory")
        return scores

    monkeypatch.setattr(causal, "token_log_probabilities", full_at_the_end)
    for name in ("_SECONDS_BETWEEN_LINES", "_SHARE_BETWEEN_LINES"):  # so that every count is a line
        monkeypatch.setattr(progress, name, 0.0)
    score_run(run, settings, steps=[0])
    assert sizes == [FIRST, FIRST // 2, FIRST // 4]
    said = capsys.readouterr().err
    sentences = len({record[key] for record in records[:30] for key in ("sentence_good", "sentence_bad")})
    assert f"{sentences}/{sentences} step 0 zhoblimp sentence" in said
    assert f"{2 * sentences}/{sentences}" not in said
    small = score_settings(benchmarks=("zhoblimp",), benchmark_root=root, linking=("lp",), batch_tokens=FIRST)
    with pytest.raises(RunError, match=rf"batch_tokens={FIRST}: the device's memory does not hold it"):
        score_run(run, small, steps=[8])
