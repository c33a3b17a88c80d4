#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "query/views/binding_view.h"

namespace respool {

// How a session's context reaches OpenCode, the fullest first.
enum class Rung : std::uint8_t {
  Native,  // OpenCode continues its own session
  Import,  // a copy of it, written in OpenCode's own format
  Prefix,  // its text, before the prompt of a fresh session
};
std::string_view rung_name(Rung rung);
std::optional<Rung> parse_rung(std::string_view name);

struct Place {
  std::string host;
  std::string directory;  // canonical

  friend bool operator==(const Place&, const Place&) = default;
};

struct ResumeQuestion {
  std::string session;
  std::vector<BindingLine> bindings;  // of this session, as list_bindings() gives them
  Place here;                         // where it shall go on
  bool directory_given = false;       // the user named `here`
  bool part_of_it = false;            // only up to a point, or only one branch of it
  std::optional<Rung> asked;
};

struct ResumeDecision {
  Rung rung = Rung::Native;
  std::string reason;
  std::optional<Place> stored;  // nothing where no source tells where it lived
  Place here;
  // The session lives elsewhere, and nobody said where it shall go on: it is for the user to say.
  bool needs_directory = false;
  // The rung that was asked for cannot work here; the reason says why.
  bool impossible = false;
};

// Decides from what is recorded alone: nothing is started, and no file of OpenCode's is read.
// OpenCode runs a session in its own directory whatever it is told, so that any other place, though
// it be a folder below, needs a rung that can move.
ResumeDecision decide_resume(const ResumeQuestion& question);

}  // namespace respool
