/** A message, described by the parameters that a search varies: the filling, its size, and the frame around it. */
export type MessageShape = Readonly<{
  method: keyof typeof frames;
  /** Index of the method's frame that contains the filling. */
  frame: number;
  atoms: readonly [Atom, Atom];
  /** How many times the first filling occurs before each occurrence of the second. */
  ratio: number;
  spaces: number;
  /** Approximate bytes of one call. */
  bytes: number;
  /** Number of calls in the batch; 1 means no batch. */
  items: number;
}>;

const address = `"0x${"ab".repeat(20)}"`;
const hash = `"0x${"cd".repeat(32)}"`;

/** Fillings for messages: values, or members if the frame is an object's. */
export const atoms = {
  one: "1",
  empty: "[]",
  object: "{}",
  text: '"a"',
  longText: `"${"x".repeat(4_000)}"`,
  escaped: '"\\n\\"\\u0041"',
  unicode: '"é😀"',
  number: "-1.7976931348623157e+308",
  longNumber: "7".repeat(400),
  deep: `${"[".repeat(100)}${"]".repeat(100)}`,
  deepObject: `${'{"a":'.repeat(100)}1${"}".repeat(100)}`,
  address,
  hash,
  addresses: `[${address},${address}]`,
  literal: "false",
} as const;

export type Atom = keyof typeof atoms;

/** Parameters of a method, with a placeholder for the filling: `*` for values, `@` for members with distinct names, `#` for the characters of a string. */
const frames = {
  eth_call: ["[*]", '[{"data":"0x#"},"latest"]', '[{"to":"0x0"},"latest",{@}]', '[{"input":"#"},{@}]'],
  eth_estimateGas: ["[*]", '[{"data":"0x#"}]'],
  eth_sendRawTransaction: ['["0x#"]', "[*]"],
  eth_getLogs: [
    '[{"address":[*]}]',
    '[{"topics":[[*]]}]',
    '[{"topics":[[*],[*],[*],[*]]}]',
    '[{"fromBlock":"0x1","toBlock":"0x7d0","address":[*]}]',
    "[{@}]",
    "[*]",
    '[{"address":"#"}]',
  ],
  trace_filter: ['[{"fromBlock":"0x1","fromAddress":[*],"toAddress":[*]}]', "[{@}]", '[{"count":*}]'],
  debug_traceCall: ['[{},"latest",{@}]', '[{"data":"0x#"},"latest",{"tracerConfig":{@}}]', '[[*],"latest"]'],
  debug_traceTransaction: ["[*]", `[${hash},{@}]`, `[${hash},{"tracer":"#"}]`],
  eth_getProof: [`[${address},[*],"latest"]`],
  eth_getBalance: ["[*]", `[${address},"latest"]`, `["#","latest"]`],
  eth_coinbase: ["[]", "[*]"],
  eth_subscribe: ['["logs",{"address":[*]}]'],
  web3_nothing: ["[*]", "{@}"],
  "rpc.discover": ["[]"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export const shapeMethods = Object.keys(frames) as readonly MessageShape["method"][];

export function countFrames(method: MessageShape["method"]): number {
  return frames[method].length;
}

export function buildMessage({
  method,
  frame,
  atoms: [first, second],
  ratio,
  spaces,
  bytes,
  items,
}: MessageShape): Buffer {
  const template = frames[method][frame % frames[method].length] ?? "[*]";
  const holes = template.split(/[*@#]/).length - 1;
  const space = " ".repeat(spaces);
  const cycle = [...Array.from({ length: ratio }, () => atoms[first]), atoms[second]];
  const room = bytes / Math.max(1, holes);
  const params = template.replaceAll(/[*@#]/g, (hole) => {
    if (hole === "#") return "ab".repeat(Math.max(0, room / 2));
    const parts: string[] = [];
    for (let length = 0; length < room && parts.length < 2_000_000;) {
      const atom = cycle[parts.length % cycle.length] ?? "1";
      const part = `${hole === "@" ? `"k${parts.length}":` : ""}${atom}${space}`;
      parts.push(part);
      length += part.length + 1;
    }
    return parts.join(",");
  });
  const calls = Array.from(
    { length: items },
    (_, id) => `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`,
  );
  return Buffer.from(items === 1 ? (calls[0] ?? "") : `[${calls.join(",")}]`, "utf8");
}
