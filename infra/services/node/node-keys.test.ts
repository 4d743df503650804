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

const refused = (raw: Readonly<Record<string, string>>) => () => parseConfig(raw);

describe("the keys of a real node", () => {
  it("are requested before anything is made, with every way to give them on that target", () => {
    expect(missing(real)).toEqual([
      "domainKey: missing; expected the node's key for chain.secret_config.domain_key_path in node.conf. Set it with `pulumi config set --secret domainKey < domain.key`, or put domain.key and stabilizing.key in a directory on the Docker host, with mode 0400 and owned by user 1000, and `pulumi config set nodeKeysDirectory /that/directory`.",
      expect.stringMatching(
        /^stabilizingKey: missing; .*stabilizing_key_path in node\.conf\. .* --secret stabilizingKey < stabilizing\.key/,
      ),
    ]);
    expect(missing(cluster)[0]).toContain(
      "or create a Secret with `kubectl -n gatehouse create secret generic node-keys --from-file=domain.key --from-file=stabilizing.key` and `pulumi config set nodeKeysSecret node-keys`.",
    );
  });

  it("are enough from one place, and the devnet needs none", () => {
    for (const raw of [{}, { ...real, ...keys }, { ...real, nodeKeysDirectory: "/srv/keys" }]) {
      expect(missing(raw)).toEqual([]);
    }
    expect(missing({ ...cluster, nodeKeysSecret: "vault-made" })).toEqual([]);
    expect(missing({ ...real, domainKey: "one" })).toEqual([expect.stringMatching(/^stabilizingKey: missing/)]);
  });

  it("are refused from two places, from one that the target does not have, and with the devnet", () => {
    expect(refused({ ...real, ...keys, nodeKeysDirectory: "/srv/keys" })).toThrow(
      "gatehouse:nodeKeysDirectory: found together with domainKey; only one source of keys is allowed",
    );
    expect(refused({ ...real, nodeKeysSecret: "vault-made" })).toThrow(
      "nodeKeysSecret: found together with target docker",
    );
    expect(refused({ ...cluster, nodeKeysDirectory: "/srv" })).toThrow(
      "nodeKeysDirectory: found together with target kube",
    );
    expect(refused(keys)).toThrow("domainKey: found without nodeImage");
    expect(refused({ ...real, nodeKeysDirectory: "keys" })).toThrow(
      "expected an absolute directory of the Docker host",
    );
    expect(refused({ ...real, ...keys, domainKey: "x".repeat(70_000) })).toThrow("found an invalid value");
  });
});

describe("keys in a directory of this Docker host", () => {
  const directory = mkdtempSync(join(tmpdir(), "gatehouse-keys-"));
  const domain = join(directory, "domain.key");
  const user = process.getuid?.() ?? 0;
  const found = (nodeUser: number) =>
    findHostKeyProblems({ ...parseConfig({ ...real, nodeKeysDirectory: directory }), nodeUser }).map(
      ({ message }) => message,
    );
  afterAll(() => rmSync(directory, { recursive: true }));

  it("have to be there, of mode 0400, the node's user's own", () => {
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
