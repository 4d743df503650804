import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { engineProxySettings } from "#engine-proxy/settings.ts";
import { facilitatorSettings } from "#facilitator/settings.ts";
import { resourceServerSettings } from "#resource-server/settings.ts";
import { sidecarSettings } from "#sidecar/settings.ts";
import { gatewaySection } from "#gateway/settings/sections.ts";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "test/bounds/README.md"), "utf8");
const table = page.slice(page.indexOf("## What is bounded"));
const defaults: unknown = { gateway: gatewaySection.parse({}) };

const units: Readonly<Record<string, number>> = { KiB: 1_024, MiB: 1_048_576, GiB: 1_073_741_824, s: 1_000 };
/** Times in words, in milliseconds. */
const times: Readonly<Record<string, number>> = { "an hour": 3_600_000, "a day": 86_400_000 };

/** Settings of services other than the gateway, by the rows' wording; without a service's name, a setting is the sidecar's. */
const services: readonly Readonly<{ of: RegExp; schema: z.ZodObject }>[] = [
  { of: /engine proxy/, schema: engineProxySettings.schema },
  { of: /facilitator|ledger/, schema: facilitatorSettings.schema },
  { of: /resource server|payments|upstream's response/, schema: resourceServerSettings.schema },
  { of: /./, schema: sidecarSettings.schema },
];

/** A setting in the list, and its stated default. */
type StatedDefault = Readonly<{ name: string; stated: string }>;

const named: readonly StatedDefault[] = [...table.matchAll(/`(gateway\.[\w.]+)`, ([^;→\n]*)/g)].map(
  ([, name = "", stated = ""]) => ({ name, stated: stated.trim() }),
);

/** Settings of other services; in these rows, the default follows the name. */
const namedElsewhere = [...table.matchAll(/^- \*\*(.+?)\*\*: (.+?) → /gm)].flatMap(([, resource = "", bound = ""]) =>
  [...bound.matchAll(/`(?!gateway\.)([\w.]+)`, ([^;,]*)/g)].map(([, name = "", stated = ""]) => ({
    resource,
    name,
    stated: stated.trim(),
  })),
);

function defaultOf(resource: string, name: string): unknown {
  const service = services.find(({ of }) => of.test(resource));
  const [section = "", key] = name.split(".");
  const schema = service?.schema.shape[section];
  expect(schema, `a setting ${name}, as the row of ${resource} names it`).toBeInstanceOf(z.ZodType);
  const value: unknown = (schema as z.ZodType).parse(key === undefined ? undefined : {});
  return key === undefined ? value : Object.entries(value as object).find(([found]) => found === key)?.[1];
}

/** Parses a stated default, in the setting's own unit; undefined if it is stated in words. */
function numberIn(stated: string): number | undefined {
  if (times[stated] !== undefined) return times[stated];
  const [, digits, unit] = /^(\d+)(?: (KiB|MiB|GiB|s)\b)?/.exec(stated) ?? [];
  return digits === undefined ? undefined : Number(digits) * (unit === undefined ? 1 : (units[unit] ?? Number.NaN));
}

const resources = [...table.matchAll(/^- \*\*(.+?)\*\*: .+? → \S/gm)].map(([, resource = ""]) => resource);

/** Limits tested in other directories: the start of the test's title, by file and limit. */
const triedIn: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "facilitator/chain/batching-client.test.ts": {
    "calls queued for a facilitator's node": "rejects calls beyond 20,000 in a queue",
  },
  "facilitator/settlement/ledger-comparison.test.ts": {
    "receipts per comparison of ledger and chain": "limits the receipts per check, and the stored mismatches",
    "stored mismatches of ledger and chain": "limits the receipts per check, and the stored mismatches",
  },
  "facilitator/settlement/ledger/retention.test.ts": {
    "facilitator's records of verified, unsettled payments":
      "deletes an unsettled payment's verification record after an hour",
  },
  "facilitator/verification/verified-payments.test.ts": {
    "cached verdicts of a facilitator": "evicts the oldest verdicts and signatures beyond the limit",
  },
  "gateway/callers/tokens.test.ts": {
    "cached verified tokens": "caches verified tokens up to the limit",
  },
  "gateway/calls/message-handler.test.ts": {
    "bytes sent per caller": "charges each full KiB of a call, and charges a long message before reading it",
  },
  "gateway/limits/rate-limiter.test.ts": {
    "callers with a stored rate": "limits callers separately and remembers a limited number of them",
  },
  "gateway/page/history.test.ts": {
    "history of the status page": "keeps 121 samples per range",
  },
  "gateway/reads/response-cache.test.ts": {
    "cache size": "evicts unused entries before used ones when over its byte limit",
  },
  "resource-server/routes/sold-routes.test.ts": {
    "former offers per route that payments may accept": "accepts the latest 64 former offers of a route",
  },
  "resource-server/selling-port.test.ts": {
    "partial request bodies at a resource server": "gets 503 while incomplete bodies fill its address's memory limit",
  },
  "sidecar/overview/targets.test.ts": {
    "overview targets": "accepts 64 targets and rejects 65",
  },
  "sidecar/upkeep/upgrade/data/data-copy.test.ts": {
    "time to copy the data in an upgrade": "limits the total time to copy all directories",
  },
  "sidecar/upkeep/upgrade/program-files.test.ts": {
    "binaries of a release": "accepts a release of 1,000 files and rejects 1,001",
  },
  "status/page/payment-figures.test.ts": {
    "payment history of a page": "shows an hour of payments, and how many days the signer's balance lasts at that rate",
  },
  "test/daemon/log-reader.integration.test.ts": {
    "queued log lines of a service": "limits the memory held for a stalled reader",
  },
  "test/facilitator/bad-input.integration.test.ts": {
    "request size at the facilitator":
      "returns 400 for invalid JSON, 415 for another content type or an encoding, 413 for a body over the limit",
  },
  "test/facilitator/chain-faults.integration.test.ts": {
    "time of a facilitator's call to its node": "returns 500 with the fault while the node",
  },
  "test/gateway/callers/callers.integration.test.ts": {
    "new tokens verified per address (IPv6: /64)": "have a limited number of new tokens verified per address",
  },
  "test/gateway/limits/limits.integration.test.ts": {
    "response bytes per caller": "charge a long response before the next call",
    "node's time for contract code per caller": "charge the node time of a call without gas before the next call",
    "time to receive a request": "closes slow heads and slow bodies",
  },
  "test/gateway/listener/slow-reader.integration.test.ts": {
    "time for a client to read 64 KiB": "is disconnected after too long without reading",
  },
  "test/gateway/listener/websocket/answers.integration.test.ts": {
    "response size of a batch, or over WebSocket": "of a batch truncated at its size limit arrive complete",
  },
  "test/gateway/memory-bounds.integration.test.ts": {
    "memory for all clients and the cache": "shrinks the cache under pressure, and leaks no memory in the end",
    "memory per address (IPv6: /64)":
      "limits the memory held per address, while a different address still gets responses",
    "memory per connection": "limits the memory held per connection and rejects the excess",
  },
  "test/gateway/reads/cache.integration.test.ts": {
    "size of a cached or shared response": "reach every client complete if they are too large to share",
  },
  "test/gateway/upstream/node-batches.integration.test.ts": {
    "reads per batch to the node": "is split into batches of the configured size",
    "response size of a batch to the node": "is read up to a limit; calls beyond it are sent individually",
  },
};
const triedElsewhere = new Map(
  Object.entries(triedIn).flatMap(([file, titles]) =>
    Object.entries(titles).map(([resource, title]) => [resource, { file, title }] as const),
  ),
);

