#!/usr/bin/env bash
# Draws the pictures of docs/ again, with the program that build/release has.
set -euo pipefail
cd "$(dirname "$0")/.."
draw() {  # PICTURE INPUT OPTION...
  build/release/stowage plan "examples/$2" -o "docs/$1.svg" "${@:3}" >/dev/null
}
draw aliasing branches.json --alias all
draw free-list buffers.csv --strategy free-list
draw two-stack buffers.csv --strategy two-stack
draw rectangle-first buffers.csv --strategy rectangle:sort=size,rounds=0
draw rectangle buffers.csv --strategy rectangle:sort=size
models=../shared/data/models/onnx
build/release/stowage sweep "$models/light_resnet50.onnx" --memory SRAM=64KiB..4MiB --moves -o docs/sweep.svg >/dev/null
draw streaming windows.json --stream --io rows --align 16
