#include "engine/storage/keys.h"

int main() {
  return respool::keys::event(
             respool::SessionNumber{1}, respool::OriginNumber{2}, respool::EventNumber{3})
      .empty();
}
