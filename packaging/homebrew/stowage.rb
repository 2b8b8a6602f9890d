# brew install --HEAD ./stowage.rb
class Stowage < Formula
  desc "Static memory planner for neural networks"
  license "Apache-2.0"
  # The clone that this file lies in: there is no release to download yet.
  head "file://#{File.expand_path("../..", __dir__)}", using: :git

  depends_on "cli11" => :build
  depends_on "cmake" => :build
  depends_on "flatbuffers" => :build
  depends_on "ninja" => :build
  depends_on "nlohmann-json" => :build
  depends_on "protozero" => :build
  depends_on "xxhash" => :build
  depends_on "fmt"
  depends_on "isl"

  def install
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", "-DSTOWAGE_TESTS=OFF", "-DSTOWAGE_RUNNER=OFF",
           *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
    pkgshare.install "examples"
  end

  test do
    assert_match "proven optimal", shell_output("#{bin}/stowage plan #{pkgshare}/examples/classifier.onnx")
  end
end
