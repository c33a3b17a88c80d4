// Tests of the OpenCode plugin, outside OpenCode. Each case runs in a process of its own: the
// plugin keeps one recording a process, and ends it when the process exits.
//
//   node plugin_test.mjs            all cases
//   node plugin_test.mjs CASE DIR   what one case does inside its process; checks follow outside

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const source = new URL("../../../ingest/opencode/plugin/respool.js", import.meta.url);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const MIB = 2 ** 20;
const RETRY_MS = 600; // a bit more than the plugin waits before it tries a folder again

const noise = { id: "evt_0", type: "plugin.added", properties: { id: "p" } };
const text = (id, delta = "é\u2028\ud83d\u0000") => ({
  id: `evt_${id}`,
  type: "message.part.delta",
  properties: { sessionID: "ses_1", delta },
});

// The folders of a case below `dir`.
function places(dir) {
  return {
    spool: path.join(dir, "blocked", "spool"),
    fallback: path.join(dir, "fallback"),
    pause: path.join(dir, "paused"),
    work: path.join(dir, "work"),
    secret: path.join(dir, "secret"),
  };
}

async function load(dir, fallback = places(dir).fallback) {
  const at = places(dir);
  const values = {
    "@SPOOL@": at.spool,
    "@FALLBACK@": fallback,
    "@EXCLUDE@": [at.secret],
    "@HOST@": 'a "host"',
    "@PAUSE@": at.pause,
  };
  const plugin = path.join(dir, "respool.mjs");
  const filled = fs
    .readFileSync(source, "utf8")
    .replace(/"(@[A-Z]+@)"/g, (_, name) => JSON.stringify(values[name]));
  fs.writeFileSync(plugin, filled);
  return (await import(plugin)).Respool;
}

// A regular file where a folder should be stops everyone, root too.
const block = (dir) => fs.writeFileSync(path.join(dir, "blocked"), "");
const unblock = (dir) => fs.unlinkSync(path.join(dir, "blocked"));

function recordings(folder) {
  if (!fs.existsSync(folder)) return [];
  return fs
    .readdirSync(folder)
    .sort()
    .map((name) => {
      const lines = fs.readFileSync(path.join(folder, name), "utf8").split("\n");
      assert.equal(lines.pop(), "", "a recording ends with a whole line");
      const objects = lines.map((line) => JSON.parse(line));
      const ids = objects.map((object) => object.id).filter((id) => id?.startsWith("evt_"));
      return { name, lines, header: objects[0], objects, ids };
    });
}

function identity(pid) {
  if (!fs.existsSync("/proc/self/stat")) return `${pid}\\.0\\.none`;
  const boot = fs.readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  const space = fs.readlinkSync("/proc/self/ns/pid").replace(/\D/g, "");
  return `${pid}\\.[1-9][0-9]*\\.${boot}-${space}`;
}

