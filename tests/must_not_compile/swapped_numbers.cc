// A session's number is no event's number.
#include "engine/storage/keys.h"

int main() {
  return respool::keys::event(
             respool::EventNumber{1}, respool::OriginNumber{2}, respool::SessionNumber{3})
      .empty();
}
