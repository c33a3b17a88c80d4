#include "query/views/usage_view.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "engine/facts/step.h"
#include "engine/model/model_rows.h"
#include "engine/storage/keys.h"

namespace respool {
namespace {

constexpr auto kKeyNames = std::to_array<std::pair<std::string_view, UsageKey>>({
    {"session", UsageKey::Session},
    {"day", UsageKey::Day},
    {"week", UsageKey::Week},
    {"month", UsageKey::Month},
    {"model", UsageKey::Model},
    {"provider", UsageKey::Provider},
    {"agent", UsageKey::Agent},
    {"project", UsageKey::Project},
    {"host", UsageKey::Host},
    {"root", UsageKey::Root},
    {"tool", UsageKey::Tool},
});

std::string join_model(const std::string& provider, const std::string& model) {
  return provider.empty() && model.empty() ? "" : provider + "/" + model;
}

// What the sums are made of: one addend with all it can be grouped by.
struct Addend {
  const SessionEntry* session = nullptr;
  Dimensions dimensions;
  std::int64_t time_ms = 0;
  fb::UsageRowT usage;
  bool copied = false;
};

class UsageSum {
 public:
  UsageSum(const StoreReader& reader,
           const std::vector<UsageKey>& by,
           const Filter& filter,
           const Zone& zone,
           const Prices* prices)
      : reader_(&reader), by_(&by), filter_(&filter), zone_(&zone), prices_(prices) {}

  Result<UsageAnswer> answer(const std::string& here) {
    RESPOOL_TRY(all_, reader_->sessions());
    index_ = by_id(all_);
    RESPOOL_TRY(const auto selected, select_sessions(*reader_, *filter_, here));
    for (const auto& entry : all_)
      entries_.emplace(entry.number.value, &entry);
    for (const auto& entry : selected)
      selected_.insert(entry.number.value);
    if (prices_ != nullptr) {
      for (const auto number : selected_) {
        RESPOOL_TRY(add_steps(number, nullptr));
      }
    } else {
      RESPOOL_TRY(add_rollups());
    }
    return finish();
  }

 private:
  using BucketSet = std::set<std::uint32_t>;

  bool is_cut(std::uint32_t bucket) const {
    const std::int64_t begin = bucket * kBucketMs;
    const std::int64_t last = begin + kBucketMs - 1;
    if (filter_->at(begin) != filter_->at(last)) return true;
    // Both bounds may lie inside the bucket.
    if (filter_->since_ms && *filter_->since_ms > begin && *filter_->since_ms <= last) return true;
    if (filter_->until_ms && *filter_->until_ms > begin && *filter_->until_ms <= last) return true;
    return std::any_of(by_->begin(), by_->end(), [&](UsageKey key) {
      return period(key, begin) != period(key, last);
    });
  }

  std::string period(UsageKey key, std::int64_t time_ms) const {
    if (key == UsageKey::Day) return zone_->day(time_ms);
    if (key == UsageKey::Week) return zone_->week(time_ms);
    if (key == UsageKey::Month) return zone_->month(time_ms);
    return {};
  }

  Result<void> add_rollups() {
    const std::uint32_t first = filter_->since_ms ? bucket_of(*filter_->since_ms) : 0;
    const std::string end = filter_->until_ms
                                ? keys::rollup_from(bucket_of(*filter_->until_ms) + 1)
                                : keys::after_prefix(keys::table_prefix(keys::Table::Rollups));
    std::map<std::uint64_t, BucketSet> cut;
    RowCursor rows = reader_->view().scan(Family::Model, keys::rollup_from(first), end);
    std::optional<std::uint32_t> judged;
    bool judged_cut = false;
    for (; rows.valid(); rows.next()) {
      const auto key = keys::parse_rollup(rows.key());
      if (!key)
        return Error(
            ErrorCode::Corruption, "model, rollups: a key is too short", "run \"respool rebuild\"");
      if (!selected_.contains(key->session.value)) continue;
      if (judged != key->bucket) {
        judged = key->bucket;
        judged_cut = is_cut(key->bucket);
      }
      if (judged_cut) {
        cut[key->session.value].insert(key->bucket);
        continue;
      }
      RESPOOL_TRY(auto usage, decode<fb::UsageRowT>(rows.value(), "model, rollups"));
      Addend addend{entries_.at(key->session.value),
                    parse_dimensions(key->dimensions),
                    key->bucket * kBucketMs,
                    std::move(usage)};
      if (filter_->at(addend.time_ms)) add(addend);
    }
    RESPOOL_TRY(rows.finish());
    for (const auto& [session, buckets] : cut) {
      RESPOOL_TRY(add_steps(session, &buckets));
    }
    return ok();
  }

