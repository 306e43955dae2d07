#include "curvature/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/file_kind.h"
#include "base/first_error.h"

namespace zkapex {

namespace {

constexpr std::string_view kMagic = "ZKAPEXCV";
constexpr uint32_t kVersion = 1;
constexpr size_t kDigestBytes = 32;

Sha256::Digest record_digest(const Sha256::Digest& header, uint64_t number, ByteView entries) {
  ByteWriter prefix;
  prefix.raw(header);
  prefix.u64(number);
  Sha256 hash;
  hash.update(prefix.bytes());
  hash.update(entries);
  return hash.finish();
}

Sha256::Digest digest_of(const StoreHeader& header) {
  Sha256::Digest out;
  const Bytes bytes = header.serialize();
  std::copy_n(bytes.end() - static_cast<ptrdiff_t>(kDigestBytes), kDigestBytes, out.begin());
  return out;
}

// Whether the record at the start of `bytes` is whole.
bool record_is_whole(const StoreHeader& header, const Sha256::Digest& header_digest, uint64_t number, ByteView bytes) {
  const ByteView entries = bytes.first(header.factor_bytes());
  return std::ranges::equal(record_digest(header_digest, number, entries), bytes.subspan(entries.size(), kDigestBytes));
}

// Entries of one or two bytes, as they are stored.
template <class Entry>
void decode_entries(ByteView bytes, size_t stored, std::span<Entry> out) {
  if (stored == 1) {
    for (size_t e = 0; e < out.size(); ++e) out[e] = static_cast<int8_t>(bytes[e]);
  } else {
    for (size_t e = 0; e < out.size(); ++e) out[e] = static_cast<Entry>(bytes[2 * e] | bytes[2 * e + 1] << 8);
  }
}

// Whether all entries are of less than 2^(bits − 1): by the largest, since a loop that cannot end early is a fast one.
bool entries_fit(ByteView bytes, size_t stored, unsigned bits) {
  int largest = 0;
  if (stored == 1) {
    std::array<int8_t, 32> high{}, low{};
    size_t e = 0;
    for (; e + high.size() <= bytes.size(); e += high.size()) {
      for (size_t k = 0; k < high.size(); ++k) {
        const auto v = static_cast<int8_t>(bytes[e + k]);
        high[k] = std::max(high[k], v);
        low[k] = std::min(low[k], v);
      }
    }
    for (; e < bytes.size(); ++e) largest = std::max(largest, std::abs(int{static_cast<int8_t>(bytes[e])}));
    for (size_t k = 0; k < high.size(); ++k) largest = std::max({largest, int{high[k]}, -int{low[k]}});
  } else {
    for (size_t e = 0; e < bytes.size(); e += 2) {
      largest = std::max(largest, std::abs(int{static_cast<int16_t>(bytes[e] | bytes[e + 1] << 8)}));
    }
  }
  return largest < 1 << (bits - 1);
}

}  // namespace

// A file read and written at given places.
class StoreFile {
 public:
  static Result<std::unique_ptr<StoreFile>> open(const Path& path, int flags) {
    const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
    if (descriptor < 0) return failure("open", path);
    return std::make_unique<StoreFile>(path, descriptor);
  }
  StoreFile(Path path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  StoreFile(const StoreFile&) = delete;
  StoreFile& operator=(const StoreFile&) = delete;
  ~StoreFile() { ::close(descriptor_); }

  [[nodiscard]] const Path& path() const { return path_; }

  // One maker at a time; the lock goes with the file.
  Status lock() const {
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0)
      return error("{} is being written by another process", path_.string());
    return Done{};
  }
  Result<uint64_t> size() const {
    struct stat info {};
    if (::fstat(descriptor_, &info) != 0) return failure("read", path_);
    if (!S_ISREG(info.st_mode)) return error("{} is not a regular file", path_.string());
    return static_cast<uint64_t>(info.st_size);
  }
  Status read(uint64_t offset, std::span<uint8_t> out) const {
    while (!out.empty()) {
      const ssize_t got = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return failure("read", path_);
      if (got == 0) return error("{} ends before byte {}", path_.string(), offset + out.size());
      out = out.subspan(static_cast<size_t>(got));
      offset += static_cast<uint64_t>(got);
    }
    return Done{};
  }
  Status write(uint64_t offset, ByteView bytes) const {
    while (!bytes.empty()) {
      const ssize_t put = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return failure("write", path_);
      bytes = bytes.subspan(static_cast<size_t>(put));
      offset += static_cast<uint64_t>(put);
    }
    return Done{};
  }
  Status truncate(uint64_t size) const {
    if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) return failure("shorten", path_);
    return Done{};
  }
  Status flush() const {
    if (::fsync(descriptor_) != 0) return failure("flush", path_);
    return Done{};
  }

