#include "schema/opencode/aliases.h"

#include <algorithm>
#include <array>

namespace respool {
namespace {

struct Alias {
  std::string_view wire_type;
  Kind kind;
};

// Sorted by name. From the captures of 1.1 to 1.18.33 and the type union of SDK 1.19.3.
constexpr auto kAliases = std::to_array<Alias>({
    {"catalog.updated", Kind::Passing},
    {"command.executed", Kind::CommandExecuted},
    {"error", Kind::SessionError},
    {"file.edited", Kind::Passing},
    {"file.watcher.updated", Kind::Passing},
    {"global.disposed", Kind::Passing},
    {"installation.update-available", Kind::Passing},
    {"installation.updated", Kind::Passing},
    {"integration.connection.updated", Kind::Passing},
    {"integration.updated", Kind::Passing},
    {"lsp.client.diagnostics", Kind::Passing},
    {"lsp.updated", Kind::Passing},
    {"mcp.browser.open.failed", Kind::Passing},
    {"mcp.tools.changed", Kind::Passing},
    {"message.part.delta", Kind::Passing},
    {"message.part.removed", Kind::PartRemoved},
    {"message.part.updated", Kind::PartState},
    {"message.removed", Kind::MessageRemoved},
    {"message.updated", Kind::MessageState},
    {"models-dev.refreshed", Kind::Passing},
    {"permission.asked", Kind::PermissionAsked},
    {"permission.replied", Kind::PermissionReplied},
    {"permission.updated", Kind::PermissionAsked},
    {"permission.v2.asked", Kind::PermissionAsked},
    {"permission.v2.replied", Kind::PermissionReplied},
    {"plugin.added", Kind::Passing},
    {"project.directories.updated", Kind::Passing},
    {"project.updated", Kind::Passing},
    {"pty.created", Kind::Passing},
    {"pty.deleted", Kind::Passing},
    {"pty.exited", Kind::Passing},
    {"pty.updated", Kind::Passing},
    {"question.asked", Kind::QuestionAsked},
    {"question.rejected", Kind::QuestionRejected},
    {"question.replied", Kind::QuestionReplied},
    {"question.v2.asked", Kind::QuestionAsked},
    {"question.v2.rejected", Kind::QuestionRejected},
    {"question.v2.replied", Kind::QuestionReplied},
    {"reasoning", Kind::PartState},
    {"reference.updated", Kind::Passing},
    {"respool.binding", Kind::Binding},
    {"respool.clock", Kind::Passing},
    {"respool.damaged", Kind::Damaged},
    {"respool.gone", Kind::SessionGone},
    {"respool.lost", Kind::Lost},
    {"respool.message.gone", Kind::MessageRemoved},
    {"respool.part.gone", Kind::PartRemoved},
    {"respool.prompt", Kind::Prompt},
    {"respool.replay", Kind::ReplayStep},
    {"respool.run.ended", Kind::RunEnded},
    {"respool.run.started", Kind::RunStarted},
    {"respool.run.stderr", Kind::RunStderr},
    {"respool.source", Kind::Source},
    {"respool.watch.connected", Kind::Passing},
    {"respool.watch.disconnected", Kind::Passing},
    {"server.connected", Kind::Passing},
    {"server.heartbeat", Kind::Passing},
    {"server.instance.disposed", Kind::Passing},
    {"session.agent.selected", Kind::Foreign},
    {"session.compacted", Kind::Compacted},
    {"session.created", Kind::SessionState},
    {"session.deleted", Kind::SessionRemoved},
    {"session.diff", Kind::Passing},
    {"session.error", Kind::SessionError},
    {"session.idle", Kind::SessionIdle},
    {"session.model.selected", Kind::Foreign},
    {"session.next.agent.switched", Kind::Passing},
    {"session.next.compaction.delta", Kind::Passing},
    {"session.next.compaction.ended", Kind::Foreign},
    {"session.next.compaction.started", Kind::Foreign},
    {"session.next.context.updated", Kind::Passing},
    {"session.next.model.switched", Kind::Passing},
    {"session.next.moved", Kind::Passing},
    {"session.next.prompt.admitted", Kind::Foreign},
    {"session.next.prompted", Kind::Foreign},
    {"session.next.reasoning.delta", Kind::Passing},
    {"session.next.reasoning.ended", Kind::Foreign},
    {"session.next.reasoning.started", Kind::Foreign},
    {"session.next.retried", Kind::Foreign},
    {"session.next.revert.cleared", Kind::Foreign},
    {"session.next.revert.committed", Kind::Foreign},
    {"session.next.revert.staged", Kind::Foreign},
    {"session.next.shell.ended", Kind::Foreign},
    {"session.next.shell.started", Kind::Foreign},
    {"session.next.step.ended", Kind::Foreign},
    {"session.next.step.failed", Kind::Foreign},
    {"session.next.step.started", Kind::Foreign},
    {"session.next.synthetic", Kind::Foreign},
    {"session.next.text.delta", Kind::Passing},
    {"session.next.text.ended", Kind::Foreign},
    {"session.next.text.started", Kind::Foreign},
    {"session.next.tool.called", Kind::Foreign},
    {"session.next.tool.failed", Kind::Foreign},
    {"session.next.tool.input.delta", Kind::Passing},
    {"session.next.tool.input.ended", Kind::Foreign},
    {"session.next.tool.input.started", Kind::Foreign},
    {"session.next.tool.progress", Kind::Passing},
    {"session.next.tool.success", Kind::Foreign},
    {"session.prompt.admitted", Kind::Foreign},
    {"session.prompt.promoted", Kind::Foreign},
    {"session.status", Kind::SessionStatus},
    {"session.step.ended", Kind::Foreign},
    {"session.step.started", Kind::Foreign},
    {"session.text.ended", Kind::Foreign},
    {"session.tool.called", Kind::Foreign},
    {"session.tool.failed", Kind::Foreign},
    {"session.tool.success", Kind::Foreign},
    {"session.updated", Kind::SessionState},
    {"step_finish", Kind::PartState},
    {"step_start", Kind::PartState},
    {"text", Kind::PartState},
    {"todo.updated", Kind::Todos},
    {"tool_use", Kind::PartState},
    {"tui.command.execute", Kind::Passing},
    {"tui.prompt.append", Kind::Passing},
    {"tui.session.select", Kind::Passing},
    {"tui.toast.show", Kind::Passing},
    {"vcs.branch.updated", Kind::Passing},
    {"workspace.failed", Kind::Passing},
    {"workspace.ready", Kind::Passing},
    {"workspace.status", Kind::Passing},
    {"worktree.failed", Kind::Passing},
    {"worktree.ready", Kind::Passing},
});

static_assert(std::ranges::is_sorted(kAliases, {}, &Alias::wire_type));

std::string_view without_schema_version(std::string_view wire_type) {
  const auto dot = wire_type.rfind('.');
  if (dot == std::string_view::npos || dot + 1 == wire_type.size()) return wire_type;
  const bool digits = std::all_of(wire_type.begin() + static_cast<std::ptrdiff_t>(dot) + 1,
                                  wire_type.end(),
                                  [](char c) { return c >= '0' && c <= '9'; });
  return digits ? wire_type.substr(0, dot) : wire_type;
}

}  // namespace

Kind kind_of(std::string_view wire_type) {
  const std::string_view name = without_schema_version(wire_type);
  const auto* found = std::ranges::lower_bound(kAliases, name, {}, &Alias::wire_type);
  return found != kAliases.end() && found->wire_type == name ? found->kind : Kind::Unknown;
}

bool is_known_member(std::string_view name) {
  constexpr auto kKnown = std::to_array<std::string_view>({"project", "session_diff", "todo"});
  return std::ranges::find(kKnown, name) != kKnown.end();
}

std::string_view promised_part_type(std::string_view run_line_type) {
  constexpr auto kPromises = std::to_array<std::pair<std::string_view, std::string_view>>({
      {"reasoning", "reasoning"},
      {"step_finish", "step-finish"},
      {"step_start", "step-start"},
      {"text", "text"},
      {"tool_use", "tool"},
  });
  for (const auto& [line_type, part_type] : kPromises) {
    if (line_type == run_line_type) return part_type;
  }
  return {};
}

}  // namespace respool
