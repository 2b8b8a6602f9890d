#!/usr/bin/env bash
# scripts/test_consumer.sh BUILD: installs a build to a folder of its own, and builds and runs programs
# against the installed package: with its CMake package, and with pkg-config.
set -euo pipefail
cd "$(dirname "$0")/.."
prefix=$PWD/$1/installed
rm -rf "$prefix" "$1/consumer"
cmake --install "$1" --prefix "$prefix" >/dev/null
cmake -S tests/consumer -B "$1/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$1/consumer"
"$1/consumer/consumer"
"$1/consumer/packer"
# The packer alone is linked with its own library and those of the compiler.
ninja -C "$1/consumer" -t commands packer | tail -n 1 | grep -o '[^ ]*\(\.a\|\.so\)\b\|-l[^ ]*' | grep -v '/libstowage_pack\.a$' && {
  echo "test_consumer.sh: the packer links the libraries above" >&2
  exit 1
}
[ ! -x "$1/consumer/runner" ] || "$1/consumer/runner"

folder=$(dirname "$(find "$prefix" -name stowage.pc)")
# The libraries are used from where they are now; the files name where they would be.
flags=$(PKG_CONFIG_PATH=$folder pkg-config --define-variable=prefix="$prefix" --cflags --libs stowage)
# shellcheck disable=SC2086
g++ -std=c++20 tests/consumer/main.cc $flags -o "$1/consumer/with_pkg_config"
"$1/consumer/with_pkg_config"
flags=$(PKG_CONFIG_PATH=$folder pkg-config --define-variable=prefix="$prefix" --cflags --libs stowage-pack)
# shellcheck disable=SC2086
g++ -std=c++20 tests/consumer/packer.cc $flags -o "$1/consumer/packer_with_pkg_config"
"$1/consumer/packer_with_pkg_config"
# shellcheck disable=SC2086
cc -std=c99 -pedantic -Wall -Wextra -Wconversion -Wshadow -Werror -c examples/pack.c ${flags%% -l*} -o "$1/consumer/pack.o"
# shellcheck disable=SC2086
g++ "$1/consumer/pack.o" $flags -o "$1/consumer/packer_in_c"
"$1/consumer/packer_in_c" | grep -x 'cost 0, at least 0; peak 64'