const cases = {
  "header, name, order and exit": {
    async act(dir) {
      const hooks = await (await load(dir))({ directory: places(dir).work });
      await hooks.event({ event: noise });
      assert.deepEqual(recordings(places(dir).spool), [], "noise alone makes no file");
      hooks.event({ event: text(1) });
      const [open] = recordings(places(dir).spool);
      assert.match(open.name, /\.open$/);
      assert.deepEqual(open.ids, ["evt_0", "evt_1"], "with the kernel before the hook returns");
      if (fs.existsSync("/proc/self/stat")) {
        const stat = fs.readFileSync("/proc/self/stat", "latin1").replace(/^.*\) /s, "");
        assert.equal(open.name.split(".")[2], stat.split(" ")[19]);
      }
      await sleep(1100);
      hooks.event({ event: text(2) });
      hooks.event({ event: text(3) });
    },
    check(dir, { pid, began }) {
      const { spool, fallback } = places(dir);
      const [file, ...others] = recordings(spool);
      assert.deepEqual(others, []);
      assert.match(file.name, new RegExp(`^plugin-[0-9a-f]{16}\\.${identity(pid)}\\.done$`));
      const { started_ms: started, ...header } = file.header;
      assert.deepEqual(header, {
        respool_recording: 1,
        id: file.name.split(".")[0],
        source: "plugin",
        host: 'a "host"',
        run: "run-7",
        directory: fs.realpathSync(dir),
        pid,
        writer: "respool-plugin 1",
      });
      assert(file.lines[0].startsWith('{"respool_recording":1,'));
      assert(started >= began && started <= Date.now());
      const at = (id) => file.objects.findIndex((object) => object.id === id);
      assert.deepEqual(file.ids, ["evt_0", "evt_1", "evt_2", "evt_3"]);
      assert.equal(file.lines[at("evt_1")], JSON.stringify(text(1)));
      assert.deepEqual(Object.keys(file.objects[1]), ["type", "timestamp"]);
      const clock = file.objects[at("evt_2") - 1];
      assert.equal(clock.type, "respool.clock");
      assert(clock.timestamp - file.objects[1].timestamp >= 1000);
      assert(file.lines.length < 4 + 2 + 3, "no clock line for every line");
      assert.equal(fs.statSync(path.join(spool, file.name)).mode & 0o777, 0o600);
      assert.equal(fs.statSync(spool).mode & 0o777, 0o700);
      assert(!fs.existsSync(fallback));
    },
    environment: { RESPOOL_RUN: "run-7" },
  },

  "a killed process keeps its lines": {
    async act(dir) {
      const hooks = await (await load(dir))({ directory: places(dir).work });
      hooks.event({ event: text(1) });
      process.kill(process.pid, "SIGKILL");
    },
    check(dir) {
      const [file] = recordings(places(dir).spool);
      assert.match(file.name, /\.open$/);
      assert.deepEqual(file.ids, ["evt_1"]);
      assert(!("run" in file.header));
    },
    signal: "SIGKILL",
  },

  "one recording for two instances; the last to go ends it": {
    async act(dir) {
      const { work, spool } = places(dir);
      const Respool = await load(dir);
      const one = await Respool({ directory: work });
      const two = await Respool({ directory: dir });
      one.event({ event: text(1) });
      two.event({ event: text(2) });
      await one.dispose();
      two.event({ event: text(3) });
      await two.dispose();
      two.event({ event: text(4) });
      const ended = recordings(spool);
      assert(ended.every((file) => file.name.endsWith(".done")));
      const three = await Respool({ directory: work });
      three.event({ event: noise });
      assert.equal(recordings(spool).length, ended.length);
      three.event({ event: text(5) });
      three.event({ event: text(6) });
    },
    check(dir) {
      // In the order of the ids; in a name the "." behind an id sorts after the "-" within one.
      const byId = new Map(recordings(places(dir).spool).map((file) => [file.header.id, file]));
      const order = [...byId.keys()].sort();
      assert.deepEqual(
        order.map((id) => byId.get(id).ids.join(" ")),
        ["evt_1 evt_2 evt_3", "evt_4", "evt_0 evt_5 evt_6"],
      );
      assert.deepEqual(order.slice(1), [`${order[0]}-0001`, `${order[0]}-0002`]);
      const files = [...byId.values()];
      assert(files.every((file) => file.name.endsWith(".done")));
    },
  },

  "capture is off": {
    async act(dir) {
      assert.deepEqual(await (await load(dir))({ directory: places(dir).work }), {});
    },
    check: (dir) => assert.deepEqual(recordings(places(dir).spool), []),
    environment: { RESPOOL_CAPTURE: "off" },
  },

  "a copy that was not installed records nothing": {
    async act() {
      const raw = encodeURIComponent(fs.readFileSync(source, "utf8"));
      const { Respool } = await import(`data:text/javascript,${raw}`);
      assert.deepEqual(await Respool({ directory: "/" }), {});
    },
    check: (dir) => assert.deepEqual(fs.readdirSync(dir).sort(), ["secret", "work"]),
  },

  "excluded directories": {
    async act(dir) {
      const { work, secret } = places(dir);
      fs.mkdirSync(path.join(secret, "..below"));
      fs.mkdirSync(`${secret}-not`);
      fs.symlinkSync(secret, path.join(work, "link"));
      const Respool = await load(dir);
      const below = path.join(secret, "..below");
      const gone = path.join(secret, "gone");
      const ways = [path.join(work, "link"), `${work}/../secret`];
      for (const directory of [secret, below, gone, ...ways, undefined])
        assert.deepEqual(await Respool({ directory }), {}, directory);
      assert("event" in (await Respool({ directory: `${secret}-not` })));
      assert("event" in (await Respool({ directory: dir })));
    },
    check: (dir) => assert.deepEqual(recordings(places(dir).spool), []),
  },

  "paused": {
    async act(dir) {
      const { work, pause } = places(dir);
      const hooks = await (await load(dir))({ directory: work });
      hooks.event({ event: text(1) });
      fs.writeFileSync(pause, "");
      hooks.event({ event: text(2) });
      fs.unlinkSync(pause);
      hooks.event({ event: text(3) });
    },
    check: (dir) => assert.deepEqual(recordings(places(dir).spool)[0].ids, ["evt_1", "evt_3"]),
  },

  "the other folder takes what the first does not": {
    async act(dir) {
      block(dir);
      const hooks = await (await load(dir))({ directory: places(dir).work });
      hooks.event({ event: text(1) });
    },
    check: (dir) => assert.deepEqual(recordings(places(dir).fallback)[0].ids, ["evt_1"]),
  },

  // A limit on the size of files fails a write in the middle of a line, as a full disk does.
  "a line that is cut short goes to another file whole": {
    async act(dir) {
      const hooks = await (await load(dir))({ directory: places(dir).work });
      hooks.event({ event: text(1) });
      hooks.event({ event: text(2, "x".repeat(700 * 1024)) });
      hooks.event({ event: text(3, "y".repeat(700 * 1024)) });
      hooks.event({ event: text(4) });
    },
    check(dir) {
      const { spool, fallback } = places(dir);
      assert.deepEqual(recordings(spool)[0].ids, ["evt_1", "evt_2"]);
      const [second] = recordings(fallback);
      assert.deepEqual(second.ids, ["evt_3", "evt_4"]);
      assert.match(second.header.id, /^plugin-[0-9a-f]{16}-0001$/);
      assert.equal(second.objects[1].type, "respool.clock");
      assert(recordings(spool)[0].name.endsWith(".done") && second.name.endsWith(".done"));
    },
    limit: 1024, // KiB
  },

  "nothing can be written: silent, and exit as ever": {
    async act(dir) {
      block(dir);
      const hooks = await (await load(dir, path.join(dir, "blocked", "too")))({ directory: dir });
      const events = [noise, text(1), {}, null, { type: 5 }, text(2)];
      for (const event of events) await hooks.event({ event });
    },
    check: (dir) => assert.equal(fs.readFileSync(path.join(dir, "blocked"), "utf8"), ""),
  },

  "memory, then a note of what is lost": {
    async act(dir) {
      block(dir);
      const hooks = await (await load(dir, path.join(dir, "blocked", "too")))({ directory: dir });
      hooks.event({ event: noise });
      for (let n = 1; n <= 66; n++) hooks.event({ event: text(n, "z".repeat(MIB)) });
      unblock(dir);
      await sleep(RETRY_MS);
      hooks.event({ event: text("last") });
    },
    check(dir) {
      const [file] = recordings(places(dir).spool);
      assert.equal(file.ids.length, 1 + 63 + 1);
      const [note, last] = file.objects.slice(-2);
      assert.equal(last.id, "evt_last");
      const size = JSON.stringify(text(66, "z".repeat(MIB))).length;
      assert(Math.abs(note.timestamp - Date.now()) < 60_000);
      const { timestamp } = note;
      assert.deepEqual(note, { type: "respool.lost", timestamp, records: 3, bytes: 3 * size });
    },
  },

  "what waits is written at exit": {
    async act(dir) {
      block(dir);
      const hooks = await (await load(dir, path.join(dir, "blocked", "too")))({ directory: dir });
      hooks.event({ event: text(1) });
      unblock(dir);
    },
    check: (dir) => assert.deepEqual(recordings(places(dir).spool)[0].ids, ["evt_1"]),
  },

  "what is held before the first session is bounded": {
    async act(dir) {
      const hooks = await (await load(dir))({ directory: dir });
      const properties = { file: "f".repeat(1000) };
      for (let n = 0; n < 1000; n++)
        hooks.event({ event: { id: `evt_n${n}`, type: "file.watcher.updated", properties } });
      hooks.event({ event: text(1) });
    },
    check(dir) {
      const { ids } = recordings(places(dir).spool)[0];
      assert(ids.length > 200 && ids.length < 257, `${ids.length}`);
      assert.deepEqual(ids.slice(-2), ["evt_n999", "evt_1"]);
    },
  },
};

