#include "tools/output/table.h"

#include <algorithm>
#include <cstdio>

#include <unistd.h>

#include <fmt/format.h>
#include <sys/ioctl.h>

#include "schema/money.h"
#include "schema/opencode/plain_text.h"
#include "schema/opencode/utf8.h"
#include "schema/time.h"

namespace respool {
namespace {

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

// The width of the terminal, 0 where stdout is none.
std::size_t terminal_width() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) == 0 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

std::string cut(const std::string& text, std::size_t width) {
  std::size_t at = 0;
  for (std::size_t shown = 0; at < text.size() && shown < width; ++shown)
    next_code_point(text, at);
  return text.substr(0, at);
}

}  // namespace

void Table::add(std::vector<std::string> row) {
  for (auto& cell : row)
    cell = one_line(cell);
  rows_.push_back(std::move(row));
}

void Table::print(bool color) const {
  if (rows_.size() < 2) return;
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], characters(row[i]));
  }
  const std::size_t width = terminal_width();
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line += std::string(widths[i] - characters(row[i]) + 2, ' ');
    }
    while (line.ends_with(' '))
      line.pop_back();
    if (width != 0) line = cut(line, width);
    const bool bold = color && &row == &rows_.front();
    fmt::print("{}{}{}\n", bold ? "\x1b[1m" : "", line, bold ? "\x1b[0m" : "");
  }
}

std::string short_time(std::int64_t time_ms) {
  std::string text = format_time(time_ms);
  if (text.size() < 20) return text;
  text.replace(10, 1, " ");
  return text.substr(0, 16) + "Z";
}

std::string counted(std::uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string dollars(std::int64_t nanos) {
  return fmt::format("${}", nanos_to_decimal(nanos));
}

}  // namespace respool