  static Error failure(std::string_view action, const Path& path) {
    return error("cannot {} {}: {}", action, path.string(), std::generic_category().message(errno));
  }

 private:
  Path path_;
  int descriptor_;
};

Status StoreHeader::check() const {
  ZKAPEX_CHECK((FactorSettings{.block = block, .bits = bits, .floor = floor, .damping = {}}.check()));
  if (blocks < 1 || blocks > (uint64_t{1} << 40)) return error("{} blocks are outside 1 to 2^40", blocks);
  return Done{};
}

Bytes StoreHeader::serialize() const {
  ByteWriter out;
  out.raw(view(kMagic));
  out.u32(kVersion);
  out.raw(deployment);
  out.u32(block);
  out.u32(bits);
  out.u64(floor);
  out.u64(blocks);
  const auto digest = sha256(out.bytes());
  out.raw(digest);
  return out.take();
}

Result<StoreHeader> StoreHeader::parse(ByteView bytes) {
  if (bytes.size() < kMagic.size() || !std::ranges::equal(view(kMagic), bytes.first(kMagic.size())))
    return wrong_kind(bytes, "a curvature store");
  if (bytes.size() != kBytes) return error("a curvature store without its whole header: the file is truncated");
  ByteReader in(bytes.subspan(kMagic.size()));
  ZKAPEX_TRY(const uint32_t version, in.u32());
  if (version != kVersion) return error("a curvature store of version {}; version {} is supported", version, kVersion);
  if (!std::ranges::equal(sha256(bytes.first(kBytes - kDigestBytes)), bytes.last(kDigestBytes)))
    return error("the header's digest does not match: the file is damaged");
  StoreHeader out;
  ZKAPEX_TRY(out.deployment, in.array<32>());
  ZKAPEX_TRY(out.block, in.u32());
  ZKAPEX_TRY(out.bits, in.u32());
  ZKAPEX_TRY(out.floor, in.u64());
  ZKAPEX_TRY(out.blocks, in.u64());
  ZKAPEX_CHECK(out.check());
  return out;
}

namespace {

Result<StoreHeader> read_header(const StoreFile& file) {
  ZKAPEX_TRY(const uint64_t size, file.size());
  Bytes bytes(std::min<uint64_t>(StoreHeader::kBytes, size));
  ZKAPEX_CHECK(file.read(0, bytes));
  auto header = StoreHeader::parse(bytes);
  if (!header.ok()) return header.error().within(file.path().string());
  return header;
}

// How many records from the start are whole: a crash may have left any of the last writes undone, so all are read.
Result<uint64_t> whole_records(const StoreFile& file, const StoreHeader& header) {
  ZKAPEX_TRY(const uint64_t size, file.size());
  const uint64_t present = std::min(header.blocks, (size - StoreHeader::kBytes) / header.record_bytes());
  const Sha256::Digest digest = digest_of(header);
  Bytes record(header.record_bytes());
  for (uint64_t k = 0; k < present; ++k) {
    ZKAPEX_CHECK(file.read(StoreHeader::kBytes + k * record.size(), record));
    if (!record_is_whole(header, digest, k, record)) return k;
  }
  return present;
}

}  // namespace

StoreWriter::StoreWriter(Path path, std::unique_ptr<StoreFile> file, const StoreHeader& header, bool overwrite)
    : path_(std::move(path)),
      file_(std::move(file)),
      header_(header),
      header_digest_(digest_of(header)),
      overwrite_(overwrite) {}
StoreWriter::StoreWriter(StoreWriter&&) noexcept = default;
StoreWriter& StoreWriter::operator=(StoreWriter&&) noexcept = default;
StoreWriter::~StoreWriter() = default;

