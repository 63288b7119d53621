#pragma once
// A registry: every name of a family, with what is known of it and how it is made. It reads texts
// such as "ctma(gm, 0.4)"; what it refuses it points at, and it suggests the nearest name.
//
// To give a new family, say methods, this language, with one line per method in the registry:
//
//   // methods/method_item.h
//   using MethodItem = expression::Item<MethodPointer>;
//   const expression::Registry<MethodPointer>& method_registry();
//
//   // methods/basgd.cc: everything about this method
//   constexpr Parameter kParameters[] = {
//       Parameter::whole("buffers", "how many buffers the updates go to").from(1),
//       Parameter::nested("rule", "rule", "what combines the buffers").otherwise("cwmed")};
//   extern constinit const MethodItem basgd_method = {
//       {.name = "basgd", .help = "buffers, then a rule", .paper = "Yang and Li 2021",
//        .parameters = kParameters},
//       [](const Arguments& arguments) -> Result<MethodPointer> {
//         BALLAST_TRY(auto rule, robust::rule_registry().make_argument(arguments, "rule"));
//         return make_basgd(arguments.whole("buffers"), std::move(rule));
//       }};
//
//   // methods/registry.cc
//   #define BALLAST_METHODS(METHOD) METHOD(table) METHOD(basgd)      <- the one place
//   #define BALLAST_DECLARE(NAME) extern const MethodItem NAME##_method;
//   #define BALLAST_ADDRESS(NAME) &NAME##_method,
//   BALLAST_METHODS(BALLAST_DECLARE)
//   constexpr const MethodItem* kItems[] = {BALLAST_METHODS(BALLAST_ADDRESS)};
//   const Registry<MethodPointer>& method_registry() {
//     static const Registry<MethodPointer> registry(
//         {.noun = "method", .plural = "methods", .example = "table or basgd(10, cwmed)"}, kItems);
//     return registry;
//   }
//
// method_registry().parse("basgd(buffers=10, cwmed)") is then a method or a good error, and
// catalogue() is what `ballast list methods` and the documents print.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/expression/catalogue.h"

namespace ballast::expression {

// One name and how it is made from checked arguments.
template <typename Product>
struct Item {
  Entry entry;
  Result<Product> (*make)(const Arguments& arguments);
};

template <typename Product>
class Registry {
 public:
  // The items outlive the registry.
  Registry(const Family& family, std::span<const Item<Product>* const> items)
      : items_(items.begin(), items.end()), catalogue_{.family = family, .entries = {}} {
    for (const Item<Product>* item : items_) catalogue_.entries.push_back(&item->entry);
  }

  const Catalogue& catalogue() const noexcept { return catalogue_; }

  // What the text names.
  Result<Product> parse(std::string_view text) const {
    BALLAST_TRY(std::vector<Product> products, parse_joined(text, 1));
    return std::move(products.front());
  }

  // What a text of one or several calls names, in their order: "f-cap(1, 0.2) & f-cap(8, 0.45)".
  Result<std::vector<Product>> parse_all(std::string_view text) const {
    return parse_joined(text, kCallsMax);
  }

  // What the nested expression in an argument names.
  Result<Product> make_argument(const Arguments& arguments, std::string_view name) const {
    const Arguments::Nested nested = arguments.nested(name);
    BALLAST_TRY(std::vector<Product> products, make(nested.expression, nested.text, 1));
    return std::move(products.front());
  }

  Result<std::vector<Product>> make_all_of_argument(const Arguments& arguments,
                                                    std::string_view name) const {
    const Arguments::Nested nested = arguments.nested(name);
    return make(nested.expression, nested.text, kCallsMax);
  }

  Result<std::string> canonical(std::string_view text) const {
    return canonical_text(catalogue_, text);
  }

 private:
  Result<std::vector<Product>> parse_joined(std::string_view text, std::size_t calls_max) const {
    BALLAST_TRY(const Expression expression, parse_text(catalogue_, text));
    return make(expression, text, calls_max);
  }

  Result<std::vector<Product>> make(const Expression& expression, std::string_view text,
                                    std::size_t calls_max) const {
    BALLAST_TRY_STATUS(check_joined(catalogue_, expression, text, calls_max));
    std::vector<Product> products;
    for (const Call& call : expression.calls) {
      BALLAST_TRY(Product product, make(call, text));
      products.push_back(std::move(product));
    }
    return products;
  }

  Result<Product> make(const Call& call, std::string_view text) const {
    BALLAST_TRY(const std::size_t index, find_entry(catalogue_, call, text));
    BALLAST_TRY(const Arguments arguments, check_call(catalogue_, index, call, text));
    return items_[index]->make(arguments);
  }

  std::vector<const Item<Product>*> items_;
  Catalogue catalogue_;
};

}  // namespace ballast::expression
