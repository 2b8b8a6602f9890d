#!/usr/bin/env bash
# scripts/web.sh [OUTPUT]: on Debian 12, makes build/web/stowage.html (or OUTPUT): the page that plans in a browser
# (docs/web.md), one file. The planner is compiled to WebAssembly with the Python package ziglang, which has clang 20, a C
# library and the sources of a C++ library. Debian's emscripten has the C++ library of LLVM 13, without ranges and
# std::stop_token.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh
install_packages "${build_packages[@]}" "${web_packages[@]}"
most_bytes=3000000
build=build/web
page=${1:-$build/stowage.html}
tools=$PWD/$build/tools
zig_version=0.15.2

mkdir -p "$tools"
[ -x "$tools/venv/bin/python" ] || python3 -m venv "$tools/venv"
"$tools/venv/bin/pip" install -q --disable-pip-version-check "ziglang==$zig_version"
zig=$("$tools/venv/bin/python" -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__))')
for tool in c++ ar ranlib; do
  printf '#!/bin/sh\nexec "%s" %s "$@"\n' "$zig/zig" "$tool" >"$tools/zig-$tool"
  chmod +x "$tools/zig-$tool"
done

cmake --preset release -B "$build" --toolchain cmake/wasm.cmake -DZIG_TOOLS="$tools" -DZIG_LIB="$zig/lib" \
  -DSTOWAGE_TESTS=OFF -DSTOWAGE_RUNNER=OFF -DSTOWAGE_ISL=OFF -DSTOWAGE_FMT_HEADERS=ON -DSTOWAGE_PACK_C=OFF \
  -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >/dev/null
cmake --build "$build" --target stowage_page
python3 - "$build/src/web/stowage.wasm" src/web/page.html "$page" <<'END'
import base64, gzip, pathlib, sys
program, page, output = map(pathlib.Path, sys.argv[1:])
packed = base64.b64encode(gzip.compress(program.read_bytes(), 9, mtime=0)).decode()
before, mark, behind = page.read_text().partition("@stowage-program@")
assert mark, f"{page} has no place for the program"
output.write_text(before + packed + behind)
END
bytes=$(stat -c %s "$page")
echo "$page: $bytes bytes"
[ "$bytes" -le $most_bytes ] || { echo "expected at most $most_bytes" >&2; exit 1; }