Result<StoreWriter> StoreWriter::open(const Path& path, const StoreHeader& header, std::string_view run,
                                      bool overwrite) {
  ZKAPEX_CHECK(header.check());
  std::error_code ignored;
  if (!overwrite && std::filesystem::exists(path, ignored))
    return error("{} exists already; choose another name, or --force to replace it", path.string());
  Path partial = path;
  partial += ".partial";
  ZKAPEX_TRY(auto file, StoreFile::open(partial, O_RDWR | O_CREAT | O_NOFOLLOW));
  ZKAPEX_CHECK(file->lock());
  ZKAPEX_TRY(const uint64_t size, file->size());
  StoreWriter out(path, std::move(file), header, overwrite);
  // Shorter than its header: new, or stopped at its very beginning.
  ZKAPEX_CHECK(overwrite || size < StoreHeader::kBytes ? out.begin(run) : out.go_on(run));
  return out;
}

Path StoreWriter::note() const {
  Path out = file_->path();
  out += ".json";
  return out;
}

// The note comes before the header: a partial store that has one is never without the other.
Status StoreWriter::begin(std::string_view run) {
  ZKAPEX_CHECK(file_->truncate(0));
  ZKAPEX_CHECK(write_file(note(), view(run), {.overwrite = true, .secret = true}));
  return file_->write(0, header_.serialize());
}

Status StoreWriter::go_on(std::string_view run) {
  const Result<Bytes> begun = read_file(note(), size_t{1} << 20);
  const Result<StoreHeader> found = read_header(*file_);
  if (!begun || !std::ranges::equal(*begun, view(run)) || !found || *found != header_)
    return error("{} is the unfinished output of another run; remove it, or --force to start again",
                 file_->path().string());
  ZKAPEX_TRY(blocks_, whole_records(*file_, header_));
  return file_->truncate(StoreHeader::kBytes + blocks_ * header_.record_bytes());
}

Status StoreWriter::append(std::span<const int16_t> factors) {
  const size_t entries = triangle_size(header_.block), count = factors.size() / entries;
  if (factors.size() % entries != 0 || count > header_.blocks - blocks_)
    return error("{} entries are not whole factors that the store has room for", factors.size());
  const int limit = 1 << (header_.bits - 1);
  Bytes records;
  records.reserve(count * header_.record_bytes());
  for (size_t k = 0; k < count; ++k) {
    const size_t begin = records.size();
    for (const int16_t entry : factors.subspan(k * entries, entries)) {
      if (entry <= -limit || entry >= limit)
        return error("block {}: entry {} does not fit {} bits", blocks_ + k, entry, header_.bits);
      records.push_back(static_cast<uint8_t>(entry));
      if (header_.entry_bytes() == 2) records.push_back(static_cast<uint8_t>(entry >> 8));
    }
    const auto digest = record_digest(header_digest_, blocks_ + k, ByteView(records).subspan(begin));
    records.insert(records.end(), digest.begin(), digest.end());
  }
  ZKAPEX_CHECK(file_->write(StoreHeader::kBytes + blocks_ * header_.record_bytes(), records));
  blocks_ += count;
  return Done{};
}

Status StoreWriter::finish() {
  if (blocks_ != header_.blocks) return error("the store has {} of {} blocks", blocks_, header_.blocks);
  ZKAPEX_CHECK(file_->flush());
  std::error_code ignored;
  if (!overwrite_ && std::filesystem::exists(path_, ignored))
    return error("{} exists already; choose another name, or --force to replace it", path_.string());
  if (::rename(file_->path().c_str(), path_.c_str()) != 0) return StoreFile::failure("name", path_);
  std::filesystem::remove(note(), ignored);
  return Done{};
}

StoreReader::StoreReader(std::unique_ptr<StoreFile> file, const StoreHeader& header)
    : file_(std::move(file)),
      header_(header),
      header_digest_(digest_of(header)),
      checked_(std::make_unique<std::atomic<bool>[]>(header.blocks)) {}
StoreReader::StoreReader(StoreReader&&) noexcept = default;
StoreReader& StoreReader::operator=(StoreReader&&) noexcept = default;
StoreReader::~StoreReader() = default;

Result<StoreReader> StoreReader::open(const Path& path) {
  ZKAPEX_TRY(auto file, StoreFile::open(path, O_RDONLY));
  ZKAPEX_TRY(const StoreHeader header, read_header(*file));
  ZKAPEX_TRY(const uint64_t size, file->size());
  const uint64_t expected = StoreHeader::kBytes + header.blocks * header.record_bytes();
  if (size != expected)
    return error("{} has {} bytes, a store of {} blocks has {}", path.string(), size, header.blocks, expected);
  return StoreReader(std::move(file), header);
}

