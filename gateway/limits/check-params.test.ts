import { describe, expect, it } from "vitest";
import { buildAddedMethod } from "../catalogue/catalogue.ts";
import type { ChainHead } from "../chain/chain-head.ts";
import { createPolicy, maySpecifyGas } from "../policy.ts";
import { limitlessTier } from "../testing/limitless-tier.ts";
import { testSettings } from "../testing/test-gateway.ts";
import { checkParams, rememberChecks, type CheckBasis, type CheckedRead } from "./check-params.ts";

const head: ChainHead = { latest: 1_000n, finalized: 900n };
const address = `0x${"ab".repeat(20)}`;
const hash = `0x${"cd".repeat(32)}`;

/** The inputs of a check under a new policy. */
function basisOf(
  name: string,
  { known = head as ChainHead | null, splitBlocks = 1, overrides = false } = {},
): CheckBasis {
  const tiers = { public: { ...limitlessTier, splitBlocks }, other: limitlessTier };
  const policy = createPolicy(testSettings({ tiers, limits: { traceCallOverrides: overrides } }));
  const method = policy.catalogue.get(name) ?? buildAddedMethod(name);
  return { policy, head: known ?? undefined, tier: policy.tiers.get("public")!, method };
}

function check(name: string, params: unknown, given: Parameters<typeof basisOf>[1] = {}) {
  return checkParams(basisOf(name, given), typeof params === "string" ? params : JSON.stringify(params));
}

function rejection(name: string, params: unknown, known: ChainHead | null = head): string {
  const result = check(name, params, { known });
  return result.kind === "reject" ? result.error.message : result.kind;
}

describe("eth_getLogs", () => {
  it("accepts up to 100 blocks, including both ends", () => {
    const filter = { fromBlock: "0x1", toBlock: "0x64", address: [address], topics: [null, [hash]] };
    expect(check("eth_getLogs", [filter])).toEqual({ kind: "pass", params: JSON.stringify([filter]) });
    expect(rejection("eth_getLogs", [{ fromBlock: "0x1", toBlock: "0x65" }])).toBe(
      "block range too large: 101 blocks requested, limited to 100 blocks. Try with this block range [0x1, 0x64].",
    );
  });

  it("resolves tags against the head and treats missing bounds as latest", () => {
    expect(rejection("eth_getLogs", [{}], null)).toBe("pass");
    expect(rejection("eth_getLogs", [{ fromBlock: "0x385" }])).toBe("pass");
    expect(rejection("eth_getLogs", [{ fromBlock: "0x384" }])).toContain("101 blocks requested");
    expect(rejection("eth_getLogs", [{ fromBlock: "earliest" }])).toContain("1001 blocks requested");
    expect(rejection("eth_getLogs", [{ fromBlock: "finalized", toBlock: "latest" }])).toContain("101 blocks");
    expect(rejection("eth_getLogs", [{ fromBlock: "earliest" }], null)).toContain("not known yet");
  });

  it("rejects inverted numeric ranges and leaves blocks beyond the head to the node", () => {
    expect(rejection("eth_getLogs", [{ fromBlock: "0x10", toBlock: "0x1" }])).toBe("invalid block range params");
    expect(rejection("eth_getLogs", [{ fromBlock: "0x3e9", toBlock: "latest" }])).toBe("pass");
  });

  it("accepts a block hash, but not together with bounds", () => {
    expect(rejection("eth_getLogs", [{ blockHash: hash }])).toBe("pass");
    expect(rejection("eth_getLogs", [{ blockHash: hash, fromBlock: "0x1" }])).toContain("cannot specify both");
  });

  it("can't be widened by an alternative spelling, a duplicate or an unknown key", () => {
    const params = '[{"fromBlock":"0x1","toBlock":"0x2","FromBlock":"0x0","toblock":"0xffff","fromBlock":"0x2","x":1}]';
    expect(check("eth_getLogs", params)).toEqual({ kind: "pass", params: '[{"fromBlock":"0x2","toBlock":"0x2"}]' });
    const proto = '[{"__proto__":{"toBlock":"0xffff"},"fromBlock":"0x3e8","constructor":{"prototype":{"a":1}}}]';
    expect(check("eth_getLogs", proto)).toEqual({ kind: "pass", params: '[{"fromBlock":"0x3e8","toBlock":"latest"}]' });
    expect(({} as Record<string, unknown>)["toBlock"]).toBeUndefined();
  });

  it.each([
    [[]],
    [[{}, {}]],
    [["0x1"]],
    [[{ fromBlock: 1 }]],
    [[{ fromBlock: "0x01" }]],
    [[{ fromBlock: "0x1ffffffffffffffff" }]],
    [[{ address: "0x1" }]],
    [[{ address: Array.from({ length: 1_001 }, () => address) }]],
    [[{ topics: [null, null, null, null, null] }]],
    [[{ topics: ["0x1"] }]],
    [[{ topics: [Array.from({ length: 1_001 }, () => hash)] }]],
  ])("rejects an invalid filter (case %#)", (params) => {
    expect(check("eth_getLogs", params)).toMatchObject({ kind: "reject", error: { code: -32_602 } });
  });

  it.each([[{ fromBlock: "pending" }], [{ toBlock: "pending" }], [{ fromBlock: "0x1", toBlock: "pending" }]])(
    "rejects pending blocks with geth's message: %j",
    (filter) => {
      expect(check("eth_getLogs", [filter])).toMatchObject({
        kind: "reject",
        error: { code: -32_000, message: "pending logs are not supported" },
      });
    },
  );

  it("is split into permitted chunks for tiers that allow it", () => {
    const filter = { fromBlock: "0x1", toBlock: "0xfa", address };
    const result = check("eth_getLogs", [filter], { splitBlocks: 300 });
    expect(result.kind === "split" && result.pieces.map((piece) => (JSON.parse(piece) as [object])[0])).toEqual([
      { fromBlock: "0x1", toBlock: "0x64", address },
      { fromBlock: "0x65", toBlock: "0xc8", address },
      { fromBlock: "0xc9", toBlock: "0xfa", address },
    ]);
    expect(check("eth_getLogs", [{ ...filter, toBlock: "0x12d" }], { splitBlocks: 300 }).kind).toBe("reject");
  });
});

