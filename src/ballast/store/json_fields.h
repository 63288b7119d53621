#pragma once
// Private to store/: reads members of a JSON object that may be anything. The first member that is
// missing or wrong is remembered; what is read afterwards is zero or empty, so that a reader of
// many members asks once, at the end.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "ballast/base/error.h"

namespace ballast::store {

bool is_printable(std::string_view text);
bool is_printable_lines(std::string_view text);  // or line feeds

class JsonFields {
 public:
  using Json = nlohmann::json;

  // Borrows both. `problem` collects the first problem of this object and those inside it.
  JsonFields(const Json& object, std::string& problem) : object_(object), problem_(problem) {}

  // A whole number up to `max`.
  std::uint64_t whole(const char* key, std::uint64_t max = UINT64_MAX) const;

  // A whole number that may be negative.
  std::int64_t signed_whole(const char* key) const;

  double finite(const char* key) const;

  // Printable ASCII, at most `size_max` characters.
  std::string text(const char* key, std::size_t size_max) const;

  // The same with line feeds.
  std::string lines(const char* key, std::size_t size_max) const;

  // An object; an empty one if there is none.
  JsonFields object(const char* key) const;

  // An array of at most `size_max` elements.
  const Json& array(const char* key, std::size_t size_max) const;

  bool has(const char* key) const { return object_.is_object() && object_.contains(key); }
  bool is_fine() const noexcept { return problem_.empty(); }
  std::string& problem() const noexcept { return problem_; }
  void refuse(std::string_view key, std::string_view why) const;

 private:
  // The member if it is there and passes, else null.
  template <typename Test>
  const Json* find(const char* key, std::string_view kind, Test&& passes) const;

  const Json& object_;
  std::string& problem_;
};

}  // namespace ballast::store
