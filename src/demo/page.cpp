#include <fmt/format.h>

#include "demo/charts.h"
#include "demo/page_style.h"
#include "demo/report.h"

namespace zkapex::demo {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

namespace {

using nlohmann::ordered_json;

class Page {
 public:
  explicit Page(const ordered_json& report) : report_(report) {}

  std::string finish() {
    head();
    story();
    models_table();
    proofs_table();
    cheats_table();
    charts();
    examples();
    making();
    return std::move(out_) + "</main></body></html>\n";
  }

 private:
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }
  [[nodiscard]] const ordered_json& at(const std::string& pointer) const {
    return report_.at(ordered_json::json_pointer(pointer));
  }
  [[nodiscard]] std::string text(const std::string& pointer) const {
    return escaped(figure_text(at(pointer), FigureStyle::kPlain));
  }
  // A figure with the place in report.json that it comes from.
  [[nodiscard]] std::string figure(const std::string& pointer, FigureStyle style) const {
    return fmt::format("<span data-figure=\"{}\">{}</span>", pointer, figure_text(at(pointer), style));
  }
  // "4/1" is 4.
  [[nodiscard]] std::string cap() const {
    const std::string fraction = text("/deployment/cap");
    return fraction.ends_with("/1") ? fraction.substr(0, fraction.size() - 2) : fraction;
  }
  void cell(const std::string& content) { put("<td>{}</td>", content); }

  void head() {
    put("<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
        "<title>zkapex demo: forgetting {}, proved</title><style>{}</style></head><body><main>",
        text("/forgotten"), kDemoStyle);
    std::string names;
    for (const ordered_json& client : report_.at("clients"))
      names += (names.empty() ? "" : " and ") + escaped(client.at("name").get<std::string>());
    put("<h1>Forgetting {}, and proving what was done</h1>", text("/forgotten"));
    put("<p>A provider trained a small vision transformer on photos of clothes. The clients {} adapted it to private "
        "drawings of their own. Then {} had to go. Each client removed the weights that the provider named, let "
        "the others be drawn where its guide points as far as the curvature of its own data allows, and proved in zero "
        "knowledge that it did exactly that.</p>",
        names, text("/forgotten"));
    put("<div class=\"tiles\">");
    const std::string ours = "/clients/0/models/ours/";
    tile(figure(ours + "forget_accuracy", FigureStyle::kPercent),
         "accuracy on photos of what is forgotten, was " +
             figure("/clients/0/models/before/forget_accuracy", FigureStyle::kPercent));
    tile(
        figure(ours + "personal_accuracy", FigureStyle::kPercent),
        "accuracy on own drawings, was " + figure("/clients/0/models/before/personal_accuracy", FigureStyle::kPercent));
    tile(figure("/clients/0/proof_bytes", FigureStyle::kKilobytes),
         "proof, made in " + figure("/clients/0/seconds/prove", FigureStyle::kSeconds));
    tile(figure("/verification/windows_seconds", FigureStyle::kSeconds),
         fmt::format("to verify the windows of {} clients together", report_.at("clients").size()));
    put("</div><p class=\"muted\">Tiles: client {}. Seed {}, measured on {} images.</p>", text("/clients/0/name"),
        text("/seed"), text("/measured_on"));
  }
  void tile(const std::string& number, const std::string& words) {
    put("<div class=\"tile\"><b>{}</b><span>{}</span></div>", number, words);
  }

  void story() {
    put("<h2>The protocol</h2><div class=\"pair\"><figure>{}</figure><div>", protocol_picture(report_));
    put("<p>Accepted means: the client knows weights θ_p, θ_u and a curvature that open the commitments, and</p><ul>"
        "<li>every masked weight of θ_u is exactly zero,</li>"
        "<li>in every block θ_u is within the certified error {} of the exact optimum for that client’s curvature,</li>"
        "<li>in every tensor the step goes at least {} of the guide’s way, stays near it, and moves the model at most "
        "{} "
        "times what mask and guide ask for (in squares),</li>"
        "<li>everything else is unchanged,</li>"
        "<li>the registered model is near the provider’s own in every tensor: within {} of its size and {} a "
        "weight.</li></ul>",
        text("/deployment/certified_error"), text("/request/progress"), cap(), text("/deployment/anchor/ratio"),
        text("/deployment/anchor/drift"));
    put("<p>The provider learns that this is true, and nothing about weights or drawings. That the curvature comes "
        "from the client’s own data is not proved: it is committed before the request is known. Nor is it proved that "
        "anything is "
        "forgotten: that is measured below.</p>");
    put("<p>Here the mask takes {} of {} weights that unlearning reaches, in {} Fisher blocks of {}; the guide draws "
        "the "
        "others. The whole request has {}.</p></div></div>",
        figure("/request/masked", FigureStyle::kPlain), figure("/deployment/covered_weights", FigureStyle::kPlain),
        figure("/deployment/blocks", FigureStyle::kPlain), figure("/deployment/block", FigureStyle::kPlain),
        figure("/request/bytes", FigureStyle::kKilobytes));
    put("<h3>The rehearsal</h3><p>What the request did to clients that the provider imagined, before it was "
        "published.</p><div class=\"scroll\"><table><thead><tr><th>client</th><th colspan=\"2\">what is forgotten, "
        "before "
        "and after</th><th colspan=\"2\">the rest, before and after</th></tr></thead><tbody>");
    for (size_t k = 0; k < at("/request/rehearsal").size(); ++k) {
      const std::string client = fmt::format("/request/rehearsal/{}/", k);
      put("<tr><td>{}</td>", text(client + "client"));
      for (const char* key : {"forget_before", "forget_after", "retain_before", "retain_after"})
        cell(figure(client + key, FigureStyle::kPercent));
      put("</tr>");
    }
    put("</tbody></table></div>");
  }

