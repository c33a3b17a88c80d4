// A model that answers from a script, for tests that run the real OpenCode CLI.
//
//   node server.mjs --port 0 --scenario scenario.json --log requests.ndjson
//
// It serves OpenAI chat completions (streaming only) on 127.0.0.1. README.md says what a scenario may hold.
import { appendFileSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const kChunkChars = 64;
const kArgumentChunkChars = 4096;
const kLoggedChars = 20000;

const { values: flags } = parseArgs({
  options: { port: { type: 'string', default: '0' }, scenario: { type: 'string' }, log: { type: 'string' } },
});
if (!flags.scenario) throw new Error('--scenario FILE is needed');

const scenario = JSON.parse(readFileSync(flags.scenario, 'utf8'));
const usesOfRule = new Map(); // 'session rule' -> how often that rule answered that session
let requestCount = 0;

// --- What a request asks ----------------------------------------------------------------------------------------

/** The text of a chat message: its content is a string or a list of parts. */
function textOf(message) {
  const content = message?.content ?? '';
  if (typeof content === 'string') return content;
  return content.map((part) => part.text ?? '').join('\n');
}

/** Everything the rules look at, gathered once per request. */
function understand(body, headers) {
  const messages = body.messages ?? [];
  const tools = (body.tools ?? []).map((tool) => tool.function.name);
  const system = messages.filter((message) => message.role === 'system').map(textOf).join('\n');
  const lastUserAt = messages.findLastIndex((message) => message.role === 'user');
  const prompt = textOf(messages[lastUserAt]);
  return {
    kind: kindOf(system, prompt, tools),
    session: headers['x-session-id'] ?? '',
    model: body.model,
    messages,
    tools,
    prompt,
    anyText: messages.filter((message) => message.role !== 'system').map(textOf).join('\n'),
    // OpenCode's system prompt names the directory of the session.
    cwd: /Working directory: (.+)/.exec(system)?.[1].trim() ?? '.',
    // The place in the turn follows from the history, so that sessions may run side by side and be resumed.
    step: messages.slice(lastUserAt + 1).filter((message) => message.role === 'assistant').length,
  };
}

/** OpenCode also asks for titles and, when it compacts a context, for summaries; neither offers tools. */
function kindOf(system, prompt, tools) {
  if (tools.length > 0) return 'chat';
  if (system.startsWith('You are a title generator')) return 'title';
  if (prompt.includes('Create a new anchored summary') || prompt.includes('Update the anchored summary')) return 'summary';
  return 'chat';
}

// --- What to answer ---------------------------------------------------------------------------------------------

function matches(when, request) {
  return (
    (when.prompt === undefined || request.prompt.includes(when.prompt)) &&
    (when.any_text === undefined || request.anyText.includes(when.any_text)) &&
    (when.has_tool === undefined || request.tools.includes(when.has_tool)) &&
    (when.lacks_tool === undefined || !request.tools.includes(when.lacks_tool))
  );
}

/** The first rule that matches and is not used up; the last of its steps answers whatever comes after it. */
function choose(request) {
  if (request.kind !== 'chat') return { via: request.kind, step: scenario[request.kind] };
  for (const rule of scenario.rules) {
    if (!matches(rule.when ?? {}, request)) continue;
    const key = `${request.session} ${rule.name}`;
    const uses = usesOfRule.get(key) ?? 0;
    if (uses >= (rule.times ?? Infinity)) continue;
    usesOfRule.set(key, uses + 1);
    const index = Math.min(request.step, rule.steps.length - 1);
    return { via: `${rule.name}[${index}]`, step: rule.steps[index] };
  }
  return { via: 'fallback', step: scenario.fallback };
}

/** Writes out {"repeat", "bytes"} and {{cwd}}, wherever in a step they stand. */
function written(value, request) {
  if (typeof value === 'string') return value.replaceAll('{{cwd}}', () => request.cwd);
  if (Array.isArray(value)) return value.map((item) => written(item, request));
  if (value === null || typeof value !== 'object') return value;
  if (value.repeat !== undefined) return value.repeat.repeat(Math.ceil(value.bytes / Buffer.byteLength(value.repeat)));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, written(item, request)]));
}

/** Cuts between code points: a surrogate pair must not be torn, and one that was alone stays alone. */
function* piecesOf(text, chars) {
  const points = Array.from(text);
  for (let at = 0; at < points.length; at += chars) yield points.slice(at, at + chars).join('');
}

