// What recording costs a turn of the real OpenCode, against the scripted model:
//   node bench/plugin/run_cost.mjs OPENCODE RESPOOL [RUNS]
// prints, as one JSON line, the median CPU seconds (user and system, children included) of
// `opencode run` without and with respool's plugin, run in turns, their ratio, and the largest
// resident set, in KiB, of any process of ours in a `respool run` of the same turn.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

const [opencode, respool, runs = "5"] = process.argv.slice(2);
const support = path.join(import.meta.dirname, "../../tests/support/scripted_model");
const home = fs.mkdtempSync(path.join(os.tmpdir(), "respool-run-cost-"));

const model = spawn("node", [`${support}/server.mjs`, "--port", "0", "--scenario", `${support}/scenario.json`]);
const url = await new Promise((found) =>
  model.stdout.on("data", (data) => found(/http\S+/.exec(String(data))[0])));

const models = { "scripted-1": { name: "Scripted 1", limit: { context: 100000, output: 8000 }, tool_call: true } };
const provider = { scripted: { npm: "@ai-sdk/openai-compatible", options: { baseURL: url, apiKey: "local" }, models } };
const env = {
  HOME: home,
  PATH: `${path.dirname(opencode)}:${process.env.PATH}`,
  OPENCODE_DISABLE_MODELS_FETCH: "1",
  OPENCODE_DISABLE_AUTOUPDATE: "1",
  OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
  OPENCODE_CONFIG_CONTENT: JSON.stringify({ provider, model: "scripted/scripted-1", small_model: "scripted/scripted-1" }),
};
// OpenCode installs packages for plugins at its first start; that is not what is measured.
const config = path.join(home, ".config/opencode");
fs.mkdirSync(path.join(config, "node_modules"), { recursive: true });
fs.writeFileSync(path.join(config, "package.json"), "{}");
const lock = { lockfileVersion: 3, packages: { "": { dependencies: { "@opencode-ai/plugin": "*" } } } };
fs.writeFileSync(path.join(config, "package-lock.json"), JSON.stringify(lock));

function cpuSeconds() {
  const timed = "TIMEFORMAT='%U %S'; time opencode run --format json --title t >/dev/null 2>&1";
  const run = spawnSync("bash", ["-c", timed], { env, cwd: home, input: "many steps", encoding: "utf8" });
  const [user, system] = run.stderr.trim().split(" ").map(Number);
  return user + system;
}
const plugin = (action) => execFileSync(respool, ["plugin", action, "--quiet"], { env });
const median = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)];

const without = [];
const withPlugin = [];
cpuSeconds(); // the first start makes the database
for (let run = 0; run < Number(runs); ++run) {
  without.push(cpuSeconds());
  plugin("install");
  withPlugin.push(cpuSeconds());
  plugin("remove");
}

// The largest of our processes while the turn runs, by its high-water mark.
let peak = 0;
const turn = spawn(respool, ["run", "--json"], { env, cwd: home, stdio: ["pipe", "ignore", "ignore"] });
turn.stdin.end("many steps");
const watch = setInterval(() => {
  for (const pid of fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      if (fs.realpathSync(`/proc/${pid}/exe`) !== fs.realpathSync(respool)) continue;
      const status = fs.readFileSync(`/proc/${pid}/status`, "utf8");
      peak = Math.max(peak, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0));
    } catch {
      // It ended meanwhile.
    }
  }
}, 5);
await new Promise((ended) => turn.on("exit", ended));
clearInterval(watch);
model.kill();
fs.rmSync(home, { recursive: true, force: true });

const result = { runs: Number(runs), without: median(without), with: median(withPlugin) };
console.log(JSON.stringify({ ...result, ratio: result.with / result.without, respool_peak_kib: peak }));