describe("eth_newFilter, added by an operator", () => {
  it("has the range limit of eth_getLogs and is never split", () => {
    expect(rejection("eth_newFilter", [{ fromBlock: "0x1", toBlock: "0x64" }])).toBe("pass");
    expect(rejection("eth_newFilter", [{ fromBlock: "0x1", toBlock: "0x65" }])).toContain("limited to 100 blocks");
    expect(check("eth_newFilter", [{ fromBlock: "0x1", toBlock: "0x65" }], { splitBlocks: 300 }).kind).toBe("reject");
  });
});

describe("trace_filter", () => {
  it("accepts the mode that clients send, and forwards a non-default one", () => {
    const filter = { fromBlock: "0x1", toBlock: "0x2", fromAddress: [address], toAddress: [address] };
    for (const mode of ["union", null]) {
      expect(check("trace_filter", [{ ...filter, mode }])).toEqual({ kind: "pass", params: JSON.stringify([filter]) });
    }
    const mode = "intersection";
    expect(check("trace_filter", [{ ...filter, mode }])).toEqual({
      kind: "pass",
      params: JSON.stringify([{ ...filter, mode }]),
    });
    for (const wrong of ["both", "Union", 1, {}]) {
      expect(rejection("trace_filter", [{ ...filter, mode: wrong }])).toContain("invalid mode");
    }
  });

  it("accepts up to 500 blocks and counts a missing fromBlock as 0", () => {
    expect(rejection("trace_filter", [{ fromBlock: "0x1", toBlock: "0x1f4" }])).toBe("pass");
    expect(rejection("trace_filter", [{ fromBlock: "0x1", toBlock: "0x1f5" }])).toContain(
      "501 blocks requested, limited to 500",
    );
    expect(rejection("trace_filter", [{ toBlock: "0x1f4" }])).toContain("501 blocks requested");
    expect(rejection("trace_filter", [{}])).toContain("1001 blocks requested");
    expect(rejection("trace_filter", [{ fromBlock: "0x0", toBlock: "0x1", count: -1 }])).toContain("invalid count");
  });

  it.each([
    [
      { fromBlock: "0x384", toBlock: "0x3E8" },
      { fromBlock: "0x384", toBlock: "0x3e8" },
    ],
    [{ fromBlock: "0x384" }, { fromBlock: "0x384", toBlock: "0x3e8" }],
    [
      { fromBlock: "0x384", toBlock: null },
      { fromBlock: "0x384", toBlock: "0x3e8" },
    ],
    [
      { fromBlock: "finalized", toBlock: "latest" },
      { fromBlock: "0x384", toBlock: "0x3e8" },
    ],
    [
      { fromBlock: "earliest", toBlock: "0x10" },
      { fromBlock: "0x0", toBlock: "0x10" },
    ],
    [{ toBlock: "0x10" }, { fromBlock: "0x0", toBlock: "0x10" }],
    [{ fromBlock: "safe" }, { fromBlock: "safe", toBlock: "0x3e8" }],
    [{ fromBlock: "0x3e9" }, { fromBlock: "0x3e9" }],
    [
      { fromBlock: "0x3e9", toBlock: "latest" },
      { fromBlock: "0x3e9", toBlock: "latest" },
    ],
  ])("sends the node only valid, ordered hexadecimal bounds: %j", (given, passed) => {
    expect(check("trace_filter", [given])).toEqual({ kind: "pass", params: JSON.stringify([passed]) });
  });

  it.each(["Mode", "FromBlock", "toblock", "fromaddress", "__proto__", "limit"])(
    "rejects the field %s by name",
    (name) => {
      const params = `[{"fromBlock":"0x1","toBlock":"0x2",${JSON.stringify(name)}:"0xffff"}]`;
      expect(check("trace_filter", params)).toMatchObject({
        kind: "reject",
        error: {
          code: -32_602,
          message: `unknown field "${name}" in the trace filter: expected fromBlock, toBlock, fromAddress, toAddress, count, after, mode`,
        },
      });
    },
  );

  it("truncates the name of an unknown field in the error", () => {
    expect(rejection("trace_filter", [{ ["\u0000é".repeat(1_000)]: 1 }]).length).toBeLessThan(500);
  });
});

