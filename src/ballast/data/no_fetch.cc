#include "ballast/data/fetch.h"

namespace ballast::data {

Result<FetchReport> fetch_dataset(const KnownDataset&, const FetchOptions&) {
  return unsupported(
      "this build cannot fetch data sets: it was made without zlib, libpng, OpenSSL or "
      "nlohmann-json");
}

}  // namespace ballast::data
