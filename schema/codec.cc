#include "schema/codec.h"

#include <cstring>

#include <fmt/format.h>

#include "schema/bundle_generated.h"

namespace respool {
namespace {

// FlatBuffers wants its buffers aligned; rows from storage need not be.
std::string_view aligned(std::string_view bytes, std::string& scratch) {
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % 8 == 0) return bytes;
  scratch.assign(bytes);
  return scratch;
}

const std::uint8_t* raw(std::string_view bytes) {
  return reinterpret_cast<const std::uint8_t*>(bytes.data());
}

Error broken_row(std::string_view place) {
  return Error(ErrorCode::Corruption,
               fmt::format("{}: the stored row is damaged", place),
               "run \"respool verify\"");
}

}  // namespace

template <class NativeRow>
std::string encode(const NativeRow& row) {
  thread_local flatbuffers::FlatBufferBuilder builder(1024);
  builder.Clear();
  builder.Finish(NativeRow::TableType::Pack(builder, &row));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

template <class NativeRow>
Result<NativeRow> decode(std::string_view bytes, std::string_view place) {
  std::string scratch;
  const std::string_view buffer = aligned(bytes, scratch);
  flatbuffers::Verifier verifier(raw(buffer), buffer.size());
  if (!verifier.VerifyBuffer<typename NativeRow::TableType>(nullptr)) return broken_row(place);
  NativeRow row;
  flatbuffers::GetRoot<typename NativeRow::TableType>(buffer.data())->UnPackTo(&row);
  return row;
}

#define RESPOOL_ROW(Row)                       \
  template std::string encode(const fb::Row&); \
  template Result<fb::Row> decode(std::string_view, std::string_view)

RESPOOL_ROW(EventHeaderT);
RESPOOL_ROW(StoreMetaT);
RESPOOL_ROW(StreamHeadT);
RESPOOL_ROW(RecordingT);
RESPOOL_ROW(CheckpointT);
RESPOOL_ROW(SpoolCursorT);
RESPOOL_ROW(DatabaseCursorT);
RESPOOL_ROW(SessionRowT);
RESPOOL_ROW(MessageRowT);
RESPOOL_ROW(PartRowT);
RESPOOL_ROW(AskRowT);
RESPOOL_ROW(CommandRowT);
RESPOOL_ROW(ErrorRowT);
RESPOOL_ROW(PromptRowT);
RESPOOL_ROW(RunRowT);
RESPOOL_ROW(BindingRowT);
RESPOOL_ROW(ReplayRowT);
RESPOOL_ROW(OutputFileRowT);
RESPOOL_ROW(ProblemRowT);
RESPOOL_ROW(SequenceRowT);
RESPOOL_ROW(UsageRowT);
RESPOOL_ROW(StepRowT);
RESPOOL_ROW(CopyMemberT);
RESPOOL_ROW(TotalsRowT);
RESPOOL_ROW(BundleHeadT);
RESPOOL_ROW(BundleStreamT);

#undef RESPOOL_ROW

}  // namespace respool