describe("tracer options", () => {
  const js = "{fault(){},result(){while(1);},step(){}}";
  it.each([
    ["debug_traceTransaction", [hash, { tracer: "prestateTracer" }]],
    ["debug_traceTransaction", [hash, { tracer: js }]],
    ["debug_traceTransaction", [hash, { Tracer: js }]],
    ["debug_traceTransaction", [hash, { tracer: "muxTracer", tracerConfig: { callTracer: {} } }]],
    ["debug_traceTransaction", [hash, { tracer: "callTracer", tracerConfig: { prestateTracer: {} } }]],
    ["debug_traceCall", [{}, "latest", { tracer: js }]],
    ["debug_traceCall", [{}, "latest", { tracer: "callTracer", stateOverrides: {} }]],
    ["debug_traceBlockByNumber", ["latest", { tracer: "4byteTracer" }]],
    ["debug_traceBlockByHash", [hash, { tracer: ["callTracer"] }]],
    ["debug_traceTransaction", [hash, {}, {}]],
    ["debug_traceTransaction", []],
    ["debug_traceCall", [{}]],
    ["debug_traceTransaction", [hash, { timeout: "5" }]],
    ["debug_traceBlock", ["0xf9"]],
    ["debug_traceBlock", []],
    ["debug_traceBlock", ["0xf9", { tracer: js }]],
    ["debug_traceBlock", ["0xf9", { Tracer: "callTracer" }]],
    ["debug_traceBlock", ["0xf9", { tracer: js }, { tracer: "callTracer" }]],
    ["debug_traceCallMany", [[{ deep: [{ TRACER: js }] }], {}, { tracer: "callTracer" }]],
  ])("rejects all others for %s (case %#)", (name, params) => {
    expect(check(name, params)).toMatchObject({ kind: "reject", error: { code: -32_602 } });
  });

  it("are dropped if they change nothing for callTracer", () => {
    const idle = { disableStorage: true, disableStack: true, disableMemory: true, enableMemory: false, limit: 0 };
    for (const name of ["debug_traceTransaction", "debug_traceBlockByHash"]) {
      expect(
        check(name, [hash, { tracer: "callTracer", reexec: 128, enableReturnData: true, debug: null, ...idle }]),
      ).toEqual({ kind: "pass", params: JSON.stringify([hash, { tracer: "callTracer" }]) });
    }
    expect(rejection("debug_traceTransaction", [hash, { reexec: "all" }])).toBe("invalid reexec: expected a number");
    expect(rejection("debug_traceTransaction", [hash, { disableStorage: {} }])).toBe(
      "invalid disableStorage: expected a boolean",
    );
  });

  it("default to callTracer if null or empty", () => {
    const params = JSON.stringify([hash, { tracer: "callTracer" }]);
    const unset = { timeout: null, stateOverrides: null, blockOverrides: null, txIndex: null };
    for (const options of [
      null,
      {},
      { tracer: null, enableMemory: null },
      unset,
      { tracerConfig: { onlyTopCall: null } },
    ]) {
      expect(check("debug_traceTransaction", [hash, options])).toEqual({ kind: "pass", params });
    }
  });

  it.each(["enableMemory", "enableReturnData", "disableStack", "disableStorage", "fullStorage"])(
    "of the struct logger are rejected without a tracer: %s",
    (name) => {
      for (const options of [{ [name]: true }, { [name]: false, tracer: null }]) {
        expect(rejection("debug_traceTransaction", [hash, options])).toBe(
          `struct logger not supported (${name}): only callTracer is supported`,
        );
      }
      expect(rejection("debug_traceTransaction", [hash, { tracer: "callTracer", [name]: true }])).toBe("pass");
    },
  );

  it("are rejected by name if unknown", () => {
    expect(rejection("debug_traceTransaction", [hash, { Reexec: 1 }])).toBe('unknown tracer option "Reexec"');
    expect(rejection("debug_traceBlockByNumber", ["latest", { overrides: {} }])).toBe(
      'unknown tracer option "overrides"',
    );
  });

  it("may include overrides in debug_traceCall only, if settings allow it", () => {
    const options = {
      tracer: "callTracer",
      stateOverrides: { [address]: { balance: "0x1" } },
      blockOverrides: { number: "0x1" },
      txIndex: "0x0",
    };
    const rejectionText = "stateOverrides is not supported here; the operator may allow it (limits.traceCallOverrides)";
    expect(rejection("debug_traceCall", [{}, "latest", options])).toBe(rejectionText);
    expect(check("debug_traceCall", [{}, "latest", options], { overrides: true })).toMatchObject({
      kind: "pass",
      params: JSON.stringify([{}, "latest", options]),
    });
    expect(check("debug_traceTransaction", [hash, options], { overrides: true })).toMatchObject({ kind: "reject" });
    expect(check("debug_traceCallMany", [[], {}, options], { overrides: true })).toMatchObject({ kind: "reject" });
    for (const wrong of [{ stateOverrides: [] }, { blockOverrides: "0x1" }, { txIndex: {} }]) {
      expect(check("debug_traceCall", [{}, "latest", wrong], { overrides: true })).toMatchObject({ kind: "reject" });
    }
  });

  it("are read from the last parameter of methods added by an operator", () => {
    const params = [[{ transactions: [] }], { block: "latest" }, { tracer: "callTracer" }];
    expect(check("debug_traceCallMany", params)).toEqual({ kind: "pass", params: JSON.stringify(params) });
  });

  it("never exceed the method's timeout", () => {
    for (const [given, passed] of [
      ["5s", "5000ms"],
      ["250ms", "250ms"],
      ["1.5s", "1500ms"],
      ["0.25m", "15000ms"],
      ["1h", "30000ms"],
      ["9999s", "30000ms"],
    ]) {
      const params = JSON.stringify([hash, { tracer: "callTracer", timeout: passed }]);
      expect(check("debug_traceTransaction", [hash, { timeout: given }])).toEqual({ kind: "pass", params });
    }
  });

  it("always specify callTracer to the node, even by default", () => {
    expect(check("debug_traceTransaction", [hash])).toEqual({
      kind: "pass",
      params: JSON.stringify([hash, { tracer: "callTracer" }]),
    });
    const tracerConfig = { onlyTopCall: true };
    expect(check("debug_traceCall", [{ gas: "0x989680" }, "latest", { tracerConfig }])).toEqual({
      kind: "pass",
      params: JSON.stringify([{ gas: "0x989680" }, "latest", { tracer: "callTracer", tracerConfig }]),
      gas: 5 * 10_000_000,
    });
  });

  it("charge a traced call without gas as five times the cap, and send it without gas", () => {
    for (const call of [{ to: address }, { gas: null, to: address }]) {
      expect(check("debug_traceCall", [call, "latest"])).toEqual({
        kind: "pass",
        params: JSON.stringify([call, "latest", { tracer: "callTracer" }]),
        gas: 5 * 50_000_000,
      });
    }
  });
});