Status StoreReader::check_record(uint64_t number, ByteView record) const {
  if (checked_[number].load(std::memory_order_relaxed)) return Done{};
  if (!record_is_whole(header_, header_digest_, number, record))
    return error("{}: block {} does not match its digest: the file is damaged", file_->path().string(), number);
  if (!entries_fit(record.first(header_.factor_bytes()), header_.entry_bytes(), header_.bits))
    return error("{}: block {} has an entry of more than {} bits", file_->path().string(), number, header_.bits);
  checked_[number].store(true, std::memory_order_relaxed);
  return Done{};
}

template <class Entry>
Status StoreReader::read_entries(uint64_t first, uint64_t count, std::span<Entry> out) const {
  const size_t entries = triangle_size(header_.block), stored = header_.entry_bytes();
  if (first > header_.blocks || count > header_.blocks - first || out.size() != count * entries)
    return error("blocks {} to {} asked of {}, into {} entries", first, first + count, header_.blocks, out.size());
  if (stored > sizeof(Entry)) return error("entries of {} bits do not fit one byte", header_.bits);
  Bytes record(header_.record_bytes());
  for (uint64_t k = 0; k < count; ++k) {
    const uint64_t offset = StoreHeader::kBytes + (first + k) * record.size();
    const std::span<Entry> to = out.subspan(k * entries, entries);
    if (sizeof(Entry) == 1 && checked_[first + k].load(std::memory_order_relaxed)) {  // as they are stored
      ZKAPEX_CHECK(file_->read(offset, {reinterpret_cast<uint8_t*>(to.data()), to.size()}));
      continue;
    }
    ZKAPEX_CHECK(file_->read(offset, record));
    ZKAPEX_CHECK(check_record(first + k, record));
    decode_entries(record, stored, to);
  }
  return Done{};
}

template <class Entry>
Status StoreReader::read_part_entries(uint64_t block, size_t first_entry, std::span<Entry> out) const {
  const size_t entries = triangle_size(header_.block), stored = header_.entry_bytes();
  if (block >= header_.blocks || first_entry > entries || out.size() > entries - first_entry)
    return error("entries {} to {} of block {} asked", first_entry, first_entry + out.size(), block);
  if (!checked_[block].load(std::memory_order_relaxed)) {
    std::vector<Entry> whole(entries);
    ZKAPEX_CHECK(read_entries(block, 1, std::span<Entry>(whole)));
    std::copy_n(whole.begin() + static_cast<ptrdiff_t>(first_entry), out.size(), out.begin());
    return Done{};
  }
  if (stored > sizeof(Entry)) return error("entries of {} bits do not fit one byte", header_.bits);
  const uint64_t offset = StoreHeader::kBytes + block * header_.record_bytes() + first_entry * stored;
  if constexpr (sizeof(Entry) == 1) {  // as they are stored
    return file_->read(offset, {reinterpret_cast<uint8_t*>(out.data()), out.size()});
  }
  Bytes part(out.size() * stored);
  ZKAPEX_CHECK(file_->read(offset, part));
  decode_entries(part, stored, out);
  return Done{};
}

Result<Sha512::Digest> StoreReader::digest(ThreadPool& pool) const {
  const size_t entries = header_.factor_bytes();
  Bytes digests(header_.blocks * kDigestBytes);
  FirstError failed;
  pool.for_ranges(header_.blocks, 16, [&](size_t begin, size_t end) {
    Bytes record(header_.record_bytes());
    for (size_t k = begin; k < end; ++k) {
      Status status = file_->read(StoreHeader::kBytes + k * record.size(), record);
      if (status.ok()) status = check_record(k, record);
      failed.note(status);
      std::copy_n(record.begin() + static_cast<ptrdiff_t>(entries), kDigestBytes,
                  digests.begin() + static_cast<ptrdiff_t>(k * kDigestBytes));
    }
  });
  ZKAPEX_CHECK(failed.status());
  Sha512 hash;
  hash.update(header_digest_);
  hash.update(digests);
  return hash.finish();
}

Status StoreReader::read(uint64_t first, uint64_t count, std::span<int8_t> out) const {
  return read_entries(first, count, out);
}
Status StoreReader::read(uint64_t first, uint64_t count, std::span<int16_t> out) const {
  return read_entries(first, count, out);
}
Status StoreReader::read_part(uint64_t block, size_t first_entry, std::span<int8_t> out) const {
  return read_part_entries(block, first_entry, out);
}
Status StoreReader::read_part(uint64_t block, size_t first_entry, std::span<int16_t> out) const {
  return read_part_entries(block, first_entry, out);
}

}  // namespace zkapex
