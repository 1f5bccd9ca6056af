#!/bin/bash
# embed.sh FILE…: prints page_files.cc, which has these files as string literals.
set -eu
echo '#include "understudy/tools/understudy/observer/page_files.h"'
echo
echo '#include "absl/strings/string_view.h"'
echo
echo 'namespace understudy::tool {'
echo 'namespace {'
echo
echo 'constexpr PageFile kFiles[] = {'
for file in "$@"; do
  printf '    {"%s", R"~page~(' "$(basename "$file")"
  cat "$file"
  printf ')~page~"},\n'
done
cat <<'END'
};

}  // namespace

const PageFile* FindPageFile(absl::string_view name) {
  for (const PageFile& file : kFiles) {
    if (file.name == name) return &file;
  }
  return nullptr;
}

}  // namespace understudy::tool
END
