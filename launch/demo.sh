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
