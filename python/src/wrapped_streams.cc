// Static libraries of Debian are made for programs: they address the C library's streams directly, which a shared
// object cannot. The linker (--wrap) gives them these pointers instead.
#include <cstdio>

extern "C" {
extern FILE* __real_stderr;
extern FILE* __real_stdout;
extern FILE* __real_stdin;
FILE* __wrap_stderr = nullptr;
FILE* __wrap_stdout = nullptr;
FILE* __wrap_stdin = nullptr;

[[gnu::constructor(101)]] static void find_streams() {
  __wrap_stderr = __real_stderr;
  __wrap_stdout = __real_stdout;
  __wrap_stdin = __real_stdin;
}
}
