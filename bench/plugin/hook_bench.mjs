// What the OpenCode plugin costs OpenCode: the time of one call of its event hook.
//
//   node hook_bench.mjs EVENTS.sse
//
// Feeds it 20,000 recorded events, the file's over and over, and prints microseconds as one line of
// JSON.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";

const CALLS = 20_000;
const PREFIX = "data: ";
const source = new URL("../../ingest/opencode/plugin/respool.js", import.meta.url);

const events = fs
  .readFileSync(process.argv[2], "utf8")
  .split("\n")
  .filter((line) => line.startsWith(PREFIX))
  .map((line) => JSON.parse(line.slice(PREFIX.length)));

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "respool-hook-bench-"));
try {
  const values = {
    "@SPOOL@": path.join(folder, "spool"),
    "@FALLBACK@": path.join(folder, "fallback"),
    "@EXCLUDE@": [],
    "@HOST@": "bench",
    "@PAUSE@": path.join(folder, "paused"),
  };
  const plugin = path.join(folder, "respool.mjs");
  const filled = fs
    .readFileSync(source, "utf8")
    .replace(/"(@[A-Z]+@)"/g, (_, name) => JSON.stringify(values[name]));
  fs.writeFileSync(plugin, filled);
  delete process.env.RESPOOL_CAPTURE;
  const { Respool } = await import(plugin);
  const hooks = await Respool({ directory: folder });

  const micros = [];
  for (let call = 0; call < CALLS; call++) {
    const event = events[call % events.length];
    const begin = process.hrtime.bigint();
    hooks.event({ event }); // OpenCode does not wait for it either
    micros.push(Number(process.hrtime.bigint() - begin) / 1000);
    // OpenCode's loop turns between events, so that no garbage of promises piles up here either.
    if (call % 64 === 0) await new Promise(setImmediate);
  }
  await hooks.dispose();

  const [name] = fs.readdirSync(values["@SPOOL@"]);
  const bytes = fs.statSync(path.join(values["@SPOOL@"], name)).size;
  micros.sort((a, b) => a - b);
  const at = (share) => Math.round(micros[Math.floor(share * (CALLS - 1))] * 10) / 10;
  console.log(JSON.stringify({ calls: CALLS, bytes, p50: at(0.5), p99: at(0.99), max: at(1) }));
} finally {
  fs.rmSync(folder, { recursive: true, force: true });
}
