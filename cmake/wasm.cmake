# For the page that plans: C++ to WebAssembly with the compiler, the C library and the sources of the C++ library that the
# Python package ziglang has. scripts/web.sh sets ZIG, and makes `zig-ar` and `zig-ranlib` beside it.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ZIG ZIG_TOOLS)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_CXX_COMPILER "${ZIG_TOOLS}/zig-c++")
set(CMAKE_CXX_COMPILER_TARGET wasm32-wasi)
set(CMAKE_AR "${ZIG_TOOLS}/zig-ar")
set(CMAKE_RANLIB "${ZIG_TOOLS}/zig-ranlib")
# Exceptions of WebAssembly, which all browsers have. The C++ library has its threads, and nobody starts one
# (src/web/one_thread.cc).
set(CMAKE_CXX_FLAGS_INIT "-mcpu=lime1+exception_handling+bulk_memory -fwasm-exceptions -g0 \
-fexperimental-library -Wno-macro-redefined -D_LIBCPP_HAS_THREADS=1 -D_LIBCPP_HAS_THREAD_API_PTHREAD=1 \
-D_LIBCPP_HAS_FILESYSTEM=1 -ffunction-sections -fdata-sections")
