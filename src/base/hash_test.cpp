#include "base/hash.h"

#include <gtest/gtest.h>
#include <sodium/crypto_hash_sha256.h>
#include <sodium/crypto_hash_sha512.h>

namespace zkapex {
namespace {

// FIPS 180-4 examples: the empty message, "abc", and a message that spills into a second block.
constexpr std::string_view kTwoBlocks256 = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
constexpr std::string_view kTwoBlocks512 =
    "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu";

TEST(Hash, Sha256Examples) {
  EXPECT_EQ(to_hex(sha256({})), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(sha256(view("abc"))), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(sha256(view(kTwoBlocks256))), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Hash, Sha512Examples) {
  EXPECT_EQ(to_hex(sha512({})),
            "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
            "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e");
  EXPECT_EQ(to_hex(sha512(view("abc"))),
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
            "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f");
  EXPECT_EQ(to_hex(sha512(view(kTwoBlocks512))),
            "8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018"
            "501d289e4900f7e4331b99dec4b5433ac7d329eeb6dd26545e96e55b874be909");
}

// Another implementation, at every length around the block sizes.
TEST(Hash, AgreesWithLibsodium) {
  Bytes message;
  for (size_t length = 0; length < 300; ++length) {
    Sha256::Digest want256;
    Sha512::Digest want512;
    crypto_hash_sha256(want256.data(), message.data(), message.size());
    crypto_hash_sha512(want512.data(), message.data(), message.size());
    EXPECT_EQ(sha256(message), want256) << length;
    EXPECT_EQ(sha512(message), want512) << length;
    message.push_back(static_cast<uint8_t>(31 * length + 7));
  }
}

TEST(Hash, ManyMessagesOfOneLength) {
  for (const InstructionSet set : instruction_sets_up_to(detect_instruction_set())) {
    for (size_t size = 0; size < 140; ++size) {
      const size_t count = size % 20;
      Bytes messages(count * size);
      for (size_t k = 0; k < messages.size(); ++k) messages[k] = static_cast<uint8_t>(k * k + 3 * k + size);
      std::vector<Sha512::Digest> digests(count);
      sha512_each(messages, size, digests, set);
      for (size_t k = 0; k < count; ++k)
        EXPECT_EQ(digests[k], sha512(ByteView(messages).subspan(k * size, size))) << name(set) << " " << size;
    }
  }
}

TEST(Hash, PiecesGiveTheSameDigest) {
  Bytes message(1000);
  for (size_t k = 0; k < message.size(); ++k) message[k] = static_cast<uint8_t>(k * k);
  for (size_t piece : {size_t{1}, size_t{63}, size_t{64}, size_t{65}, size_t{128}, size_t{999}}) {
    Sha512 hash;
    for (size_t at = 0; at < message.size(); at += piece) {
      hash.update(ByteView(message).subspan(at, std::min(piece, message.size() - at)));
    }
    hash.update({});
    EXPECT_EQ(hash.finish(), sha512(message)) << piece;
  }
}

TEST(Hash, FinishStartsANewMessage) {
  Sha256 hash;
  hash.update(view("one message"));
  const auto first = hash.finish();
  hash.update(view("abc"));
  EXPECT_EQ(hash.finish(), sha256(view("abc")));
  EXPECT_EQ(first, sha256(view("one message")));
}

TEST(Hash, MovesInTheMiddleOfAMessage) {
  Sha512 hash;
  hash.update(view("a"));
  Sha512 moved = std::move(hash);
  moved.update(view("bc"));
  hash = std::move(moved);
  EXPECT_EQ(hash.finish(), sha512(view("abc")));
}

}  // namespace
}  // namespace zkapex
