#include "ballast/store/statement.h"

#include <fmt/core.h>

#include <bit>

namespace ballast::store {

tl::unexpected<Error> journal_error(sqlite3* database) {
  return io_error(fmt::format("the journal failed: {}", sqlite3_errmsg(database)));
}

Result<Statement> Statement::prepare(sqlite3* database, const char* sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database, sql, -1, &statement, nullptr) != SQLITE_OK) {
    return journal_error(database);
  }
  return Statement(database, statement);
}

Result<bool> Statement::start(std::initializer_list<std::uint64_t> arguments) {
  sqlite3_reset(statement_.get());
  int index = 0;
  for (const std::uint64_t argument : arguments) {
    const auto stored = std::bit_cast<sqlite3_int64>(argument);
    if (sqlite3_bind_int64(statement_.get(), ++index, stored) != SQLITE_OK) {
      return journal_error(database_);
    }
  }
  return next();
}

Result<bool> Statement::next() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return journal_error(database_);
}

std::uint64_t Statement::number(int column) const noexcept {
  return std::bit_cast<std::uint64_t>(sqlite3_column_int64(statement_.get(), column));
}

std::string Statement::text(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_.get(), column);
  return text == nullptr ? std::string() : reinterpret_cast<const char*>(text);
}

Status execute(sqlite3* database, const char* sql, std::initializer_list<std::uint64_t> arguments) {
  BALLAST_TRY(Statement statement, Statement::prepare(database, sql));
  BALLAST_TRY(bool has_row, statement.start(arguments));
  while (has_row) {
    BALLAST_TRY(has_row, statement.next());
  }
  return {};
}

}  // namespace ballast::store
