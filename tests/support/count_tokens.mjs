// count_tokens.mjs FOLDER: counts the tokens of texts with the tokenizers below FOLDER/node_modules.
// Stdin: texts, each as its size in bytes, "\n", its bytes. Stdout: a line for each, with the counts
// of cl100k_base, o200k_base and Claude's tokenizer of 2023. Text that looks like a special token
// counts as text.
import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const require = createRequire(join(process.argv[2], 'package.json'))
const ordinary = { disallowedSpecial: new Set() }
const cl100k = require('gpt-tokenizer/encoding/cl100k_base')
const o200k = require('gpt-tokenizer/encoding/o200k_base')
const { Tiktoken } = require('tiktoken/lite')
const ranks = require('@anthropic-ai/tokenizer/claude.json')
const claude = new Tiktoken(ranks.bpe_ranks, ranks.special_tokens, ranks.pat_str)

const input = readFileSync(0)
const lines = []
for (let at = 0; at < input.length;) {
  const end = input.indexOf(10, at)
  const size = Number(input.toString('latin1', at, end))
  const text = input.toString('utf8', end + 1, end + 1 + size)
  at = end + 1 + size
  lines.push([
    cl100k.countTokens(text, ordinary),
    o200k.countTokens(text, ordinary),
    claude.encode(text.normalize('NFKC'), [], []).length,
  ].join(' '))
}
process.stdout.write(lines.map((line) => line + '\n').join(''))