  void models_table() {
    put("<h2>What it did to the models</h2><div class=\"scroll\"><table><caption>Forgotten: photos of {} that no "
        "model was trained on; lower is better. Membership: can one tell from the loss which of such photos were "
        "trained on? 0.5 is chance.</caption><thead><tr><th>model</th><th>forgotten</th><th>own drawings</th>"
        "<th>membership AUC<br>(95 % interval)</th></tr></thead><tbody>",
        text("/forgotten"));
    for (size_t k = 0; k < report_.at("clients").size(); ++k) {
      const std::string client = fmt::format("/clients/{}", k);
      put("<tr class=\"client\"><th colspan=\"4\">{}: {} of what the mask destroyed was given back</th></tr>",
          text(client + "/name"), figure(client + "/recovery", FigureStyle::kPercent));
      for (const auto& [key, model] : at(client + "/models").items()) {
        const std::string m = client + "/models/" + key;
        put("<tr class=\"{0}\"><td class=\"nowrap\"><span class=\"swatch {0}\"></span>{1}</td>", key, model_title(key));
        cell(figure(m + "/forget_accuracy", FigureStyle::kPercent));
        cell(figure(m + "/personal_accuracy", FigureStyle::kPercent));
        cell(fmt::format("{}<br><span class=\"muted nowrap\">{}–{}</span>",
                         figure(m + "/membership/auc", FigureStyle::kAuc),
                         figure(m + "/membership/auc_low", FigureStyle::kAuc),
                         figure(m + "/membership/auc_high", FigureStyle::kAuc)));
        put("</tr>");
      }
    }
    put("</tbody></table></div>");
    for (const ordered_json& target : report_.at("targets")) {
      put("<p class=\"{}\">{}: {}</p>", target.at("met") ? "good" : "bad",
          escaped(target.at("what").get<std::string>()), target.at("met") ? "met" : "missed");
    }
  }

  void proofs_table() {
    put("<h2>What the proofs cost</h2><div class=\"scroll\"><table><thead><tr><th></th>");
    const size_t clients = report_.at("clients").size();
    for (size_t k = 0; k < clients; ++k) put("<th>{}</th>", text(fmt::format("/clients/{}/name", k)));
    put("</tr></thead><tbody>");
    struct Row {
      const char *title, *key;
      FigureStyle style;
    };
    constexpr Row kRows[] = {
        {"curvature from own data, once", "/seconds/curvature", FigureStyle::kSeconds},
        {"curvature store", "/curvature/bytes", FigureStyle::kMegabytes},
        {"registration, once", "/seconds/register", FigureStyle::kSeconds},
        {"registration sent", "/registration_bytes", FigureStyle::kKilobytes},
        {"unlearning: mask and guide", "/seconds/unlearn", FigureStyle::kSeconds},
        {"of the guide’s way, in the tensor that goes least", "/guide/least_progress", FigureStyle::kPercent},
        {"proving", "/seconds/prove", FigureStyle::kSeconds},
        {"proof sent", "/proof_bytes", FigureStyle::kKilobytes},
        {"distance from the exact operator, at most", "/measured_error", FigureStyle::kError}};
    for (const Row& row : kRows) {
      put("<tr><td>{}</td>", row.title);
      for (size_t k = 0; k < clients; ++k) cell(figure(fmt::format("/clients/{}{}", k, row.key), row.style));
      put("</tr>");
    }
    for (const auto& [title, key] :
         {std::pair("verifying all registrations, once", "/verification/registrations_seconds"),
          {"verifying all windows", "/verification/windows_seconds"}}) {
      put("<tr><td>{}</td><td colspan=\"{}\">{}</td></tr>", title, clients, figure(key, FigureStyle::kSeconds));
    }
    put("<tr><td>certified error</td><td colspan=\"{}\">{}</td></tr></tbody></table></div>", clients,
        text("/deployment/certified_error"));
  }

