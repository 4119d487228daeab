#!/usr/bin/env bash
# Makes .venv with octavo and its tools, every version as in constraints.txt. Called by `make setup`.
#
#   PYTHON            the interpreter to build on (python3)
#   TORCH             a pip requirement for another torch, e.g. torch==2.11.0; remembered for the next time
#   USE_SYSTEM_TORCH  1: use the torch that PYTHON finds, whatever it is built for
#
# Torch comes first and alone, so that nothing else can choose its build. A torch for CUDA or ROCm that is
# already there, outside (PYTHON finds it) or put into .venv by hand, is used and never replaced.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
venv=.venv
chosen=$venv/torch-requirement

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "setup: $python is older than Python 3.11; name a newer one: make setup PYTHON=python3.12" >&2
    exit 1
}
[ -x $venv/bin/python ] || "$python" -m venv $venv || {
    echo "setup: $python cannot make a virtual environment; on Debian: apt-get install python3-venv" >&2
    exit 1
}

# The folder of a torch outside: any with USE_SYSTEM_TORCH=1, else one built for CUDA or ROCm.
outside_torch() {
    "$python" - <<'PY' 2>/dev/null || true
import importlib.util, os, pathlib
spec = importlib.util.find_spec("torch")
if spec is not None and spec.origin:
    import torch
    if os.environ.get("USE_SYSTEM_TORCH") == "1" or torch.version.cuda or torch.version.hip:
        print(pathlib.Path(spec.origin).parent.parent)
PY
}

installed_torch() {
    $venv/bin/python -c 'import importlib.metadata as m; print(m.version("torch"))' 2>/dev/null || true
}

site=$($venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
pth=$site/torch-outside.pth
if [ -n "${TORCH:-}" ]; then
    echo "$TORCH" > $chosen
    rm -f "$pth"
elif [ ! -e $chosen ] && folder=$(outside_torch) && [ -n "$folder" ]; then
    # A .pth instead of --system-site-packages: it also reaches an active virtual environment's torch.
    # What is installed in .venv itself still comes before it on the path.
    echo "$folder" > "$pth"
    echo "setup: using the torch in $folder"
fi

constraints=$(mktemp)
trap 'rm -f "$constraints"' EXIT
grep -v '^torch==' constraints.txt > "$constraints"

requirement=$(cat $chosen 2>/dev/null || grep '^torch==' constraints.txt)
case "${TORCH:-$(installed_torch)}" in
    [0-9]*+cu* | [0-9]*+rocm* | [0-9]*+xpu*) echo "setup: keeping torch $(installed_torch)" ;;
    *) [ -e "$pth" ] || $venv/bin/python -m pip install -c "$constraints" "$requirement" ;;
esac
echo "torch==$(installed_torch)" >> "$constraints"
$venv/bin/python -m pip install -c "$constraints" -e '.[dev]'
