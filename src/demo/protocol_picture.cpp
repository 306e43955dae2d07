// The protocol as a sequence, with this run's sizes.
#include "demo/charts.h"
#include "tables/svg.h"

namespace zkapex::demo {

namespace {

constexpr double kClient = 62, kProvider = 298, kMiddle = (kClient + kProvider) / 2;

class Sequence {
 public:
  Sequence(double height, std::string_view title) : svg_(360, height, title), height_(height) {
    for (const auto& [x, name] : {std::pair(kClient, "client"), {kProvider, "provider"}}) {
      svg_.line(x, 40, x, height_ - 4, "lane");
      svg_.rect(x - 46, 8, 92, 28, "box", 6);
      svg_.text(x, 27, name, "strong", Svg::Anchor::kMiddle);
    }
  }

  void message(bool to_provider, std::string_view what, const std::string& more) {
    y_ += 48;
    svg_.text(kMiddle, y_ - 22, what, "", Svg::Anchor::kMiddle);
    svg_.text(kMiddle, y_ - 8, more, "small", Svg::Anchor::kMiddle);
    svg_.arrow(to_provider ? kClient : kProvider, to_provider ? kProvider : kClient, y_, "flow");
  }
  void note(bool provider, std::string_view first, std::string_view second) {
    const double width = 172, x = provider ? 360 - width : 0;
    y_ += 14;
    svg_.rect(x, y_, width, 38, "note", 6);
    svg_.text(x + width / 2, y_ + 16, first, "small", Svg::Anchor::kMiddle);
    svg_.text(x + width / 2, y_ + 30, second, "small", Svg::Anchor::kMiddle);
    y_ += 40;
  }
  std::string finish() { return svg_.finish(); }

 private:
  Svg svg_;
  double height_, y_ = 32;
};

std::string kilobytes(const nlohmann::ordered_json& bytes) {
  return fmt::format("{:.1f} kB", bytes.get<double>() / 1e3);
}

}  // namespace

std::string protocol_picture(const nlohmann::ordered_json& report) {
  const auto& client = report.at("clients").at(0);
  Sequence s(452, "The protocol: registration, mask, proof, verdict");
  s.message(false, "deployment", "weights in reach, blocks, certified error");
  s.note(false, "weights θ_p, curvature C_p", "of its own private data");
  s.message(true, "Com(θ_p), Com(C_p), ranges, anchor", "once, " + kilobytes(client.at("registration_bytes")));
  s.note(true, "rehearsal at its own θ0:", "what goes, and where to");
  s.message(false, "request Ψ: mask, guide", kilobytes(report.at("request").at("bytes")));
  s.note(false, "θ_u: zero on the mask, the", "rest drawn as far as C_p lets it");
  s.message(true, "Com(θ_u), proof", kilobytes(client.at("proof_bytes")));
  s.note(true, "verify: accepted, or", "rejected with one reason");
  return s.finish();
}

}  // namespace zkapex::demo
