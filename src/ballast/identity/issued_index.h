#pragma once
// Private to identity/: the authority's memory of what it has issued, as a JSON file.
//
//   {"format": 1, "certificates": [{"name": "worker-1", "kind": "worker", "serial": "3f...",
//                                   "not_before": 1767225600, "not_after": 1798761600}, ...]}
//
// In the order of issue; times are seconds since 1970.

#include <string>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/identity/issued_certificate.h"

namespace ballast::identity {

// Errors say which certificate, counted from 0.
Result<std::vector<IssuedCertificate>> parse_issued_index(std::string_view text);
std::string format_issued_index(const std::vector<IssuedCertificate>& issued);

}  // namespace ballast::identity
