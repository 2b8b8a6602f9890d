#!/usr/bin/env bash
# scripts/test_packaging.sh: checks the files of packaging/ and of CI with the linters that Debian and PyPI have, and
# configures this tree with the options of each package. The package managers themselves are not there; Conan is.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh
install_packages "${build_packages[@]}" rubocop
work=$PWD/build/packaging
tools=$work/tools
export PIP_DISABLE_PIP_VERSION_CHECK=1
if [ ! -x "$tools/bin/conan" ]; then
  python3 -m venv "$tools"
  "$tools/bin/pip" install -q py-rattler-build check-jsonschema conan pyyaml
fi

"$tools/bin/python" scripts/check_packages.py --conda
CONAN_HOME=$work/conan "$tools/bin/conan" inspect packaging/conan >/dev/null
ruby -c packaging/homebrew/stowage.rb >/dev/null
rubocop -c packaging/homebrew/rubocop.yml --format emacs packaging/homebrew/stowage.rb
"$tools/bin/check-jsonschema" -q --builtin-schema vendor.github-workflows .github/workflows/build.yml
"$tools/bin/check-jsonschema" -q --builtin-schema vendor.github-actions .github/actions/memory/action.yml
sed -n '/^## GitLab/,$ s/^    //p' docs/ci.md >"$work/gitlab.yml"
"$tools/bin/check-jsonschema" -q --builtin-schema vendor.gitlab-ci "$work/gitlab.yml"

configure() {  # NAME OPTION...
  cmake -S . -B "$work/$1" -G Ninja "${@:2}" >"$work/$1.txt" 2>&1 || { cat "$work/$1.txt"; exit 1; }
}
# shellcheck disable=SC2046
configure homebrew $(sed -n '/system "cmake", "-S"/,/std_cmake_args/p' packaging/homebrew/stowage.rb | grep -o -- '-DSTOWAGE_[A-Z_]*=[A-Z]*')
# shellcheck disable=SC2046
configure conda $(grep -o -- '-D\(STOWAGE\|CMAKE_UNITY\)_[A-Z_]*=[A-Z]*' packaging/conda/recipe.yaml)

# The functions of vcpkg, as far as the port needs them to configure.
cat >"$work/vcpkg.cmake" <<'END'
function(vcpkg_check_features)
  cmake_parse_arguments(it "" "OUT_FEATURE_OPTIONS" "FEATURES" ${ARGN})
  foreach(word IN LISTS it_FEATURES)
    if(word MATCHES "^STOWAGE_")
      list(APPEND options "-D${word}=${feature}")
    endif()
  endforeach()
  set(${it_OUT_FEATURE_OPTIONS} ${options} PARENT_SCOPE)
endfunction()
function(vcpkg_cmake_configure)
  cmake_parse_arguments(it "" "SOURCE_PATH" "OPTIONS" ${ARGN})
  list(FILTER it_OPTIONS EXCLUDE REGEX "^-DFLATC=")
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${it_SOURCE_PATH} -B ${build} -G Ninja ${it_OPTIONS} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
foreach(it IN ITEMS vcpkg_cmake_install vcpkg_cmake_config_fixup vcpkg_copy_tools vcpkg_fixup_pkgconfig)
  cmake_language(EVAL CODE "function(${it})\nendfunction()")
endforeach()
function(vcpkg_install_copyright)
  cmake_parse_arguments(it "" "" "FILE_LIST" ${ARGN})
  if(NOT EXISTS "${it_FILE_LIST}")
    message(FATAL_ERROR "there is no ${it_FILE_LIST}")
  endif()
endfunction()
set(CURRENT_PACKAGES_DIR ${build}/none)
include(${port})
END
for feature in OFF ON; do
  cmake -D feature=$feature -D build="$work/vcpkg-$feature" -D port="$PWD/packaging/vcpkg/portfile.cmake" \
    -P "$work/vcpkg.cmake" >"$work/vcpkg.txt" 2>&1 || { cat "$work/vcpkg.txt"; exit 1; }
done
echo "the files of packaging/ are right, as far as linters and CMake can tell"
