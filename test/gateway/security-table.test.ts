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

/** Settings of services other than the gateway, by the rows' wording; those of no named service are the sidecar's. */
const services: readonly Readonly<{ of: RegExp; schema: z.ZodObject }>[] = [
  { of: /engine proxy/, schema: engineProxySettings.schema },
  { of: /facilitator|ledger/, schema: facilitatorSettings.schema },
  { of: /resource server|payments|upstream's response/, schema: resourceServerSettings.schema },
  { of: /./, schema: sidecarSettings.schema },
];

/** A setting named by an item, and the default stated after it. */
type Named = Readonly<{ name: string; stated: string }>;

const named: readonly Named[] = [...table.matchAll(/`(gateway\.[\w.]+)`, ([^;→\n]*)/g)].map(
  ([, name = "", stated = ""]) => ({ name, stated: stated.trim() }),
);

/** Settings of other services whose default a row states after the name. */
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

/** Limits reached by tests elsewhere: the file, and the start of the test's title. */
const triedElsewhere: Readonly<Record<string, readonly [file: string, title: string]>> = {
  "queued log lines of a service": [
    "test/daemon/log-reader.integration.test.ts",
    "limits the memory held for a stalled reader",
  ],
  "new tokens verified per address (IPv6: /64)": [
    "test/gateway/callers/callers.integration.test.ts",
    "have a limited number of new tokens verified per address",
  ],
  "payment history of a page": [
    "status/page/payment-figures.test.ts",
    "shows an hour of payments, and how many days the signer's balance lasts at that rate",
  ],
  "calls queued for a facilitator's node": [
    "facilitator/chain/batching-client.test.ts",
    "rejects calls beyond 20,000 in a queue",
  ],
  "memory for all clients and the cache": [
    "test/gateway/memory-bounds.integration.test.ts",
    "shrinks the cache under pressure, and leaks no memory in the end",
  ],
  "memory per address (IPv6: /64)": [
    "test/gateway/memory-bounds.integration.test.ts",
    "limits the memory held per address, while a different address still gets responses",
  ],
  "memory per connection": [
    "test/gateway/memory-bounds.integration.test.ts",
    "limits the memory held per connection and rejects the excess",
  ],
};

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
    const [file, title] = triedElsewhere[resource] ?? [];
    const text = file === undefined ? bounds : readFileSync(join(root, file), "utf8");
    expect(text).toContain(`"${title ?? `limits the ${resource}`}`);
  });

  it("has no entries for unlisted limits", () => {
    expect(Object.keys(triedElsewhere).filter((resource) => !resources.includes(resource))).toEqual([]);
  });
});
