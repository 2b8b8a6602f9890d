#!/usr/bin/env python3
"""Prints what is inside the files of a release, as CycloneDX 1.5 in JSON: scripts/sbom.py VERSION COMMIT.

The versions are those of the Debian packages that are installed, which scripts/release.sh builds with, and of the Python
package that scripts/web.sh makes the page with.
"""
import json
import pathlib
import re
import subprocess
import sys
import uuid

# Package, name, licence, how it gets in.
PARTS = [
    ("libfmt-dev", "fmt", "MIT", "compiled in"),
    ("nlohmann-json3-dev", "nlohmann-json", "MIT", "headers"),
    ("libcli11-dev", "CLI11", "BSD-3-Clause", "headers"),
    ("libprotozero-dev", "protozero", "BSD-2-Clause", "headers"),
    ("libflatbuffers-dev", "flatbuffers", "Apache-2.0", "headers"),
    ("libxxhash-dev", "xxHash", "BSD-2-Clause", "headers"),
    ("libgemmlowp-dev", "gemmlowp", "Apache-2.0", "headers"),
    ("libisl-dev", "isl", "MIT", "static library"),
    ("libgmp-dev", "GMP", "LGPL-3.0-or-later OR GPL-2.0-or-later", "static library"),
    ("libstdc++-12-dev", "libstdc++", "GPL-3.0-or-later WITH GCC-exception-3.1", "static library"),
    ("libc6-dev", "glibc", "LGPL-2.1-or-later", "static library of the program, not of wheels"),
]

# Of the Python package ziglang: name, licence.
PAGE_PARTS = [("libc++, libc++abi and libunwind", "Apache-2.0 WITH LLVM-exception"), ("wasi-libc with musl", "MIT")]


def version_of(package):
    return subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], capture_output=True, text=True, check=True).stdout


def component(package, name, licence, how):
    version = version_of(package)
    reference = f"pkg:deb/debian/{package.replace('+', '%2B')}@{version}"
    return {"type": "library", "bom-ref": reference, "name": name, "version": version, "purl": reference,
            "licenses": [{"expression": licence}], "properties": [{"name": "stowage:how", "value": how}]}


def component_of_page(name, licence):
    script = pathlib.Path(__file__).with_name("web.sh").read_text()
    version = re.search(r"^zig_version=(.*)$", script, re.M)[1]
    return {"type": "library", "bom-ref": f"pkg:pypi/ziglang@{version}#{name.split()[0].strip(',')}", "name": name,
            "version": version, "purl": f"pkg:pypi/ziglang@{version}", "licenses": [{"expression": licence}],
            "properties": [{"name": "stowage:how", "value": "compiled into the page that plans"}]}


def main():
    version, commit = sys.argv[1:]
    parts = [component(*it) for it in PARTS] + [component_of_page(*it) for it in PAGE_PARTS]
    own = {"type": "application", "bom-ref": f"stowage@{version}", "name": "stowage", "version": version,
           "licenses": [{"expression": "Apache-2.0"}], "properties": [{"name": "stowage:commit", "value": commit}]}
    document = {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'stowage@{version}+{commit}')}",
        "metadata": {"component": own}, "components": parts,
        "dependencies": [{"ref": own["bom-ref"], "dependsOn": [it["bom-ref"] for it in parts]}]}
    print(json.dumps(document, indent=1))


main()
