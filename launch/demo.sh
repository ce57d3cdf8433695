#!/usr/bin/env bash
# The whole path on the embedded grammar: corpus, tokenizers, models, checkpoints, scores, figures, report.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=${PYTHON:-python}
export HF_HUB_OFFLINE=1

"$python" train.py experiment=demo
for run in runs/demo/*/; do
    "$python" verify.py run="$run"
done
"$python" analyze.py runs='runs/demo/*' out=figures/demo

cat <<'END'

The report is figures/demo/report.html. To go on, for example with your own text, or with another linking function:
END
if [ -f .venv/bin/activate ] && [ "${VIRTUAL_ENV:-}" != "$PWD/.venv" ]; then
    echo "    source .venv/bin/activate"
fi
cat <<'END'
    python train.py model=14m tokens=10M tokenizer=char data.path=TEXTS
    python score.py run='runs/demo/*' 'benchmarks=[demo]' 'linking=[slln_lp:0.3]'
END
