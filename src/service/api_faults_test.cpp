// What goes wrong at the provider, or at the wrong time, while something is handed in.
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>

#include "service/api_testing.h"

namespace zkapex {
namespace {

class ApiFaultsTest : public testing::ApiTest {
 protected:
  // An upload that has begun.
  std::unique_ptr<Reception> begin(const Digest& id, const Bytes& file) {
    HttpRequest request;
    request.method = "PUT";
    request.content_length = file.size();
    auto begun = (*router_.find(paths::upload(id), request))->receive(request);
    EXPECT_TRUE(begun.ok());
    return begun.ok() ? *std::move(begun) : nullptr;
  }
  // Announced, in a window that ends in 100 s.
  Digest announced() {
    be_registered(kAnna, anna_);
    publish(now_, now_ + 100);
    const SubmissionNotice notice = submission(kAnna);
    EXPECT_EQ(post(paths::kSubmissions, statement(notice, anna_)).status, 201U);
    return sha256(notice.encode());
  }
  const Bytes proof_ = file_of(kAnna, "proof.zka");
};

TEST_F(ApiFaultsTest, ADeadlineDuringAnUpload) {
  const Digest id = announced();
  const std::unique_ptr<Reception> late = begin(id, proof_);
  EXPECT_TRUE(late->write(ByteView(proof_).first(proof_.size() / 2)));
  now_ += 100;
  EXPECT_TRUE(late->write(ByteView(proof_).subspan(proof_.size() / 2)));
  EXPECT_EQ(reason(late->finish()), "deadline");
  EXPECT_EQ((*store().delivery(id))->state, DeliveryState::kAnnounced);
  work();
  EXPECT_FALSE((*store().delivery(id))->verdict.has_value());  // nor is it a rejection
}

TEST_F(ApiFaultsTest, TheLastMomentIsInTime) {
  const Digest id = announced();
  const std::unique_ptr<Reception> just = begin(id, proof_);
  now_ += 99;
  EXPECT_TRUE(just->write(proof_));
  EXPECT_EQ(just->finish().status, 202U);
  now_ += 100;  // the verdict may take its time
  work();
  EXPECT_TRUE((*store().delivery(id))->verdict->accepted);
}

// The client is told that it is the provider's trouble, and has what it needs to come again.
TEST_F(ApiFaultsTest, AFullDiskIsNoRefusal) {
  const Digest id = announced();
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const HttpResponse answer = put(id, proof_);
    ::_exit(answer.status == 500 && reason(answer) == "internal" ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ((*store().delivery(id))->state, DeliveryState::kAnnounced);
  EXPECT_FALSE(*provider_->blobs().has({sha256(proof_), proof_.size()}));
  EXPECT_EQ(put(id, proof_).status, 202U);
  work();
  EXPECT_TRUE((*store().delivery(id))->verdict->accepted);
}

}  // namespace
}  // namespace zkapex
