#!/usr/bin/env python3
"""Checks the files of packaging/ against the tree, as far as no package manager is needed.

    scripts/check_packages.py [--conda]    --conda: with py-rattler-build, also the recipe of conda

Each has the version of include/stowage/version.h. Each option STOWAGE_* that one of them sets is an option of the build.
The features of the port for vcpkg are those that its manifest lists. rattler-build reads the recipe of conda, and renders
it for both processors. Prints a line for each problem, and exits with 1 if there is one.
"""

import argparse
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGES = ROOT / "packaging"
RECIPE = PACKAGES / "conda/recipe.yaml"


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def version_problems():
    version = re.search(r' version = "([^"]+)"', text_of("include/stowage/version.h")).group(1)
    found = {
        "packaging/vcpkg/vcpkg.json": json.loads(text_of("packaging/vcpkg/vcpkg.json"))["version"],
        "packaging/conan/conanfile.py": re.search(r' version = "([^"]+)"', text_of("packaging/conan/conanfile.py")).group(1),
        "packaging/conda/recipe.yaml": re.search(r'  version: "([^"]+)"', RECIPE.read_text()).group(1),
        "report-ui/package.json": json.loads(text_of("report-ui/package.json"))["version"],
    }
    for name, other in found.items():
        if other != version:
            yield f"{name}: version {other}, expected {version}"


def option_problems():
    build = text_of("CMakeLists.txt")
    known = set(re.findall(r"(?:option|set)\((STOWAGE_[A-Z_]+)", build))
    known |= {f"STOWAGE_{part}" for part in re.findall(r"stowage_part\(([A-Z]+)", build)}
    for file in PACKAGES.rglob("*"):
        if file.is_file() and file.suffix != ".md":
            for option in sorted(set(re.findall("STOWAGE_[A-Z_]+", file.read_text())) - known):
                yield f"{file.relative_to(ROOT)}: {option} is no option of the build"


def port_problems():
    manifest = json.loads(text_of("packaging/vcpkg/vcpkg.json"))
    block = re.search(r"FEATURES\n(.*?)\)", text_of("packaging/vcpkg/portfile.cmake"), re.DOTALL).group(1)
    used = dict(line.split() for line in block.splitlines())
    if set(used) != set(manifest["features"]):
        yield f"packaging/vcpkg: features {sorted(used)} in the port, {sorted(manifest['features'])} in the manifest"
    hosts = {it["name"] for it in manifest["dependencies"] if isinstance(it, dict) and it.get("host")}
    if not {"vcpkg-cmake", "vcpkg-cmake-config"} <= hosts:
        yield "packaging/vcpkg/vcpkg.json: the functions of the port need vcpkg-cmake and vcpkg-cmake-config of the host"


def recipe_problems():
    from rattler_build import RattlerBuildError, RenderConfig, Stage0Recipe, VariantConfig
    from rattler_build.tool_config import PlatformConfig

    variants = VariantConfig({"cxx_compiler": ["gxx"], "c_stdlib": ["sysroot"], "c_stdlib_version": ["2.28"]})
    try:
        recipe = Stage0Recipe.from_file(RECIPE)
        for platform in ("linux-64", "linux-aarch64"):
            packages = recipe.render(variants, RenderConfig(platform=PlatformConfig(target_platform=platform)))
            if len(packages) != 1:
                yield f"{RECIPE.name}: {len(packages)} packages for {platform}, expected 1"
    except RattlerBuildError as error:
        yield f"{RECIPE.name}: {error}"


def main():
    parser = argparse.ArgumentParser(description="Checks the files of packaging/.")
    parser.add_argument("--conda", action="store_true", help="read the recipe with py-rattler-build")
    options = parser.parse_args()
    problems = [*version_problems(), *option_problems(), *port_problems()]
    if options.conda:
        problems += recipe_problems()
    print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
