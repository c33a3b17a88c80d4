#include "query/replay/resume_decision.h"

#include <fmt/format.h>

namespace respool {
namespace {

Place place_of(const BindingLine& line) {
  return {line.row.host, line.row.directory};
}

// Where the session lives: here, if it does; else where it was seen last, this host first.
const BindingLine* find_home(const ResumeQuestion& question) {
  const BindingLine* on_host = nullptr;
  const BindingLine* anywhere = nullptr;
  for (const auto& line : question.bindings) {  // the latest seen first
    if (line.session != question.session || line.row.directory.empty()) continue;
    if (place_of(line) == question.here) return &line;
    if (on_host == nullptr && line.row.host == question.here.host) on_host = &line;
    if (anywhere == nullptr) anywhere = &line;
  }
  return on_host != nullptr ? on_host : anywhere;
}

// The best rung for a session at `home`, and why.
std::pair<Rung, std::string> best_rung(const ResumeQuestion& question, const BindingLine* home) {
  if (home == nullptr)
    return {Rung::Import, "no source tells on which host and in which directory it lived"};
  const auto& here = question.here;
  if (home->row.host != here.host)
    return {Rung::Import,
            fmt::format("it lived on the host {}, this is {}", home->row.host, here.host)};
  if (home->row.directory != here.directory) {
    return {Rung::Import,
            fmt::format("it lived in {}{}, it shall go on in {}",
                        home->row.directory,
                        home->state == "gone" ? ", which is gone" : "",
                        here.directory)};
  }
  if (home->state == "dead") return {Rung::Import, "OpenCode does not have it any more"};
  if (home->state == "moved") return {Rung::Import, "OpenCode moved it to another directory"};
  if (question.part_of_it)
    return {Rung::Import, "only a part of it is wanted, which OpenCode cannot continue in place"};
  return {Rung::Native, "it lives here"};
}

}  // namespace

std::string_view rung_name(Rung rung) {
  switch (rung) {
    case Rung::Native:
      return "native";
    case Rung::Import:
      return "import";
    case Rung::Prefix:
      return "prefix";
  }
  return "native";
}

std::optional<Rung> parse_rung(std::string_view name) {
  for (const Rung rung : {Rung::Native, Rung::Import, Rung::Prefix}) {
    if (rung_name(rung) == name) return rung;
  }
  return std::nullopt;
}

ResumeDecision decide_resume(const ResumeQuestion& question) {
  ResumeDecision decision;
  decision.here = question.here;
  const BindingLine* const home = find_home(question);
  if (home != nullptr) decision.stored = place_of(*home);
  std::tie(decision.rung, decision.reason) = best_rung(question, home);
  decision.needs_directory = home != nullptr && !question.directory_given &&
                             home->row.directory != question.here.directory;
  if (!question.asked || *question.asked == decision.rung) return decision;
  if (*question.asked == Rung::Native) {
    decision.impossible = true;
    return decision;
  }
  decision.rung = *question.asked;
  decision.reason = "it was asked for";
  return decision;
}

}  // namespace respool
