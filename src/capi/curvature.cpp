// A curvature store from numbers that are in the caller's memory, piece by piece.
#include <algorithm>
#include <limits>

#include "base/outputs.h"
#include "base/random.h"
#include "capi/call.h"
#include "parties/output_check.h"
#include "parties/report_values.h"
#include "unlearning/apply.h"

namespace zkapex::capi {

namespace {

// Numbers of either type, which need not be aligned.
class Numbers {
 public:
  // `count` of them fill the buffer exactly.
  static Result<Numbers> take_from(const zkapex_buffer& buffer, zkapex_type type, unsigned __int128 count) {
    ZKAPEX_TRY(const ByteView bytes, bytes_of(buffer, "the data"));
    if (type != ZKAPEX_F32 && type != ZKAPEX_F64) return error("{} is no type of numbers", static_cast<int>(type));
    const size_t width = type == ZKAPEX_F32 ? sizeof(float) : sizeof(double);
    if (count * width != bytes.size())
      return error("the data has {} bytes, and not those of as many numbers as were announced", bytes.size());
    return Numbers(bytes, type);
  }

  void read(uint64_t first, std::span<double> out) const {
    for (size_t k = 0; k < out.size(); ++k) out[k] = type_ == ZKAPEX_F32 ? at<float>(first + k) : at<double>(first + k);
  }

 private:
  Numbers(ByteView bytes, zkapex_type type) : bytes_(bytes), type_(type) {}
  template <class T>
  [[nodiscard]] double at(uint64_t index) const {
    T value;
    std::memcpy(&value, bytes_.data() + index * sizeof(T), sizeof(T));
    return static_cast<double>(value);
  }

  ByteView bytes_;
  zkapex_type type_;
};

Result<Damping> damping_of(const zkapex_curvature_options& options) {
  if (options.damping != 0 && options.relative_damping != 0)
    return error("a damping is relative, or it is not: give one of the two");
  Damping out;
  put(options.relative_damping, out.value);
  if (options.damping != 0) out = {Damping::Kind::kAbsolute, options.damping};
  ZKAPEX_CHECK(out.check());
  return out;
}

// Without a run to compare, what another writer left is of no use.
Result<StoreWriter> open_writer(const Path& output, const StoreHeader& header, const char* run, bool force) {
  if (run != nullptr) return StoreWriter::open(output, header, run, force);
  ZKAPEX_TRY(const auto never_again, random_array<16>());
  return StoreWriter::open(output, header, to_hex(never_again), true);
}

Result<Use> use_open(const zkapex_curvature* curvature) {
  ZKAPEX_TRY(Use used, use(curvature, Kind::kCurvature));
  if (curvature->finished) return error("the store is finished already");
  return used;
}

Result<Answer> append(zkapex_session& session, zkapex_curvature& curvature, uint64_t count,
                      const FisherSource& source) {
  ZKAPEX_CHECK(append_blocks(curvature.writer, curvature.settings, source, count, session.pool, curvature.statistics,
                             [](uint64_t) {}));
  WorkProgress progress(session.settings, "factoring", "blocks", curvature.writer.header().blocks);
  ZKAPEX_CHECK(progress.advance(curvature.writer.blocks()));
  return Answer{{{"written", curvature.writer.blocks()}, {"blocks", curvature.writer.header().blocks}}};
}

// How many of the next blocks have exactly `width` weights, all of one tensor.
Result<uint64_t> blocks_of_width(const Layout& layout, uint64_t first, uint64_t width) {
  uint64_t covered = 0, count = 0;
  while (covered < width && first + count < layout.blocks() &&
         layout.block(first + count).tensor == layout.block(first).tensor) {
    covered += layout.block(first + count++).count;
  }
  if (width == 0 || covered != width)
    return error("{} weights are not the next whole blocks of a tensor, from Fisher block {} on", width, first);
  return count;
}

Result<Answer> take_blocks(zkapex_session& session, zkapex_curvature& curvature, zkapex_type type,
                           const zkapex_buffer& data, uint64_t count) {
  const Layout& layout = curvature.deployment.layout();
  const uint64_t first = curvature.writer.blocks(), width = layout.geometry().block;
  if (count == 0 || count > layout.blocks() - first)
    return error("{} blocks were given, and {} are missing", count, layout.blocks() - first);
  ZKAPEX_TRY(const Numbers numbers,
             Numbers::take_from(data, type, static_cast<unsigned __int128>(count) * width * width));
  return append(session, curvature, count,
                [&](uint64_t index, FactorMaker& maker, std::span<int16_t> factor) -> Result<FactorStatistics> {
                  const uint64_t size = layout.block(index).count;
                  std::vector<double> fisher(size * size);
                  for (uint64_t i = 0; i < size; ++i)
                    numbers.read(((index - first) * width + i) * width, std::span(fisher).subspan(i * size, size));
                  return maker.from_matrix(fisher, size, factor);
                });
}

Result<Answer> take_gradients(zkapex_session& session, zkapex_curvature& curvature, zkapex_type type,
                              const zkapex_buffer& data, uint64_t samples, uint64_t width, uint64_t stride) {
  const Layout& layout = curvature.deployment.layout();
  const uint64_t first = curvature.writer.blocks();
  if (first == layout.blocks()) return error("all {} blocks are there already", first);
  ZKAPEX_TRY(const uint64_t count, blocks_of_width(layout, first, width));
  if (samples == 0) return error("there are no samples");
  if (stride < width) return error("rows of {} numbers do not fit a stride of {}", width, stride);
  ZKAPEX_TRY(const Numbers numbers,
             Numbers::take_from(data, type, static_cast<unsigned __int128>(samples - 1) * stride + width));
  const uint64_t begin = layout.block(first).first;
  return append(session, curvature, count,
                [&](uint64_t index, FactorMaker& maker, std::span<int16_t> factor) -> Result<FactorStatistics> {
                  const Layout::Block block = layout.block(index);
                  std::vector<double> gradients(samples * block.count);
                  for (uint64_t s = 0; s < samples; ++s)
                    numbers.read(s * stride + block.first - begin,
                                 std::span(gradients).subspan(s * block.count, block.count));
                  return maker.from_gradients(gradients, block.count, factor);
                });
}

}  // namespace

}  // namespace zkapex::capi

