#!/usr/bin/env bash
# What other programs compute with networks, for tests to compare with: makes a Python environment in
# build/oracle/venv and lets it write cases into build/oracle/data. Does only what is not there yet.
# Without a network there is no environment: that is said, and tests that want cases skip.
#   scripts/oracles.sh           cases that are missing or older than what writes them
#   scripts/oracles.sh --force   all cases anew
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh

environment=build/oracle/venv
data=build/oracle/data
shared="$(cd .. && pwd)/shared/data/models"
requirements=tests/oracle/requirements.txt
tflite_models=(
  person_detect vww_96_int8 vww_96_float pretrainedResnet_quant kws_ref_model kws_ref_model_float32 ad01_int8
  micro_speech_quantized hello_world_int8 mobilenet_v2_int8_224 mcunetv2_large mcunet_vww keyword_scrambled_8bit trained_lstm_int8)

force=false
case "${1:-}" in
  "") ;;
  --force) force=true ;;
  *) echo "usage: scripts/oracles.sh [--force]" >&2; exit 2 ;;
esac

models=()  # that are there
for name in "${tflite_models[@]}"; do
  if [ -f "$shared/tflite/$name.tflite" ]; then models+=("$shared/tflite/$name.tflite"); fi
done

# One hash of everything that cases come from.
fingerprint() {  # FILE...
  sha256sum "$@" | sha256sum | cut -d' ' -f1
}

is_current() {  # STAMP FINGERPRINT
  [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]
}

make_environment() {
  install_packages "${oracle_packages[@]}" || return
  rm -rf "$environment"
  mkdir -p "$(dirname "$environment")"
  python3 -m venv "$environment" &&
    "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --retries 1 -r "$requirements" &&
    # Of these packages only CMSIS-NN is used, the sizes of its scratch and its sources: they need no others.
    "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --retries 1 --no-deps \
      executorch==1.5.1 bakenn==1.0.0
}

shopt -s nullglob
wanted_environment="$(fingerprint "$requirements" scripts/oracles.sh)"
wanted_data="$(fingerprint "$requirements" tests/oracle/*.py "${models[@]}" "$shared"/onnx/light_*)"
if ! $force && is_current "$data/stamp" "$wanted_data"; then
  echo "cases in $data are current"
  exit 0
fi

if ! is_current "$environment/stamp" "$wanted_environment"; then
  if ! make_environment; then
    echo "no Python environment could be made in $environment (is there a network?):" \
      "tests against other programs will be skipped"
    exit 0
  fi
  echo "$wanted_environment" >"$environment/stamp"
fi

rm -rf "$data"
mkdir -p "$data"
python="$environment/bin/python -B"
$python tests/oracle/onnxruntime_cases.py "$data" "$shared/onnx"
$python tests/oracle/onnx_nodes.py "$data/onnx_nodes"
if [ -f tests/oracle/tflm.py ]; then
  $python tests/oracle/tflm.py "$data" "${models[@]}"
fi
echo "$wanted_data" >"$data/stamp"
