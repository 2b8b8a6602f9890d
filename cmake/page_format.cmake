# The <limits.h> of musl has a macro with the name of an operator: the generated HEADER does without the macro.
file(READ "${HEADER}" text)
string(REPLACE "\nnamespace stowage {\n" "\n#include <climits>\n#undef ARG_MAX\n\nnamespace stowage {\n" text "${text}")
file(WRITE "${HEADER}" "${text}")
