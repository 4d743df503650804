import openRpcSchema from "@open-rpc/meta-schema";
import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { createCatalogue, selectServed } from "./catalogue.ts";
import { specifiedMethods } from "./methods.ts";
import { buildOpenRpcDocument } from "./openrpc.ts";
import { policySchema } from "../settings/policy.ts";
import { renderMethodReference } from "./reference.ts";

const named = (audience: string) =>
  specifiedMethods.filter((method) => method.audience === audience).map(({ name }) => name);

/**
 * OpenRPC's own schema, with the remote schema of JSON Schemas that it references replaced by Ajv's copy of draft 7.
 */
const openRpcRules = JSON.parse(
  JSON.stringify(openRpcSchema)
    .replaceAll(
      /https:\/\/meta\.json-schema\.tools\/#\/definitions\/JSONSchemaObject/g,
      "http://json-schema.org/draft-07/schema#",
    )
    .replaceAll(/https:\/\/meta\.json-schema\.tools\/?/g, "http://json-schema.org/draft-07/schema#"),
) as object;

describe("the method catalogue", () => {
  it("lists every method once", () => {
    expect(new Set(specifiedMethods.map(({ name }) => name)).size).toBe(specifiedMethods.length);
    expect(specifiedMethods).toHaveLength(27 + 6 + 10 + 8 + 10 + 4 + 1);
  });

  it("assigns each method the audience in the specification's Availability column", () => {
    expect(named("private")).toEqual([
      "net_listening",
      "net_peerCount",
      "web3_sha3",
      "txpool_nonceFrom",
      "debug_protocolVersion",
      "eth_getProposerByTxHash",
      "eth_getProposersByBlockNumber",
    ]);
    expect(named("internal")).toEqual([
      "debug_getBlockReadStates",
      "debug_getBlockWriteStates",
      "debug_getBlockWriteSetKeys",
    ]);
    expect(named("nobody")).toEqual([
      "eth_batchGetBlockByNumber",
      "eth_batchGetTransactionByHash",
      "eth_batchGetTransactionReceipt",
      "eth_batchGetBlockReceipts",
    ]);
  });

  it("returns the specification's constants for the placeholder methods", () => {
    const constants = specifiedMethods.flatMap(({ name, constant }) =>
      constant === undefined ? [] : [[name, constant]],
    );
    expect(Object.fromEntries(constants)).toEqual({
      eth_coinbase: '"0x0"',
      eth_mining: "false",
      eth_hashrate: '"0x0"',
      eth_accounts: "[]",
      eth_pendingTransactions: "[]",
      eth_getCompilers: "[]",
      eth_getUncleCountByBlockHash: "null",
      eth_getUncleCountByBlockNumber: "null",
      eth_getUncleByBlockHashAndIndex: "null",
      eth_getUncleByBlockNumberAndIndex: "null",
    });
  });

  it("limits tracers for every method that takes tracer options", () => {
    for (const { name, params, limit } of specifiedMethods) {
      const at = params.findIndex(({ shape }) => shape === "tracerOptions");
      const overrides = name === "debug_traceCall" ? { overrides: true } : {};
      if (at !== -1) expect([name, limit]).toEqual([name, { kind: "tracer", at, ...overrides }]);
    }
  });

  it("applies an operator's changes", () => {
    const catalogue = createCatalogue({
      net_listening: { audience: "public" },
      eth_call: { cache: false },
      my_own: {},
    });
    expect(catalogue.get("net_listening")?.audience).toBe("public");
    expect(catalogue.get("eth_call")?.cache).toEqual({ kind: "none" });
    expect(catalogue.get("my_own")).toMatchObject({ audience: "private", answeredBy: "node" });
  });

  it("removes a method on every listener if an operator disables it", () => {
    const served = selectServed(createCatalogue({ eth_coinbase: { audience: "nobody" } }));
    for (const listener of ["public", "private", "internal"] as const) {
      expect(buildOpenRpcDocument(served, listener).methods.map(({ name }) => name)).not.toContain("eth_coinbase");
    }
  });

  it("retries on a closed connection, except for calls that must not be sent twice", () => {
    const once = specifiedMethods.filter(({ repeatable }) => !repeatable).map(({ name }) => name);
    expect(once).toEqual(["eth_sendRawTransaction", "eth_subscribe", "eth_unsubscribe"]);
    expect(createCatalogue({ eth_sendTransaction: {} }).get("eth_sendTransaction")?.repeatable).toBe(false);
  });

  it("describes to each listener the methods it serves", () => {
    const served = selectServed(createCatalogue({}));
    const counts = (["public", "private", "internal"] as const).map(
      (listener) => buildOpenRpcDocument(served, listener).methods.length,
    );
    expect(counts).toEqual([52, 59, 62]);
  });

  it.each(["public", "private", "internal"] as const)(
    "generates a valid OpenRPC document for the %s listener",
    (listener) => {
      const validate = new Ajv({ strict: false, validateFormats: false }).compile(openRpcRules);
      const changes = { my_own: { audience: "public" }, eth_batchGetBlockByNumber: { audience: "private" } } as const;
      const served = selectServed(createCatalogue({}));
      for (const some of [served, selectServed(createCatalogue(changes))]) {
        const document: unknown = JSON.parse(JSON.stringify(buildOpenRpcDocument(some, listener)));
        expect([validate(document), validate.errors]).toEqual([true, null]);
      }
      expect(validate({ ...buildOpenRpcDocument(served, listener), methods: [{ name: 5 }] })).toBe(false);
    },
  );

  it("matches the default settings in the docs", () => {
    const defaults = policySchema.parse({});
    const { ranges, limits, rateLimit } = defaults;
    const otherReference = renderMethodReference({
      ...defaults,
      ranges: { ...ranges, logsBlocks: 7, logsFallbackBlocks: 8, traceBlocks: 9 },
      limits: { ...limits, paramsBytes: 3_072 },
      rateLimit: { ...rateLimit, unitsPerKiB: 5 },
    });
    for (const text of ["7 blocks; 8 without rate limits", "9 blocks", "limited to 3 KiB", "costs 5 units more"]) {
      expect(otherReference).toContain(text);
      expect(renderMethodReference()).not.toContain(text);
    }
  });
});
