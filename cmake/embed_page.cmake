# Writes OUTPUT: the page PAGE as text, for src/report/page.h.
file(READ "${PAGE}" text)
file(WRITE "${OUTPUT}" "#include \"report/page.h\"\n\nnamespace stowage::report {\n\nstd::string_view page() {\n  return R\"stowage-page(${text})stowage-page\";\n}\n\n}  // namespace stowage::report\n")
