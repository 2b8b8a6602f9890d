"""usage: onnx_versions.py   prints every operator of the standard with the operator sets that define or change it

A line for each: name, then sets; an x behind a set says that the operator ends there. onnx_versions.txt is what package
onnx of requirements.txt gives.
"""

import onnx.defs


def main():
    versions = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain in ("", "ai.onnx.ml", "ai.onnx.preview.training"):
            name = f"{schema.domain}.{schema.name}".lstrip(".")
            versions.setdefault(name, []).append((schema.since_version, schema.deprecated))
    for name in sorted(versions):
        print(name, *(f"{since}{'x' if ends else ''}" for since, ends in sorted(versions[name])))


if __name__ == "__main__":
    main()
