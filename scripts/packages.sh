# Debian packages the project needs, and how they are installed. To be sourced.

build_packages=(
  ca-certificates cmake flatbuffers-compiler g++ libcli11-dev libdnnl-dev libflatbuffers-dev libfmt-dev
  libgemmlowp-dev libgmp-dev libisl-dev libprotozero-dev libxxhash-dev ninja-build nlohmann-json3-dev)
test_packages=(
  clang-16 clang-format-16 fish gcc-arm-none-eabi git libclang-rt-16-dev libgtest-dev libonnx-dev
  libonnx-testdata libprotobuf-dev make mandoc pkg-config
  picolibc-arm-none-eabi python3 python3-dev python3-venv qemu-system-arm zsh)
report_packages=(chromium)
aarch64_packages=(g++-aarch64-linux-gnu qemu-user-static)
web_packages=(python3-venv)
lint_packages=(clang-tidy-16)
oracle_packages=(python3-venv)
bench_packages=(libbenchmark-dev time)

# Installs those of the given packages that are missing.
install_packages() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  echo "installing ${missing[*]}"
  local as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  "${as_root[@]}" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# Unpacks packages of Debian SUITE for arm64 into a folder. dpkg of this machine learns nothing of them.
unpack_aarch64_packages() {  # FOLDER SUITE PACKAGE...
  local root suite=$2 options package
  root=$(realpath -m "$1")
  shift 2
  [ ! -e "$root/complete" ] || return 0
  mkdir -p "$root"/apt/{lists,archives}/partial
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main" \
    >"$root/apt/sources.list"
  options=(-qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root
    -o Dir::State::status=/dev/null -o Dir::State::Lists="$root/apt/lists" -o Dir::Cache="$root/apt"
    -o Dir::Etc::SourceParts=/dev/null -o Dir::Etc::SourceList="$root/apt/sources.list")
  apt-get "${options[@]}" update
  (cd "$root/apt/archives" && apt-get "${options[@]}" download "$@")
  for package in "$root"/apt/archives/*.deb; do dpkg-deb -x "$package" "$root"; done
  [ -e "$root/lib" ] || ln -s usr/lib "$root/lib"
  touch "$root/complete"
}
