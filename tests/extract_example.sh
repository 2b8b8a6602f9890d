#!/bin/sh
# extract_example.sh HEADER: a program whose main is the example the header opens with.
# extract_example.sh README.md: the program in its C++ block, as it stands there.
set -eu
case "$1" in
  *.md)
    sed -n '/^```cpp$/,/^```$/{/^```/!p;}' "$1"
    exit ;;
esac
name=$(basename "$1")
echo "#include \"stowage/$name\""
for header in "$(dirname "$1")"/*.h; do
  echo "#include \"stowage/$(basename "$header")\""
done
echo '#include <sstream>'
echo 'int main() {'
sed -n '/^#pragma once/q; s|^///     ||p' "$1"
echo '}'