function chargedGas(call: object): number | string | undefined {
  const result = check("eth_createAccessList", [call, "latest"]);
  return result.kind === "pass" ? result.gas : result.kind;
}

describe("eth_createAccessList", () => {
  it("is charged for several runs with its gas, or with the cap if it specifies none", () => {
    expect(chargedGas({ to: address })).toBe(250_000_000);
    expect(chargedGas({ to: address, gas: "0xffffffff" })).toBe(250_000_000);
    expect(chargedGas({ to: address, gas: "0x186a0" })).toBe(500_000);
    // Not all nodes know the name gasLimit.
    expect(chargedGas({ to: address, gasLimit: "0x186a0" })).toBe(250_000_000);
  });

  it("reaches the node unchanged, without a gas limit added by the gateway", () => {
    const params = JSON.stringify([{ to: address }, "latest"]);
    expect(check("eth_createAccessList", params)).toMatchObject({ kind: "pass", params });
  });
});

const cappedGas = '"0x2faf080"';
const to = `"to":"0x${"ab".repeat(20)}"`;
const gasOf = (call: string) => {
  const result = check("eth_call", `[${call},"latest"]`);
  return result.kind === "pass" ? result.params : result.kind;
};

describe("the gas of a call", () => {
  it.each([
    `{${to},"gas":"0xffffffff"}`,
    `{${to},"gas":"0x2faf081"}`,
    `{${to},"gas":4294967295}`,
    `{${to},"gas":"4294967295"}`,
    `{${to},"gas":"0x${"0".repeat(100)}ffffffff"}`,
    `{${to},"gas":"0x1","gas":"0xffffffff"}`,
  ])("reduces gas above the cap and keeps everything else: %s", (call) => {
    expect(gasOf(call)).toBe(`[{${to},"gas":${cappedGas}},"latest"]`);
  });

  it.each(["Gas", "GAS", "gaſ", "g\\u0061s", "gasLimit", "gaslimit"])(
    "reduces gas in a key that some node accepts: %s",
    (name) => {
      const call = Buffer.from(`{${to},"${name}":"0xffffffff"}`).toString("latin1");
      const key = Buffer.from(name.replace("\\u0061", "a")).toString("latin1");
      expect(maySpecifyGas(call)).toBe(true);
      expect(gasOf(call)).toBe(`[{${to},"${key}":${cappedGas}},"latest"]`);
    },
  );

  it.each([
    `{${to}}`,
    `{${to},"gasPrice":"0xffffffffff"}`,
    `{${to},"gas":"0x2faf080"}`,
    `{${to},"gas":null}`,
    `{${to},"gas":"all"}`,
    '"0xffffffff"',
    "null",
  ])("forwards gas up to the cap unchanged: %s", (call) => {
    expect(gasOf(call)).toBe(`[${call},"latest"]`);
  });

  it("rejects a call with too many fields to scan if one may specify gas", () => {
    const many = Array.from({ length: 64 }, (_, at) => `"k${at}":0`).join(",");
    expect(gasOf(`{${many},"gas":"0xffffffff"}`)).toBe("reject");
  });
});