  // Adds a session's steps one by one: those in `buckets`, or all.
  Result<void> add_steps(std::uint64_t session, const BucketSet* buckets) {
    RESPOOL_TRY(const auto steps, reader_->steps({session}));
    for (const auto& step : steps) {
      if (buckets != nullptr && !buckets->contains(bucket_of(step.time_ms))) continue;
      if (!filter_->at(step.time_ms)) continue;
      Addend addend{entries_.at(session),
                    Dimensions{step.provider, step.model, step.agent, step.tools},
                    step.time_ms,
                    contribution(step),
                    step.copied};
      add(addend);
    }
    return ok();
  }

  std::string key_of(UsageKey key, const Addend& addend) const {
    switch (key) {
      case UsageKey::Session:
        return addend.session->row.id;
      case UsageKey::Day:
      case UsageKey::Week:
      case UsageKey::Month:
        return period(key, addend.time_ms);
      case UsageKey::Model:
        return join_model(addend.dimensions.provider, addend.dimensions.model);
      case UsageKey::Provider:
        return addend.dimensions.provider;
      case UsageKey::Agent:
        return addend.dimensions.agent;
      case UsageKey::Project:
        return addend.session->row.project;
      case UsageKey::Host:
        return addend.session->row.host;
      case UsageKey::Root:
        return root_of(index_, *addend.session);
      case UsageKey::Tool:
        return addend.dimensions.tools;
    }
    return {};
  }

  void add(const Addend& addend) {
    if (!model_matches(*filter_, addend.dimensions.provider, addend.dimensions.model)) return;
    if (!agent_matches(*filter_, addend.dimensions.agent)) return;
    std::vector<std::string> keys;
    for (const UsageKey key : *by_)
      keys.push_back(key_of(key, addend));
    auto& group = groups_[keys];
    add_to(group, addend);
    if (!by_->empty()) add_to(total_, addend);
  }

  void add_to(UsageGroup& group, const Addend& addend) {
    add_usage(group.usage, addend.usage);
    if (prices_ == nullptr || addend.copied) return;
    const auto cost = recomputed(addend);
    if (!cost) {
      unpriced_.insert(&group);
      group.recomputed_cost_nanos.reset();
    } else if (!unpriced_.contains(&group)) {
      group.recomputed_cost_nanos = group.recomputed_cost_nanos.value_or(0) + *cost;
    }
  }

  // OpenCode's formula: reasoning is billed as output.
  std::optional<std::int64_t> recomputed(const Addend& addend) const {
    const auto price =
        prices_->find(join_model(addend.dimensions.provider, addend.dimensions.model));
    if (price == prices_->end()) return std::nullopt;
    __extension__ using Wide = __int128;
    const auto& usage = addend.usage;
    const Wide nanos_of_a_million =
        static_cast<Wide>(usage.input) * price->second.input +
        static_cast<Wide>(usage.output + usage.reasoning) * price->second.output +
        static_cast<Wide>(usage.cache_read) * price->second.cache_read +
        static_cast<Wide>(usage.cache_write) * price->second.cache_write;
    constexpr std::int64_t kMillion = 1'000'000;
    return static_cast<std::int64_t>((nanos_of_a_million + kMillion / 2) / kMillion);
  }

  UsageAnswer finish() {
    UsageAnswer answer;
    for (auto& [keys, group] : groups_) {
      group.keys = keys;
      if (by_->empty()) {
        total_ = group;
      } else if (!is_zero(group.usage)) {
        answer.groups.push_back(group);
      }
    }
    answer.total = total_;
    return answer;
  }

  const StoreReader* reader_;
  const std::vector<UsageKey>* by_;
  const Filter* filter_;
  const Zone* zone_;
  const Prices* prices_;
  std::vector<SessionEntry> all_;
  std::map<std::string, const SessionEntry*> index_;
  std::map<std::uint64_t, const SessionEntry*> entries_;
  std::set<std::uint64_t> selected_;
  std::map<std::vector<std::string>, UsageGroup> groups_;
  std::set<const UsageGroup*> unpriced_;
  UsageGroup total_;
};

}  // namespace

std::optional<UsageKey> parse_usage_key(std::string_view name) {
  for (const auto& [text, key] : kKeyNames) {
    if (text == name) return key;
  }
  return std::nullopt;
}

std::string_view usage_key_name(UsageKey key) {
  for (const auto& [text, which] : kKeyNames) {
    if (which == key) return text;
  }
  return {};
}

Result<UsageAnswer> usage(const StoreReader& reader,
                          const std::vector<UsageKey>& by,
                          const Filter& filter,
                          const Zone& zone,
                          const Prices* prices,
                          const std::string& here) {
  return UsageSum(reader, by, filter, zone, prices).answer(here);
}

}  // namespace respool
