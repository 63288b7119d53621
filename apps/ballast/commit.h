#pragma once
// Which program this is. commit.cc is written by cmake/WriteCommit.cmake at every build.

#include <string>

namespace ballast::apps {

// The commit it was built from, "+" behind it where files differed from the commit; "unknown"
// without a repository.
extern const char* const kCommit;

// "ballast 0.5.0, commit 0123456789ab".
inline std::string program_text() {
  return std::string("ballast " BALLAST_VERSION ", commit ") + kCommit;
}

}  // namespace ballast::apps
