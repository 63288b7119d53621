#include "ballast/files/array_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ballast/files/npy.h"
#include "ballast/files/safetensors.h"
#include "ballast/files/test_support.h"

namespace ballast::files {
namespace {

using testing::EndsWith;

class ArrayFile : public FolderTest {
 protected:
  std::string npy(std::string_view name, float value) const {
    const auto path = in_folder(name);
    EXPECT_TRUE(write_npy(path, vector_of(value)).has_value());
    return path.string();
  }

  // Tensor number i of the file holds the number i.
  std::string safetensors(std::string_view name, const std::vector<std::string>& tensors) const {
    std::vector<Array> arrays;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      arrays.push_back(vector_of(static_cast<float>(i)));
    }
    std::vector<TensorView> views;
    for (std::size_t i = 0; i < tensors.size(); ++i) views.push_back({tensors[i], arrays[i]});
    const auto path = in_folder(name);
    EXPECT_TRUE(write_safetensors(path, views).has_value());
    return path.string();
  }

  static Array vector_of(float value) {
    return {.shape = {1}, .values = AlignedVector<float>{value}};
  }

  static std::vector<float> read(const std::string& location) {
    const auto array = read_array(location);
    EXPECT_TRUE(array.has_value()) << array.error().message;
    return array ? values_of<float>(*array) : std::vector<float>();
  }
};

TEST_F(ArrayFile, IsKnownByItsFirstBytesNotItsName) {
  EXPECT_EQ(read(npy("rows.safetensors", 5.0f)), std::vector<float>{5.0f});
  EXPECT_EQ(read(safetensors("rows.npy", {"x"})), std::vector<float>{0.0f});
}

TEST_F(ArrayFile, TakesTheNamedTensor) {
  const std::string path = safetensors("rows", {"a", "b", "layer:0"});
  EXPECT_EQ(read(path + ":b"), std::vector<float>{1.0f});
  EXPECT_EQ(read(path + ":layer:0"), std::vector<float>{2.0f});
}

TEST_F(ArrayFile, MayHaveColonsInItsName) {
  EXPECT_EQ(read(npy("rows:1", 5.0f)), std::vector<float>{5.0f});
  const std::string path = safetensors("more:rows", {"a", "b"});
  EXPECT_EQ(read(path + ":b"), std::vector<float>{1.0f});
}

TEST_F(ArrayFile, ListsTheTensorsWhenTheNameIsMissingOrWrong) {
  const std::string path = safetensors("rows", {"a", "b"});
  EXPECT_EQ(refusal(read_array(path)),
            path + ": has 2 tensors; add ':' and the name of one of them: 'a', 'b'");
  EXPECT_EQ(refusal(read_array(path + ":c")), path + ": has no tensor 'c'; it has 'a', 'b'");
}

TEST_F(ArrayFile, HasNoNamesInsideANpyFile) {
  const std::string path = npy("rows.npy", 5.0f);
  EXPECT_EQ(refusal(read_array(path + ":a")),
            path + ": a .npy file holds one array without a name; leave out ':a'");
}

TEST_F(ArrayFile, ExplainsWhatItCannotRead) {
  EXPECT_THAT(refusal(read_array(make_file("a", "PK\x03\x04....").string())),
              EndsWith("a: is a zip archive, as .npz and .pt files are; save one array as .npy"));
  EXPECT_THAT(refusal(read_array(make_file("b", "1.0, 2.0, 3.0").string())),
              EndsWith("b: is neither a .npy nor a safetensors file"));
  EXPECT_THAT(refusal(read_array(make_file("c", "").string())),
              EndsWith("c: is neither a .npy nor a safetensors file"));
  EXPECT_THAT(refusal(read_array(in_folder("").string())), EndsWith("is not a regular file; save "
                                                                    "the data to one first"));
}

TEST_F(ArrayFile, SaysThatNothingIsThere) {
  const std::string path = in_folder("missing:a:b").string();
  const auto array = read_array(path);
  EXPECT_EQ(refusal(array), path + ": no such file");
  EXPECT_EQ(array.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(refusal(read_array("")), ": no such file");
  EXPECT_EQ(refusal(read_array(":")), ":: no such file");
}

}  // namespace
}  // namespace ballast::files
