#include "ingest/source/document.h"

#include <algorithm>
#include <vector>

#include "schema/opencode/record.h"

namespace respool {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

struct Piece {
  Shape shape = Shape::Unknown;
  std::size_t at = 0;
  std::size_t size = 0;
  std::string_view name = {};  // of a member that is not known
};

// Walks JSON text by brackets and strings alone. Every step may find that the text breaks off.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::size_t at() const { return at_; }
  bool broken() const { return broken_; }
  void break_off() { broken_ = true; }

  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_]))
      ++at_;
  }

  // Takes `c` where it stands next, white space aside.
  bool take(char c) {
    skip_space();
    if (at_ >= text_.size()) {
      broken_ = true;
      return false;
    }
    if (text_[at_] != c) return false;
    ++at_;
    return true;
  }

  char peek() {
    skip_space();
    if (at_ >= text_.size()) broken_ = true;
    return broken_ ? '\0' : text_[at_];
  }

  // A string without its quotes, as written.
  std::string_view string() {
    if (!take('"')) {
      broken_ = true;
      return {};
    }
    const std::size_t begin = at_;
    skip_string();
    return broken_ ? std::string_view() : text_.substr(begin, at_ - 1 - begin);
  }

  // Skips one whole value.
  void value() {
    const char first = peek();
    if (broken_) return;
    if (first == '"') {
      string();
    } else if (first == '{' || first == '[') {
      skip_nested();
    } else {
      const std::size_t begin = at_;
      while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '}' && text_[at_] != ']' &&
             !is_space(text_[at_]))
        ++at_;
      if (at_ == text_.size() || at_ == begin) broken_ = true;
    }
  }

  // Calls on_key(key) before each value of an object; it must consume the value.
  template <class OnKey>
  void object(OnKey&& on_key) {
    take('{');
    if (!broken_ && take('}')) return;
    while (!broken_) {
      const std::string_view key = string();
      if (broken_ || !take(':')) return break_off();
      on_key(key);
      if (broken_ || take('}')) return;
      if (!take(',')) return break_off();
    }
  }

  // Calls on_element() before each element of an array; it must consume the element.
  template <class OnElement>
  void array(OnElement&& on_element) {
    take('[');
    if (!broken_ && take(']')) return;
    while (!broken_) {
      on_element();
      if (broken_ || take(']')) return;
      if (!take(',')) return break_off();
    }
  }

 private:
  void skip_string() {
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') return;
      if (c == '\\') ++at_;
    }
    at_ = text_.size();
    broken_ = true;
  }

  void skip_nested() {
    std::size_t depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') {
        skip_string();
        if (broken_) return;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if (c == '}' || c == ']') {
        if (--depth == 0) return;
      }
    }
    broken_ = true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool broken_ = false;
};

// Gathers the pieces of a document in one walk.
class Cutter {
 public:
  explicit Cutter(std::string_view text) : scan_(text), text_(text) {}

  std::vector<Piece> cut() {
    if (scan_.peek() == '[') {
      scan_.array([this] { element(); });
    } else {
      root_object();
    }
    if (!scan_.broken()) {
      scan_.skip_space();
      if (scan_.at() != text_.size()) trailing();
    }
    if (scan_.broken()) remainder();
    return std::move(pieces_);
  }

 private:
  void root_object() {
    const std::size_t begin = scan_.at();
    bool is_export = false;
    bool is_message = false;
    scan_.object([&](std::string_view key) {
      if (key == "info" && scan_.peek() == '{') {
        is_export = true;
        piece(Shape::ExportSession);
      } else if (key == "messages" && scan_.peek() == '[') {
        is_export = true;
        scan_.array([this] { message(); });
      } else if (key == "parts" && scan_.peek() == '[') {
        is_message = true;
        scan_.array([this] { piece(Shape::ExportPart); });
      } else {
        piece(Shape::ExportOther, key);
      }
    });
    if (is_message) {
      for (auto& each : pieces_) {
        if (each.shape == Shape::ExportSession) each.shape = Shape::ExportMessage;
      }
    }
    if (is_export || is_message) return;
    pieces_.clear();
    if (!scan_.broken()) pieces_.push_back({Shape::Unknown, begin, scan_.at() - begin});
    done_ = scan_.broken() ? begin : scan_.at();
  }

  // One element of an array: a message with its parts, or a record of its own.
  void element() {
    if (scan_.peek() != '{') return piece(Shape::ExportOther);
    const std::size_t begin = scan_.at();
    const std::size_t first = pieces_.size();
    if (message()) return;
    pieces_.resize(first);
    if (scan_.broken()) {
      done_ = begin;
      return;
    }
    pieces_.push_back({Shape::Unknown, begin, scan_.at() - begin});
    done_ = scan_.at();
  }

  // False where the object has neither info nor parts.
  bool message() {
    bool is_message = false;
    scan_.object([&](std::string_view key) {
      if (key == "info" && scan_.peek() == '{') {
        is_message = true;
        piece(Shape::ExportMessage);
      } else if (key == "parts" && scan_.peek() == '[') {
        is_message = true;
        scan_.array([this] { piece(Shape::ExportPart); });
      } else {
        piece(Shape::ExportOther, key);
      }
    });
    return is_message;
  }

  void piece(Shape shape, std::string_view name = {}) {
    scan_.skip_space();
    const std::size_t begin = scan_.at();
    scan_.value();
    if (scan_.broken()) return;
    pieces_.push_back({shape, begin, scan_.at() - begin, name});
    done_ = scan_.at();
  }

  void trailing() {
    done_ = scan_.at();
    scan_.break_off();
  }

  // What no piece holds, from the last whole one to the end.
  void remainder() {
    std::size_t begin = done_;
    while (begin < text_.size() && (is_space(text_[begin]) || text_[begin] == ','))
      ++begin;
    if (begin < text_.size()) pieces_.push_back({Shape::Malformed, begin, text_.size() - begin});
  }

  Scanner scan_;
  std::string_view text_;
  std::vector<Piece> pieces_;
  std::size_t done_ = 0;  // up to here everything is in a piece
};

}  // namespace

Result<void> cut_document(std::string_view text, std::uint64_t place, const FrameSink& sink) {
  const auto pieces = Cutter(text).cut();
  std::optional<std::int64_t> as_of;
  std::string session;
  std::vector<std::optional<std::int64_t>> message_times;  // by piece: the message it belongs to
  for (const auto& piece : pieces) {
    message_times.push_back(message_times.empty() ? std::nullopt : message_times.back());
    if (!is_state_shape(piece.shape)) continue;
    const Record record = decode_record(text.substr(piece.at, piece.size), piece.shape);
    if (record.latest_ms && (!as_of || *record.latest_ms > *as_of)) as_of = record.latest_ms;
    if (session.empty()) session = record.session;
    if (piece.shape == Shape::ExportMessage) message_times.back() = record.time_ms;
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    Frame frame;
    frame.raw = text.substr(piece.at, piece.size);
    frame.place = place + piece.at;
    frame.name = piece.name;
    if (piece.shape == Shape::ExportPart) frame.time_ms = message_times[i];
    if (piece.shape != Shape::Unknown) frame.shape = piece.shape;
    if (is_state_shape(piece.shape)) frame.as_of_ms = as_of.value_or(0);
    if (piece.shape != Shape::Unknown) frame.session = session;
    frame.truncated = piece.shape == Shape::Malformed;
    RESPOOL_TRY(sink(frame));
  }
  return ok();
}

}  // namespace respool
