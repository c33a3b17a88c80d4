// respool's recorder inside OpenCode: appends every bus event of this process to a recording in
// the spool. It fails silent: whatever goes wrong here, OpenCode does not notice.

import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";

// `respool plugin install` fills these in; an array takes the place of EXCLUDE.
const SPOOL = "@SPOOL@";
const FALLBACK = "@FALLBACK@"; // where the disk of the first is full
const EXCLUDE = "@EXCLUDE@"; // directories whose instances are not captured
const HOST = "@HOST@";
const PAUSE = "@PAUSE@"; // while this file exists nothing is captured
// A copy that was not installed has no absolute path in it and records nothing.
const FOLDERS = [...new Set([SPOOL, FALLBACK])].filter((folder) => path.isAbsolute(folder));

// Events carry no time of receipt: a clock line goes before the first line of each second.
const CLOCK_MS = 1000;
// While nothing can be written, this often it is tried again.
const RETRY_MS = 500;
// What waits in memory when no folder takes it; what comes beyond that is counted as lost.
const MEMORY_BYTES = 64 * 2 ** 20;
// What is held until the first event of a session. It tells of no session, so the oldest may go.
const HELD_BYTES = 256 * 2 ** 10;

// The file name says who writes it: process numbers are used again, so the start time and the boot
// go with them. All or nothing: half of it would make a living writer look dead.
function writerName() {
  try {
    const stat = fs.readFileSync("/proc/self/stat", "latin1");
    // The second field is a name that may hold anything, in parentheses; the third follows it.
    const start = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
    const boot = fs.readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
    const space = /\d+/.exec(fs.readlinkSync("/proc/self/ns/pid"))[0];
    return `${process.pid}.${start}.${boot}-${space}`;
  } catch {
    return `${process.pid}.0.none`;
  }
}

const lineOf = (object) => Buffer.from(JSON.stringify(object) + "\n");
const clockLine = (at) => lineOf({ type: "respool.clock", timestamp: at });

function headerLine(id) {
  const run = process.env.RESPOOL_RUN || undefined; // `respool run` started this process
  const from = { source: "plugin", host: HOST, run, directory: process.cwd() };
  const by = { started_ms: Date.now(), pid: process.pid, writer: "respool-plugin 1" };
  return lineOf({ respool_recording: 1, id, ...from, ...by });
}

function writeAll(file, bytes) {
  for (let done = 0; done < bytes.length; ) done += fs.writeSync(file, bytes, done);
  return true;
}

function quietly(action) {
  try {
    return action();
  } catch {
    return undefined;
  }
}

// One recording. Each line is with the kernel before take() returns, so that a killed OpenCode
// loses nothing.
class Recording {
  id = `plugin-${randomBytes(8).toString("hex")}`;
  writer = writerName();
  files = 0; // how many were begun
  file = -1;
  begun = false; // an event of a session came
  waiting = []; // {line, at}, in the order they came
  waitingBytes = 0;
  lost = { records: 0, bytes: 0 };
  failedAt = -Infinity;

  take(line, at, namesSession) {
    const behind = this.lost.records > 0 && !this.drain(at);
    this.waiting.push({ line, at });
    this.waitingBytes += line.length;
    this.begun ||= namesSession;
    if (!this.begun) {
      while (this.waitingBytes > HELD_BYTES) this.waitingBytes -= this.waiting.shift().line.length;
    } else if (behind || (!this.drain(at) && this.waitingBytes > MEMORY_BYTES)) {
      this.waitingBytes -= this.waiting.pop().line.length;
      this.lost.records += 1;
      this.lost.bytes += line.length - 1;
    }
  }

