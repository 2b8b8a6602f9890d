#!/bin/sh
# extract_example.sh HEADER: a program whose main is the example the header opens with.
set -eu
name=$(basename "$1")
echo "#include \"stowage/$name\""
for header in "$(dirname "$1")"/*.h; do
  echo "#include \"stowage/$(basename "$header")\""
done
echo '#include <sstream>'
echo 'int main() {'
sed -n '/^#pragma once/q; s|^///     ||p' "$1"
echo '}'
