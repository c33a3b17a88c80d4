#pragma once

#include <string_view>

#include "schema/codec.h"
#include "schema/digest.h"
#include "schema/ids.h"

// Per stream h(n) = SHA-256(h(n-1) | hashed header | commitment), with
// commitment = SHA-256(salt | SHA-256(raw)). schema/FORMAT.md gives the bytes.
namespace respool {

// h(0): binds the chain to the stream's name and origin.
Sha256 chain_start(const StreamName& stream, std::string_view origin_id);

Sha256 commitment_of(std::string_view salt, const Sha256& raw_digest);

// h(n). Of the header it hashes what travels with the event: shape, wire type, times, host, run,
// as_of.
Sha256 chain_next(std::string_view previous,
                  const fb::EventHeaderT& header,
                  const Sha256& commitment);

}  // namespace respool