describe("the gas of a call with a block override", () => {
  const state = { [address]: { code: "0x5b600056" } };
  const positional = [null, null, null, "0xffffffff", null];
  const checkOverridden = (call: object, override: unknown, name = "eth_call") => {
    const params = JSON.stringify([call, "latest", state, override]);
    const result = check(name, params);
    if (result.kind !== "pass") return result.kind;
    return [(JSON.parse(result.params) as unknown[])[0], result.gas, maySpecifyGas(params)];
  };

  it.each([[{ gasLimit: "0x47868c00" }], [{ GasLimit: "0x1" }], [{ gaslimit: 1 }], [positional]])(
    "is the cap if the call specifies none: %j",
    (override) => {
      for (const name of ["eth_call", "eth_estimateGas"]) {
        for (const gas of [undefined, null, "0x0", "all"]) {
          expect(checkOverridden({ to: address, gas }, override, name)).toEqual([
            { to: address, gas: "0x2faf080" },
            50_000_000,
            true,
          ]);
        }
      }
      expect(checkOverridden({}, override, "eth_createAccessList")).toEqual([{ gas: "0x2faf080" }, 250_000_000, true]);
    },
  );

  it("is the call's own amount below the cap, in the spelling that all nodes read, and enough for a transaction", () => {
    const override = { gasLimit: "0x47868c00" };
    for (const [call, gas] of [
      [{ gas: "0x186a0" }, 100_000],
      [{ gasLimit: "0x186a0" }, 100_000],
      [{ Gas: 100_000.5, gas: "0x1" }, 100_000],
      [{ gas: "0xffffffff" }, 50_000_000],
      // When estimating gas, a node ignores an amount too low for any transaction.
      [{ gas: "0x1" }, 21_000],
    ] as const) {
      expect(checkOverridden(call, override)).toEqual([{ gas: `0x${gas.toString(16)}` }, gas, true]);
    }
  });

  it("stays the node's if the override has no gas limit", () => {
    for (const override of [undefined, null, {}, { number: "0x1" }]) {
      expect(checkOverridden({ to: address }, override)).toEqual([{ to: address }, 0, false]);
    }
  });

  it("of debug_traceCall is capped in the same way", () => {
    const options = { tracer: "callTracer", blockOverrides: { gasLimit: "0xffffffff" } };
    expect(check("debug_traceCall", [{}, "latest", options], { overrides: true })).toEqual({
      kind: "pass",
      params: JSON.stringify([{ gas: "0x2faf080" }, "latest", options]),
      gas: 250_000_000,
    });
  });

  it("is not read from a call given as an array", () => {
    expect(gasOf('["0x1","0x2"]')).toBe("reject");
    expect(maySpecifyGas('[ ["0x1"]]')).toBe(true);
  });
});