  void cheats_table() {
    put("<h2>Cheating</h2><p>The same verifier, and a client that would rather not forget. It plays {}, with all of "
        "{}’s secrets.</p><div class=\"scroll\"><table class=\"words\"><thead><tr>"
        "<th>the client</th><th>verdict</th><th>reason</th></tr></thead><tbody>",
        escaped(report_.at("clients").back().at("name").get<std::string>()),
        escaped(report_.at("clients").back().at("name").get<std::string>()));
    for (size_t k = 0; k < report_.at("cheats").size(); ++k) {
      const std::string cheat = fmt::format("/cheats/{}", k);
      put("<tr><td>{}</td><td class=\"bad\">{}</td><td><b>{}</b><br><span class=\"muted\">{}</span></td></tr>",
          text(cheat + "/what"), text(cheat + "/verdict"), text(cheat + "/reason"), text(cheat + "/detail"));
    }
    put("</tbody></table></div>");
  }

  void charts() {
    put("<h2>Accuracies</h2><div class=\"pair\">");
    for (const ordered_json& client : report_.at("clients")) {
      put("<figure><h3>{}</h3>{}</figure>", escaped(client.at("name").get<std::string>()),
          accuracy_bars(client, at("/forgotten").get<std::string>()));
    }
    put("</div><h2>Losses on photos of what is forgotten</h2><p>Above the axis photos that the provider trained on, "
        "below it "
        "photos that no model has seen. Where the two halves look alike, the loss does not tell who was in the "
        "training set.</p>");
    for (const ordered_json& client : report_.at("clients")) {
      const double tallest = tallest_bin(client);
      put("<h3>{}</h3><div class=\"three\">", escaped(client.at("name").get<std::string>()));
      for (const char* model : {"before", "ours", "exact"})
        put("<figure>{}</figure>", loss_histogram(client, model, tallest));
      put("</div>");
    }
    put("<h2>Layer by layer</h2><p>What the mask took away, how far what was left moved, and how far the worst "
        "block can be from the exact operator: its residual divided by the curvature’s floor and the pull.</p>"
        "<div class=\"pair\">");
    for (const ordered_json& client : report_.at("clients")) {
      put("<div><h3>{}</h3><figure>{}</figure><figure>{}</figure></div>", escaped(client.at("name").get<std::string>()),
          layer_bars(client), layer_errors(client, std::stod(at("/deployment/certified_error").get<std::string>())));
    }
    put("</div>");
  }

  void examples() {
    put("<h2>Some images</h2><p>The first ones that each client’s model had right before: photos of what is "
        "forgotten, and its own drawings, each of another class.</p>");
    for (const ordered_json& client : report_.at("clients")) {
      put("<h3>{}</h3><div class=\"cards\">", escaped(client.at("name").get<std::string>()));
      for (const ordered_json& example : client.at("examples")) {
        const std::string kind = example.at("kind").get<std::string>(), label = example.at("class").get<std::string>();
        put("<div class=\"card\"><img src=\"{}\" alt=\"{} of a {}\" width=\"96\" height=\"96\"><dl>",
            example.at("image").get<std::string>(), kind, escaped(label));
        put("<dt>{}</dt><dd><b>{}</b></dd>", kind, escaped(label));
        for (const auto& [key, title] : {std::pair("before", "before"), {"ours", "after"}}) {
          const ordered_json& p = example.at("predictions").at(key);
          put("<dt>{}</dt><dd class=\"{}\">{} {}, {:.0f} %</dd>", title, p.at("right") ? "good" : "bad",
              p.at("right") ? "✓" : "✗", escaped(p.at("class").get<std::string>()),
              100 * p.at("confidence").get<double>());
        }
        put("</dl></div>");
      }
      put("</div>");
    }
  }

  void making() {
    put("<h2>How it was made</h2><p>{}. A run with the same seed and number of threads gives the same models and "
        "figures; times and the randomness of proofs differ.</p><pre>",
        text("/summary"));
    for (const ordered_json& command : report_.at("commands")) put("{}\n", escaped(command.get<std::string>()));
    put("</pre>");
  }

  const ordered_json& report_;
  std::string out_;
};

}  // namespace

std::string demo_page(const ordered_json& report) { return Page(report).finish(); }

}  // namespace zkapex::demo