/** The deltas of an answer, in the order in which a model sends them. */
function* deltasOf(step, requestNumber) {
  const chars = step.chunk_chars ?? kChunkChars;
  yield { role: 'assistant', content: '' };
  for (const piece of piecesOf(step.reasoning ?? '', chars)) yield { reasoning_content: piece };
  for (const piece of piecesOf(step.text ?? '', chars)) yield { content: piece };
  for (const [index, tool] of (step.tools ?? []).entries()) {
    const id = tool.id ?? `call_${requestNumber}_${index}`;
    yield { tool_calls: [{ index, id, type: 'function', function: { name: tool.name, arguments: '' } }] };
    const args = tool.raw_args ?? JSON.stringify(tool.args ?? {});
    for (const piece of piecesOf(args, kArgumentChunkChars)) {
      yield { tool_calls: [{ index, function: { arguments: piece } }] };
    }
  }
}

function usageOf({ prompt = 10, completion = 2, cached = 0, reasoning = 0 } = {}) {
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

// --- Sending it -------------------------------------------------------------------------------------------------

function sendJson(response, status, value, headers = {}) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
}

async function stream(response, step, request, requestNumber) {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  const envelope = { id: `chatcmpl-${requestNumber}`, object: 'chat.completion.chunk', created: 0, model: request.model };
  const send = (fields) => response.write(`data: ${JSON.stringify({ ...envelope, ...fields })}\n\n`);

  let sentCount = 0;
  for (const delta of deltasOf(step, requestNumber)) {
    if (response.destroyed) return;
    send({ choices: [{ index: 0, delta, finish_reason: null }] });
    sentCount += 1;
    if (sentCount === step.cut_after_chunks) {
      await pause(50); // so that what was sent leaves before the connection breaks
      response.destroy();
      return;
    }
    if (step.chunk_delay_ms) await pause(step.chunk_delay_ms);
  }
  if (step.hang) return; // The stream stays open until the client goes away.

  const reason = step.finish ?? (step.tools ? 'tool_calls' : 'stop');
  send({ choices: [{ index: 0, delta: {}, finish_reason: reason }] });
  if (step.usage !== false) send({ choices: [], usage: usageOf(step.usage) });
  response.end('data: [DONE]\n\n');
}

// --- The log ----------------------------------------------------------------------------------------------------

function clipped(value) {
  if (typeof value === 'string') {
    return value.length <= kLoggedChars ? value : `${value.slice(0, kLoggedChars)}... (${value.length} characters)`;
  }
  if (Array.isArray(value)) return value.map(clipped);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, clipped(item)]));
}

/** One line when a request comes in, so that an answer that never ends is logged too. */
function log(request, via, headers, requestNumber) {
  if (!flags.log) return;
  const entry = {
    n: requestNumber,
    time_ms: Date.now(),
    kind: request.kind,
    via,
    session: request.session,
    parent_session: headers['x-parent-session-id'],
    step: request.step,
    cwd: request.cwd,
    tools: request.tools,
    messages: clipped(request.messages),
  };
  appendFileSync(flags.log, `${JSON.stringify(entry)}\n`);
}

// --- The server -------------------------------------------------------------------------------------------------

async function answer(message, response) {
  if (message.method !== 'POST' || message.url !== '/v1/chat/completions') {
    sendJson(response, 404, { error: { message: `no ${message.method} ${message.url} here` } });
    return;
  }
  let raw = '';
  for await (const piece of message.setEncoding('utf8')) raw += piece;

  requestCount += 1;
  const requestNumber = requestCount;
  const request = understand(JSON.parse(raw), message.headers);
  const chosen = choose(request);
  log(request, chosen.via, message.headers, requestNumber);

  const step = written(chosen.step, request);
  if (step.delay_ms) await pause(step.delay_ms);
  if (step.http_error) {
    const { status, headers, message: text } = step.http_error;
    sendJson(response, status, { error: { message: text, type: 'scripted', code: null } }, headers);
    return;
  }
  await stream(response, step, request, requestNumber);
}

const server = createServer((message, response) => {
  answer(message, response).catch((error) => {
    console.error(error);
    response.destroy();
  });
});
server.listen(Number(flags.port), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}/v1`);
});