  // Writes what waits, then what was lost; true where nothing is left to write.
  drain(now) {
    if (Math.abs(now - this.failedAt) < RETRY_MS) return false;
    let done = 0;
    for (; done < this.waiting.length; done++) {
      const { line, at } = this.waiting[done];
      if (!this.write(line, at)) break;
      this.waitingBytes -= line.length;
    }
    this.waiting.splice(0, done);
    const note = { type: "respool.lost", timestamp: now, ...this.lost };
    if (this.waiting.length === 0 && this.lost.records > 0 && this.write(lineOf(note), now))
      this.lost = { records: 0, bytes: 0 };
    const whole = this.waiting.length === 0 && this.lost.records === 0;
    this.failedAt = whole ? -Infinity : now;
    return whole;
  }

  write(line, at) {
    if (this.file >= 0 && this.append(line, at)) return true;
    const current = this.file >= 0 ? path.dirname(this.name) : "";
    return FOLDERS.some((folder) => folder !== current && this.open(folder, line, at));
  }

  append(line, at) {
    const tick = at - this.clock >= CLOCK_MS || at < this.clock;
    const bytes = tick ? Buffer.concat([clockLine(at), line]) : line;
    if (quietly(() => writeAll(this.file, bytes))) {
      this.size += bytes.length;
      if (tick) this.clock = at;
      return true;
    }
    // Whole lines only: what a full disk took of one is cut off again. Where that fails too, no
    // line may follow it in this file.
    if (!quietly(() => fs.ftruncateSync(this.file, this.size) ?? true)) this.close(false);
    return false;
  }

  // Begins a file together with its first line, so that none is left that says nothing. A file that
  // continues the recording has a name that sorts behind the one before.
  open(folder, line, at) {
    const id = this.files === 0 ? this.id : `${this.id}-${String(this.files).padStart(4, "0")}`;
    const name = path.join(folder, `${id}.${this.writer}`);
    let file = -1;
    try {
      const bytes = Buffer.concat([headerLine(id), clockLine(at), line]);
      fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
      file = fs.openSync(`${name}.open`, "ax", 0o600);
      writeAll(file, bytes);
      this.close(true);
      Object.assign(this, { file, name, size: bytes.length, clock: at, files: this.files + 1 });
      return true;
    } catch {
      if (file >= 0) quietly(() => (fs.closeSync(file), fs.unlinkSync(`${name}.open`)));
      return false;
    }
  }

  close(done) {
    if (this.file < 0) return;
    quietly(() => fs.closeSync(this.file));
    this.file = -1;
    if (done) quietly(() => fs.renameSync(`${this.name}.open`, `${this.name}.done`));
  }

  // Events that come after this, of an instance opened later, continue the recording.
  finish() {
    this.failedAt = -Infinity;
    if (this.begun) this.drain(Date.now());
    this.begun &&= this.waiting.length > 0;
    this.close(true);
  }
}

function isExcluded(directory) {
  const real = (name) => quietly(() => fs.realpathSync(name)) ?? path.resolve(name);
  return EXCLUDE.some((name) => {
    const way = path.relative(real(name), real(directory));
    return way !== ".." && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way);
  });
}

// OpenCode calls Respool once for each directory it works in; all of them share one recording.
let recording;
let instances = 0;

function take(event) {
  if (fs.existsSync(PAUSE)) return;
  const namesSession = event.type.startsWith("session.") || !!event.properties?.sessionID;
  recording.take(lineOf(event), Date.now(), namesSession);
  // A turn that is cut off at the end tells so after the last instance is disposed.
  if (instances === 0) recording.finish();
}

// The terminal interface runs this in a worker, which ends without an exit event.
async function dispose() {
  instances -= 1;
  if (instances === 0) quietly(() => recording.finish());
}

export const Respool = async (context) => {
  const off = process.env.RESPOOL_CAPTURE === "off" || FOLDERS.length === 0;
  if (off || quietly(() => isExcluded(context.directory)) !== false) return {};
  if (!recording) process.on("exit", () => quietly(() => recording.finish()));
  recording ??= new Recording();
  instances += 1;
  return { event: async ({ event }) => quietly(() => take(event)), dispose };
};
