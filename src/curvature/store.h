// The curvature store: the integer factors of all Fisher blocks of one client, on disk.
//
//   header   magic, version, deployment digest, B, c, μ, number of blocks, SHA-256 of all that
//   records  one per Fisher block, in order: triangle_size(B) entries (one byte each for c <= 8, else two,
//            little-endian), then SHA-256 of (header digest, block number, entries)
//
// A store being made has the name with ".partial" behind it, and beside it, with ".partial.json", the note of what it
// is made from. Whatever stops the maker, a second run from the same goes on after the last block that is whole.
#pragma once

#include <atomic>
#include <memory>
#include <span>

#include "base/files.h"
#include "base/hash.h"
#include "base/threads.h"
#include "curvature/factor.h"

namespace zkapex {

struct StoreHeader {
  static constexpr size_t kBytes = 8 + 4 + 32 + 4 + 4 + 8 + 8 + 32;

  Sha256::Digest deployment{};
  uint32_t block = 0;   // B
  uint32_t bits = 0;    // c
  uint64_t floor = 0;   // μ
  uint64_t blocks = 0;  // Fisher blocks of a complete store

  bool operator==(const StoreHeader&) const = default;

  [[nodiscard]] size_t entry_bytes() const { return bits <= 8 ? 1 : 2; }
  [[nodiscard]] size_t factor_bytes() const { return triangle_size(block) * entry_bytes(); }
  [[nodiscard]] size_t record_bytes() const { return factor_bytes() + 32; }

  Status check() const;
  [[nodiscard]] Bytes serialize() const;
  static Result<StoreHeader> parse(ByteView bytes);  // exactly kBytes
};

class StoreFile;  // an open file, shared by reader and writer

class StoreWriter {
 public:
  // Starts a new store, or goes on with the partial one of the same header and `run`: a text with all that decides the
  // factors (inputs by digest, settings). Refuses when a store of that name exists already, or a partial one of another
  // run; `overwrite` replaces the former, and starts anew whatever there is of the latter.
  static Result<StoreWriter> open(const Path& path, const StoreHeader& header, std::string_view run,
                                  bool overwrite = false);

  StoreWriter(StoreWriter&&) noexcept;
  StoreWriter& operator=(StoreWriter&&) noexcept;
  ~StoreWriter();

  [[nodiscard]] const StoreHeader& header() const { return header_; }
  [[nodiscard]] uint64_t blocks() const { return blocks_; }  // written so far, whole
  // The next factors, triangle_size(B) entries each, in the order of Fisher blocks.
  Status append(std::span<const int16_t> factors);
  // Only with all blocks written: flushes, and gives the store its name.
  Status finish();

 private:
  StoreWriter(Path path, std::unique_ptr<StoreFile> file, const StoreHeader& header, bool overwrite);
  Status begin(std::string_view run);
  Status go_on(std::string_view run);
  [[nodiscard]] Path note() const;

  Path path_;
  std::unique_ptr<StoreFile> file_;
  StoreHeader header_;
  Sha256::Digest header_digest_{};
  uint64_t blocks_ = 0;
  bool overwrite_ = false;
};

// Any thread may read.
class StoreReader {
 public:
  static Result<StoreReader> open(const Path& path);

  StoreReader(StoreReader&&) noexcept;
  StoreReader& operator=(StoreReader&&) noexcept;
  ~StoreReader();

  [[nodiscard]] const StoreHeader& header() const { return header_; }

  // Factors first .. first + count - 1 into the caller's buffer of count · triangle_size(B) entries. Each is checked
  // against its digest when it is read for the first time: whoever reads again relies on the file not changing while it
  // is open. int8_t only for stores with c <= 8.
  Status read(uint64_t first, uint64_t count, std::span<int8_t> out) const;
  Status read(uint64_t first, uint64_t count, std::span<int16_t> out) const;
  // Entries of one factor, from `first_entry` on.
  Status read_part(uint64_t block, size_t first_entry, std::span<int8_t> out) const;
  Status read_part(uint64_t block, size_t first_entry, std::span<int16_t> out) const;
  // Of all factors, each of which is checked.
  Result<Sha512::Digest> digest(ThreadPool& pool) const;

 private:
  StoreReader(std::unique_ptr<StoreFile> file, const StoreHeader& header);
  template <class Entry>
  Status read_entries(uint64_t first, uint64_t count, std::span<Entry> out) const;
  template <class Entry>
  Status read_part_entries(uint64_t block, size_t first_entry, std::span<Entry> out) const;

  Status check_record(uint64_t number, ByteView record) const;

  std::unique_ptr<StoreFile> file_;
  StoreHeader header_;
  Sha256::Digest header_digest_{};
  std::unique_ptr<std::atomic<bool>[]> checked_;  // by block
};

}  // namespace zkapex