/** The tests in test/bounds/, each named after its limit. */
const bounds = readdirSync(join(root, "test/bounds"))
  .filter((name) => name.endsWith(".test.ts"))
  .map((name) => readFileSync(join(root, "test/bounds", name), "utf8"))
  .join("");

function settingAt(path: string): { exists: boolean; value: unknown } {
  let value: unknown = defaults;
  for (const key of path.split(".")) {
    if (typeof value !== "object" || value === null) return { exists: false, value: undefined };
    value = Object.entries(value).find(([name]) => name === key)?.[1];
  }
  return { exists: value !== undefined, value };
}

function findChild(schema: z.ZodType, key: string): z.ZodType {
  const object = schema instanceof z.ZodPrefault ? schema.def.innerType : schema;
  return z.instanceof(z.ZodType).parse(z.instanceof(z.ZodObject).parse(object).shape[key]);
}

describe("the list of limits", () => {
  it("lists many settings, each once", () => {
    expect(named.length).toBeGreaterThan(30);
    expect(new Set(named.map(({ name }) => name)).size).toBe(named.length);
  });

  it.each(named)("states the actual default of $name: $stated", ({ name, stated }) => {
    const number = numberIn(stated);
    if (number === undefined) {
      // A default derived from the machine: the setting, or constant, exists without a value.
      const section = name.split(".").slice(1, -1).reduce<z.ZodType>(findChild, gatewaySection);
      expect(findChild(section, name.split(".").at(-1) ?? "")).toBeInstanceOf(z.ZodType);
      expect(settingAt(name).exists).toBe(false);
    } else expect(settingAt(name).value).toBe(number);
  });

  it("lists settings of other services too", () => {
    expect(namedElsewhere.length).toBeGreaterThan(15);
  });

  it.each(namedElsewhere)("states the actual default of $name ($resource): $stated", ({ resource, name, stated }) => {
    // A setting whose default is derived from the machine has no value itself.
    expect(defaultOf(resource, name)).toBe(numberIn(stated));
  });

  it("lists many limits", () => {
    expect(resources.length).toBeGreaterThan(50);
  });

  it.each(resources)("has a test for %s", (resource) => {
    const elsewhere = triedElsewhere.get(resource);
    const text = elsewhere === undefined ? bounds : readFileSync(join(root, elsewhere.file), "utf8");
    expect(text).toContain(`"${elsewhere?.title ?? `limits the ${resource}`}`);
  });

  it("has no entries for unlisted limits", () => {
    expect([...triedElsewhere.keys()].filter((resource) => !resources.includes(resource))).toEqual([]);
  });
});