describe("cached checks", () => {
  const filter = JSON.stringify([{ fromBlock: "0x1", toBlock: "0x2" }]);

  it("return the outcome of an identical check that passed", () => {
    const checks = rememberChecks();
    const basis = basisOf("eth_getLogs");
    const outcome = checks(basis, ` ${filter}`);
    expect(outcome).toEqual({ kind: "pass", params: filter, key: `eth_getLogs ${filter}` });
    expect(checks(basis, ` ${filter}`)).toBe(outcome);
    expect(checks(basis, filter)).not.toBe(outcome);
  });

  it("are repeated for a different policy, head, tier or method, including an earlier one", () => {
    const basis = basisOf("eth_getLogs");
    const { policy } = basis;
    for (const change of [
      { policy: basisOf("eth_getLogs").policy },
      { head: { ...head } },
      { head: undefined },
      { tier: policy.tiers.get("other")! },
      { method: policy.catalogue.get("trace_filter")! },
    ]) {
      const checks = rememberChecks();
      const changedBasis = { ...basis, ...change };
      const outcome = checks(basis, filter);
      const other = checks(changedBasis, filter);
      expect(other).not.toBe(outcome);
      expect(checks(changedBasis, filter)).toBe(other);
      const isKept = "tier" in change || "method" in change;
      expect(checks(basis, filter) === outcome).toBe(isKept);
    }
  });

  it("are not used for rejected or split params", () => {
    const checks = rememberChecks();
    for (const [basis, kind] of [
      [basisOf("eth_getLogs"), "reject"],
      [basisOf("eth_getLogs", { splitBlocks: 1_000 }), "split"],
    ] as const) {
      const wide = '[{"fromBlock":"0x1","toBlock":"0xff"}]';
      const outcome = checks(basis, wide);
      expect(outcome.kind).toBe(kind);
      expect(checks(basis, wide)).not.toBe(outcome);
    }
  });

  it("are limited in number and length", () => {
    const checks = rememberChecks();
    const basis = basisOf("eth_getLogs");
    const long = JSON.stringify([
      { fromBlock: "0x1", toBlock: "0x2", topics: [Array.from({ length: 20 }, () => hash)] },
    ]);
    expect(checks(basis, long)).not.toBe(checks(basis, long));
    const all = Array.from({ length: 1_000 }, (_, at) => `[{"address":"0x${String(at).padStart(40, "0")}"}]`);
    const outcomes = new Map<string, CheckedRead>(all.map((params) => [params, checks(basis, params)]));
    expect(all.every((params) => checks(basis, params) === outcomes.get(params))).toBe(true);
    // The cache is full: the next check clears it, and no earlier check is remembered.
    const next = checks(basis, filter);
    expect(checks(basis, filter)).toBe(next);
    expect(checks(basis, all[0] ?? "")).not.toBe(outcomes.get(all[0] ?? ""));
  });
});
