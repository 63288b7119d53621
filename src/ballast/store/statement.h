#pragma once
// Private to store/: one SQL statement, with its numbers bound in order. SQLite keeps signed
// 64-bit numbers; unsigned ones are stored by their bits.

#include <sqlite3.h>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>

#include "ballast/base/error.h"

namespace ballast::store {

class Statement {
 public:
  static Result<Statement> prepare(sqlite3* database, const char* sql);

  // Runs it with these arguments until it has a row or is done; true if there is a row.
  Result<bool> start(std::initializer_list<std::uint64_t> arguments = {});
  Result<bool> next();

  // Of the present row.
  std::uint64_t number(int column) const noexcept;
  std::string text(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
  };
  Statement(sqlite3* database, sqlite3_stmt* statement)
      : database_(database), statement_(statement) {}

  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// Prepares and runs a statement whose rows do not matter.
Status execute(sqlite3* database, const char* sql,
               std::initializer_list<std::uint64_t> arguments = {});

tl::unexpected<Error> journal_error(sqlite3* database);

}  // namespace ballast::store
