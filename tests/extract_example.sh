#!/bin/sh
# extract_example.sh HEADER NAME: a function NAME that is the example the header opens with.
# extract_example.sh README.md NAME: the main program in its C++ block, with this name.
set -eu
case "$1" in
  *.md)
    sed -n '/^```cpp$/,/^```$/{/^```/!p;}' "$1" | sed "s/^int main() {/int $2();\n&/; s/int main()/int $2()/"
    exit ;;
esac
name=$(basename "$1")
echo "#include \"stowage/$name\""
for header in "$(dirname "$1")"/*.h; do
  echo "#include \"stowage/$(basename "$header")\""
done
echo '#include <sstream>'
echo "int $2();"
echo "int $2() {"
sed -n '/^#pragma once/q; s|^///     ||p' "$1"
echo '}'
