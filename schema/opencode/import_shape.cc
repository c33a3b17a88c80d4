#include "schema/opencode/import_shape.h"

#include <charconv>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "schema/opencode/import_rules.h"

namespace respool {
namespace {

using import_rules::kAssistant;
using import_rules::kCompleted;
using import_rules::kErrors;
using import_rules::kFailed;
using import_rules::kFileSource;
using import_rules::kFormatSchema;
using import_rules::kIds;
using import_rules::kMessageIds;
using import_rules::kParts;
using import_rules::kPending;
using import_rules::kResourceSource;
using import_rules::kRunning;
using import_rules::kSession;
using import_rules::kSymbolSource;
using import_rules::kUser;
using import_rules::Must;
using import_rules::Rule;
using import_rules::Rules;

bool is_finite_number(std::string_view value, double& number) {
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc{} && end == value.data() + value.size() && std::isfinite(number);
}

bool is_count(std::string_view value) {
  constexpr double kExact = 9007199254740991.0;  // JavaScript's greatest safe integer
  double number = 0;
  return is_finite_number(value, number) && number >= 0 && number <= kExact &&
         std::trunc(number) == number;
}

bool is_flag(std::string_view value) {
  return value == "true" || value == "false";
}

Fitting fit(JsonFields& object, Rules rules);

// True where the object is acceptable, perhaps after optional fields of it were removed.
bool fit_object(std::string& value, Rules rules, Fitting& all, std::string_view name) {
  auto object = value.starts_with('{') ? JsonFields::parse(value) : std::nullopt;
  if (!object) return false;
  const Fitting inner = fit(*object, rules);
  if (!inner.unfit.empty()) return false;
  for (const auto& removed : inner.removed)
    all.removed.push_back(fmt::format("{}.{}", name, removed));
  if (!inner.removed.empty()) value = object->json();
  return true;
}

bool fit_objects(std::string& value, Rules rules, Fitting& all, std::string_view name) {
  const auto elements = split_json_array(value);
  if (!elements) return false;
  std::string fitted = "[";
  for (const auto& element : *elements) {
    std::string object(element);
    if (!fit_object(object, rules, all, name)) return false;
    if (fitted.size() > 1) fitted.push_back(',');
    fitted += object;
  }
  value = fitted + "]";
  return true;
}

template <class Holds>
bool all_elements(std::string_view value, Holds&& holds) {
  const auto elements = split_json_array(value);
  if (!elements) return false;
  for (const auto& element : *elements) {
    if (!holds(element)) return false;
  }
  return true;
}

bool all_flags(std::string_view value) {
  const auto fields = split_json_object(value);
  if (!fields) return false;
  for (const auto& [key, flag] : *fields) {
    if (!is_flag(flag)) return false;
  }
  return true;
}

// The rules of one of several shapes, told apart by a text in the object.
std::optional<Rules> rules_of(Must must, const JsonFields& object) {
  const auto tag = object.text(must == Must::BeState ? "status" : "type").value_or("");
  if (must == Must::BeState) {
    if (tag == "pending") return kPending;
    if (tag == "running") return kRunning;
    if (tag == "completed") return kCompleted;
    if (tag == "error") return kFailed;
  } else if (must == Must::BeSource) {
    if (tag == "file") return kFileSource;
    if (tag == "symbol") return kSymbolSource;
    if (tag == "resource") return kResourceSource;
  } else {
    if (tag == "text") return Rules{};
    if (tag == "json_schema") return kFormatSchema;
  }
  return std::nullopt;
}

bool fit_variant(std::string& value, Must must, Fitting& all, std::string_view name) {
  const auto object = value.starts_with('{') ? JsonFields::parse(value) : std::nullopt;
  const auto rules = object ? rules_of(must, *object) : std::nullopt;
  return rules && fit_object(value, *rules, all, name);
}

bool fit_error(std::string& value, Fitting& all, std::string_view name) {
  auto error = value.starts_with('{') ? JsonFields::parse(value) : std::nullopt;
  if (!error) return false;
  for (const auto& known : kErrors) {
    if (error->text("name") != known.name) continue;
    std::string data(error->get("data").value_or(""));
    if (!fit_object(data, known.data, all, name)) return false;
    error->set("data", std::move(data));
    value = error->json();
    return true;
  }
  return false;
}

bool fit_value(std::string& value, const Rule& rule, Fitting& all) {
  double number = 0;
  switch (rule.must) {
    case Must::BeText:
      return value.starts_with('"') && std::string_view(value).substr(1).starts_with(rule.prefix);
    case Must::BeFlag:
      return is_flag(value);
    case Must::BeNumber:
      return is_finite_number(value, number);
    case Must::BeCount:
      return is_count(value);
    case Must::BeRecord:
      return value.starts_with('{');
    case Must::BeObject:
      return fit_object(value, rule.rules, all, rule.name);
    case Must::BeTexts:
      return all_elements(value, [](std::string_view element) { return element.starts_with('"'); });
    case Must::BeObjects:
      return fit_objects(value, rule.rules, all, rule.name);
    case Must::BeSource:
    case Must::BeState:
    case Must::BeFormat:
      return fit_variant(value, rule.must, all, rule.name);
    case Must::BeError:
      return fit_error(value, all, rule.name);
    case Must::BeFlags:
      return all_flags(value);
    case Must::BeChange:
      return value == R"("added")" || value == R"("deleted")" || value == R"("modified")";
  }
  return false;
}

Fitting fit(JsonFields& object, Rules rules) {
  Fitting fitting;
  for (const auto& rule : rules) {
    const auto found = object.get(rule.name);
    if (!found) {
      if (rule.required) fitting.unfit = rule.name;
    } else {
      std::string value(*found);
      if (fit_value(value, rule, fitting)) {
        if (value != *found) object.set(rule.name, std::move(value));
      } else if (rule.required) {
        fitting.unfit = rule.name;
      } else {
        if (value != "null") fitting.removed.emplace_back(rule.name);
        object.remove(rule.name);
      }
    }
    if (!fitting.unfit.empty()) return fitting;
  }
  return fitting;
}

Fitting fit_both(JsonFields& object, Rules ids, Rules rest) {
  Fitting fitting = fit(object, ids);
  return fitting.unfit.empty() ? fit(object, rest) : fitting;
}

}  // namespace

Fitting fit_message(JsonFields& message) {
  const auto role = message.text("role");
  if (role == "user") return fit_both(message, kMessageIds, kUser);
  if (role == "assistant") return fit_both(message, kMessageIds, kAssistant);
  return {"role", {}};
}

Fitting fit_part(JsonFields& part) {
  const auto type = part.text("type");
  for (const auto& known : kParts) {
    if (type == known.type) return fit_both(part, kIds, known.rules);
  }
  return {"type", {}};
}

Fitting fit_session(JsonFields& session) {
  return fit(session, kSession);
}

}  // namespace respool
