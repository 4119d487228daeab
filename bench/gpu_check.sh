#!/usr/bin/env bash
# Speed, equivalence and memory of the lanes on this machine's GPU, in under five minutes and without a network.
# Needs torch, transformers and peft; Octavo need not be installed. PYTHON names another interpreter;
# arguments go to gpu_check.py (--tiny tries it on a CPU).
set -euo pipefail
cd "$(dirname "$0")/.."
export PYTHONPATH="src${PYTHONPATH:+:$PYTHONPATH}" HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 TOKENIZERS_PARALLELISM=false
exec "${PYTHON:-python3}" bench/gpu_check.py "$@"
