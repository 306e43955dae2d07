// Statements and answers from strangers: what is accepted has one form, which is accepted again and means the same.
#include <cstdlib>

#include "exchange/answers.h"
#include "exchange/problem.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

template <class Answer>
void one_form(std::string_view text) {
  if (const auto answer = Answer::decode(text); answer.ok()) require(Answer::decode(answer->encode()).ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace zkapex;
  if (const auto statement = decode_statement({data, size}); statement.ok()) {
    const Bytes written = std::visit([](const auto& notice) { return notice.encode(); }, *statement);
    const auto again = decode_statement(written);
    require(again.ok() && again->index() == statement->index());
    require(std::visit([](const auto& notice) { return notice.encode(); }, *again) == written);
  }
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  one_form<WindowsAnswer>(text);
  one_form<EnrolmentRequest>(text);
  one_form<SubmissionAnswer>(text);
  one_form<UploadTicket>(text);
  one_form<Problem>(text);
  return 0;
}
