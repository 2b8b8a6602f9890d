#!/usr/bin/env bash
# scripts/test_consumer.sh BUILD: installs a build to a folder of its own, and builds and runs a
# program against the installed package.
set -euo pipefail
cd "$(dirname "$0")/.."
prefix=$PWD/$1/installed
rm -rf "$prefix" "$1/consumer"
cmake --install "$1" --prefix "$prefix" >/dev/null
cmake -S tests/consumer -B "$1/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$1/consumer"
"$1/consumer/consumer"