async function runCase(name) {
  const { act, check, environment = {}, signal = null, limit } = cases[name];
  const dir = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), "respool-plugin-test-"));
  try {
    fs.mkdirSync(places(dir).work);
    fs.mkdirSync(places(dir).secret);
    const { RESPOOL_RUN, RESPOOL_CAPTURE, ...inherited } = process.env;
    const began = Date.now();
    // A process above its limit gets a signal first; ignored, the write fails.
    const shell = `trap '' XFSZ; ${limit ? `ulimit -f ${limit};` : ""} exec "$0" "$@"`;
    const ended = spawnSync(
      "bash",
      ["-c", shell, process.execPath, fileURLToPath(import.meta.url), name, dir],
      { cwd: dir, env: { ...inherited, ...environment }, encoding: "utf8" },
    );
    assert.equal(ended.stderr + ended.stdout, "", "the plugin prints nothing");
    assert.equal(ended.signal, signal);
    if (!signal) assert.equal(ended.status, 0);
    await check(dir, { pid: ended.pid, began });
  } finally {
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

const [name, dir] = process.argv.slice(2);
if (name) {
  await cases[name].act(dir);
} else {
  let failures = 0;
  for (const each of Object.keys(cases)) {
    try {
      await runCase(each);
      console.log(`ok    ${each}`);
    } catch (error) {
      failures += 1;
      console.log(`FAIL  ${each}\n${error.stack}`);
    }
  }
  process.exitCode = failures === 0 ? 0 : 1;
}
