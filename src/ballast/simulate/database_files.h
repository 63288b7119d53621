#pragma once
// Private to simulate/: SQLite's view of a simulated disk (an sqlite3_vfs), so that the journal
// loses and tears like everything else.

#include <string>

namespace ballast::simulate {

class Disk;

class DatabaseFiles {
 public:
  explicit DatabaseFiles(Disk& disk);
  ~DatabaseFiles();
  DatabaseFiles(const DatabaseFiles&) = delete;
  DatabaseFiles& operator=(const DatabaseFiles&) = delete;

  // By which sqlite3_open_v2() finds it.
  const char* name() const noexcept { return name_.c_str(); }

 private:
  struct Registered;
  std::string name_;
  Registered* registered_;
};

}  // namespace ballast::simulate