using namespace zkapex;
using namespace zkapex::capi;

zkapex_status zkapex_curvature_open(zkapex_session* session, const zkapex_curvature_options* given,
                                    zkapex_curvature** out) {
  return call(session, [&]() -> Result<Answer> {
    ZKAPEX_CHECK(check_place(out));
    ZKAPEX_TRY(const zkapex_curvature_options options, take(given));
    ZKAPEX_TRY(const Use used, use(options.deployment, Kind::kDeployment));
    ZKAPEX_TRY(const Path output, required(options.output, "the output"));
    ZKAPEX_TRY(const Damping damping, damping_of(options));
    ZKAPEX_CHECK(check_output(output, options.force != 0));
    const Deployment& deployment = options.deployment->deployment;
    const StoreHeader header = store_header_for(deployment);
    ZKAPEX_TRY(StoreWriter writer, open_writer(output, header, options.run, options.force != 0));
    auto handle = std::make_unique<zkapex_curvature>(deployment, std::move(writer), output);
    handle->settings = {header.block, header.bits, header.floor, damping};
    Answer answer{{{"written", handle->writer.blocks()}, {"blocks", header.blocks}}};
    *out = handle.release();
    return answer;
  });
}

zkapex_status zkapex_curvature_blocks(zkapex_session* session, zkapex_curvature* curvature, zkapex_type type,
                                      zkapex_buffer data, uint64_t count) {
  return call(session, [&]() -> Result<Answer> {
    ZKAPEX_TRY(const Use used, use_open(curvature));
    return take_blocks(*session, *curvature, type, data, count);
  });
}

zkapex_status zkapex_curvature_gradients(zkapex_session* session, zkapex_curvature* curvature, zkapex_type type,
                                         zkapex_buffer data, uint64_t samples, uint64_t width, uint64_t stride) {
  return call(session, [&]() -> Result<Answer> {
    ZKAPEX_TRY(const Use used, use_open(curvature));
    return take_gradients(*session, *curvature, type, data, samples, width, stride);
  });
}

zkapex_status zkapex_curvature_finish(zkapex_session* session, zkapex_curvature* curvature) {
  return call(session, [&]() -> Result<Answer> {
    ZKAPEX_TRY(const Use used, use_open(curvature));
    ZKAPEX_CHECK(curvature->writer.finish());
    curvature->finished = true;
    return Answer{
        store_as_json(curvature->output, curvature->writer.header(), curvature->resumed, curvature->statistics)};
  });
}
