import * as fc from "fast-check";
import { specifiedMethods } from "../catalogue/methods.ts";
import type { ParamShape } from "../catalogue/method.ts";

/** Pool of values, created only once: generating each value anew would take most of a long run's time. */
const pooledValues = 2_000;

const hash = `"0x${"cd".repeat(32)}"`;
const address = `"0x${"ab".repeat(20)}"`;

const valid: Readonly<Record<ParamShape, readonly string[]>> = {
  address: [address],
  block: ['"latest"', '"0x3e8"', '"finalized"', '"pending"'],
  blockHash: [hash],
  blockNumberOrHash: ['"0x1"', hash],
  boolean: ["true", "false"],
  callObject: [`{"to":${address},"data":"0x"}`, "{}"],
  data: ['"0x00ff"'],
  hash: [hash],
  logFilter: ['{"fromBlock":"0x1","toBlock":"0x20"}', `{"blockHash":${hash}}`, '{"fromBlock":"0x1"}'],
  percentiles: ["[25,75]"],
  quantity: ['"0x4"'],
  storageKeys: [`[${hash}]`],
  subscriptionId: ['"0x1"'],
  subscriptionType: ['"newHeads"', '"logs"', '"syncing"'],
  traceFilter: ['{"fromBlock":"0x1","toBlock":"0x2","count":3}', "{}"],
  tracerOptions: ['{"tracer":"callTracer"}', '{"tracer":"{step(){}}"}'],
};

/** Values that are known to break parsers. */
const odd: readonly string[] = [
  "null",
  "[]",
  "{}",
  "1e400",
  "-0",
  "9".repeat(400),
  `1${"0".repeat(5_000)}`,
  "9007199254740993",
  '"\\ud800"',
  '"\\udfff\\ud800"',
  '"\\u0000"',
  '"\u{2028}é😀"',
  "[[[[]]]]",
  `${"[".repeat(40)}${"]".repeat(40)}`,
  `${"[".repeat(300)}${"]".repeat(300)}`,
  `${'{"a":'.repeat(150)}1${"}".repeat(150)}`,
  "[".repeat(2_000),
  '{"a":1,"a":2}',
  '{"__proto__":{"a":1},"constructor":{"prototype":{}}}',
  `{${Array.from({ length: 50 }, (_, at) => `"${at}":${at}`).join(",")}}`,
];

const pool = [...odd, ...fc.sample(fc.json({ maxDepth: 3 }), { seed: 1, numRuns: pooledValues })];
const value = fc.oneof(fc.constantFrom(...pool), fc.constantFrom(...odd));

const validCall = fc
  .tuple(fc.constantFrom(...specifiedMethods), fc.nat(1_000_000), fc.nat())
  .map(([{ name, params }, id, choice]) => {
    const values = params.map(({ shape }) => valid[shape][choice % valid[shape].length]);
    return `{"jsonrpc":"2.0","id":${id},"method":"${name}","params":[${values.join(",")}]}`;
  });

const oddNames = ["net_peerCount", "__proto__", "constructor", "", "eth_\u{0}", "x".repeat(300), "é"];
const method = fc.constantFrom("eth_call", "eth_getLogs", "trace_filter", "eth_coinbase", "eth_subscribe", ...oddNames);
const member = fc.oneof(
  fc.constantFrom('"jsonrpc":"2.0"', '"jsonrpc":"2.0"', '"jsonrpc":2', '"jsonrpc":"1.0"', '"JSONRPC":"2.0"'),
  value.map((id) => `"id":${id}`),
  method.map((name) => `"method":${JSON.stringify(name)}`),
  value.map((params) => `"params":${params}`),
  fc.constantFrom(...pool).map((filter) => `"params":[{"fromBlock":${filter},"toBlock":"latest"}]`),
  fc.constantFrom('"m\\u0065thod":"eth_coinbase"', '"":1', '"__proto__":{"method":"eth_coinbase"}'),
);
/** An envelope with some of its members, in any order, some of them twice. */
const nearlyCall = fc
  .tuple(fc.constantFrom('"jsonrpc":"2.0",', ""), fc.option(method), fc.array(member, { minLength: 1, maxLength: 5 }))
  .map(([version, name, members]) => {
    const named = name === null ? "" : `"method":${JSON.stringify(name)},`;
    return `{${version}${named}${members.join(",")}}`;
  });

const item = fc.oneof(validCall, nearlyCall, value);
const text = fc.oneof(
  { weight: 7, arbitrary: validCall },
  { weight: 4, arbitrary: nearlyCall },
  { weight: 2, arbitrary: fc.array(item, { maxLength: 22 }).map((items) => `[${items.join(",")}]`) },
  { weight: 1, arbitrary: fc.string() },
  { weight: 1, arbitrary: value },
);

/**
 * The bytes of a JSON-RPC message: valid, nearly valid, or arbitrary; with huge numbers, deep nesting, duplicate and dangerous keys and
 * lone surrogates. Some have one byte changed, or the end cut off.
 */
export const messageBytes: fc.Arbitrary<Buffer> = fc
  .tuple(
    text,
    fc.constantFrom("whole", "whole", "whole", "whole", "whole", "whole", "byte", "cut"),
    fc.nat(),
    fc.nat(255),
  )
  .map(([given, harm, position, byte]) => {
    const all = Buffer.from(given, "utf8");
    if (harm === "byte" && all.length > 0) all[position % all.length] = byte;
    return harm === "cut" ? all.subarray(0, position % (all.length + 1)) : all;
  });
