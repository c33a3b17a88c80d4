#include "schema/opencode/shape.h"

namespace respool {

std::string_view shape_name(Shape shape) {
  switch (shape) {
    case Shape::Unknown:
      return "unknown";
    case Shape::Malformed:
      return "malformed";
    case Shape::RunLine:
      return "run";
    case Shape::BusEvent:
      return "event";
    case Shape::GlobalEvent:
      return "global-event";
    case Shape::SyncFrame:
      return "sync-frame";
    case Shape::ApiEvent:
      return "api-event";
    case Shape::SyncRow:
      return "sync-history";
    case Shape::ExportSession:
      return "export-session";
    case Shape::ExportMessage:
      return "export-message";
    case Shape::ExportPart:
      return "export-part";
    case Shape::ExportOther:
      return "export-other";
    case Shape::Talk:
      return "talk";
    case Shape::Note:
      return "note";
    case Shape::DatabaseRow:
      return "database";
    case Shape::OutputFile:
      return "output-file";
  }
  return "unknown";
}

}  // namespace respool
