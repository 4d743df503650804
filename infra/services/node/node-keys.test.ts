import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { parseConfig } from "../../stack-config.ts";
import { findHostKeyProblems, findMissingValues } from "../../preflight/preflight.ts";

const real = { nodeImage: "registry.example/node:0.16.2", nodeUser: "1000", hostIp: "203.0.113.10" };
const cluster = {
  ...real,
  target: "kubernetes",
  gatehouseImage: "registry.example/g:1",
  devnetImage: "registry.example/d:1",
};
const keys = { domainKey: "one", stabilizingKey: "two" };
const missing = (raw: Readonly<Record<string, string>>) =>
  findMissingValues(parseConfig(raw))
    .filter(({ key }) => key.endsWith("Key") && key !== "signerPrivateKey")
    .map(({ key, message }) => `${key}: ${message}`);

describe("the keys of a real node", () => {
  it("are complete from any single source, and not needed by the devnet", () => {
    for (const raw of [{}, { ...real, ...keys }, { ...real, nodeKeysDirectory: "/srv/keys" }]) {
      expect(missing(raw)).toEqual([]);
    }
    expect(missing({ ...cluster, nodeKeysSecret: "vault-made" })).toEqual([]);
    expect(missing({ ...real, domainKey: "one" })).toEqual([expect.stringMatching(/^stabilizingKey: missing/)]);
  });
});

describe("keys in a host directory", () => {
  const directory = mkdtempSync(join(tmpdir(), "gatehouse-keys-"));
  const domain = join(directory, "domain.key");
  const user = process.getuid?.() ?? 0;
  const found = (nodeUser: number) =>
    findHostKeyProblems({ ...parseConfig({ ...real, nodeKeysDirectory: directory }), nodeUser }).map(
      ({ message }) => message,
    );
  afterAll(() => rmSync(directory, { recursive: true }));

  it("require mode 0400 and the node's user as owner", () => {
    writeFileSync(domain, "one", { mode: 0o640 });
    expect(found(user)).toEqual([
      `found ${domain} with mode 0640 owned by user ${user}; expected mode 0400 owned by user ${user}, which the node runs as. \`chown ${user} ${domain} && chmod 0400 ${domain}\`.`,
      `found no ${join(directory, "stabilizing.key")} (ENOENT). Put the key there.`,
    ]);
    writeFileSync(join(directory, "stabilizing.key"), "two", { mode: 0o400 });
    chmodSync(domain, 0o400);
    expect(found(user)).toEqual([]);
    expect(found(user + 1)[0]).toContain(
      `with mode 0400 owned by user ${user}; expected mode 0400 owned by user ${user + 1}`,
    );
  });
});
