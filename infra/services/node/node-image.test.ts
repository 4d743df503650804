import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { deploymentSecret } from "../../config/pulumi-config.ts";
import { findMissingValues } from "../../preflight/preflight.ts";
import { parseConfig } from "../../stack-config.ts";
import { listConfigProblems } from "../../testing/config-problems.ts";
import { chooseNodeFamily, listPlacedFiles } from "./node-image.ts";

const directory = mkdtempSync(join(tmpdir(), "gatehouse-node-image-"));
const generic = { nodeImage: "registry.example/node:0.16.2", nodeUser: "1000", hostIp: "203.0.113.10" };
const tagged = { nodeImage: "registry.example/node:community_v0.12.2_f301031a_0422", hostIp: "203.0.113.10" };

afterAll(() => rmSync(directory, { recursive: true }));

const problemsOf = (raw: Readonly<Record<string, string>>) => listConfigProblems(() => parseConfig(raw));
const missing = (raw: Readonly<Record<string, string>>) => findMissingValues(parseConfig(raw)).map(({ key }) => key);

describe("the image of a stack's node", () => {
  it("determines the node family and user, unless the stack sets them", () => {
    expect(chooseNodeFamily(parseConfig(generic)).name).toBe("generic");
    expect(chooseNodeFamily(parseConfig(tagged)).name).toBe("pharos");
    expect(chooseNodeFamily(parseConfig({ ...generic, nodeFamily: "pharos" })).name).toBe("pharos");
    expect(parseConfig(tagged).nodeUser).toBe(1_000);
    expect(parseConfig({ ...tagged, nodeUser: "2000" }).nodeUser).toBe(2_000);
    expect(problemsOf({ ...generic, nodeUser: "" })).toEqual([expect.stringMatching(/^nodeUser: missing/)]);
  });

  it("requires a key password, and a genesis file unless data is restored, for pharos nodes", () => {
    expect(missing(tagged)).toEqual(expect.arrayContaining(["nodeKeysPassword", "nodeGenesis"]));
    const restore = JSON.stringify({ url: "https://snapshots.example/chain.tar", sha256: "ab".repeat(32) });
    expect(missing({ ...tagged, nodeKeysPassword: "x", restore })).not.toContain("nodeGenesis");
    expect(missing(generic)).not.toContain("nodeKeysPassword");
  });

  it("accepts files as text or as a path on this machine", () => {
    const file = join(directory, "genesis.conf");
    writeFileSync(file, "from a file");
    const config = parseConfig({ ...tagged, nodeGenesis: `file:${file}`, nodeForks: "as text" });
    expect(listPlacedFiles(config, deploymentSecret)).toEqual([
      { path: "/data/genesis.conf", content: "from a file" },
      { path: "/data/bin/VERSION", content: "as text" },
    ]);
    expect(problemsOf({ ...tagged, nodeGenesis: `file:${directory}/none` })).toEqual([
      `nodeGenesis: found file:${directory}/none, but the file does not exist; expected file: and the absolute path of a file on this machine. Correct it with \`pulumi config set nodeGenesis …\`.`,
    ]);
    writeFileSync(file, Uint8Array.of(0x30, 0x82, 0x0a));
    expect(problemsOf({ ...tagged, nodeGenesis: `file:${file}` })).toEqual([
      `nodeGenesis: found file:${file}, but the file can't be read (line 1, byte offset 1, is not UTF-8; save the file as UTF-8); expected a readable text file. Correct it with \`pulumi config set nodeGenesis …\`.`,
    ]);
  });
});
