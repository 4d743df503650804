import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { deploymentSecret } from "../../config/pulumi-config.ts";
import { ConfigError } from "../../config/config-problem.ts";
import { findMissingValues } from "../../preflight/preflight.ts";
import { parseConfig } from "../../stack-config.ts";
import { chooseNodeFamily, listPlacedFiles } from "./node-image.ts";

const directory = mkdtempSync(join(tmpdir(), "gatehouse-node-image-"));
const generic = { nodeImage: "registry.example/node:0.16.2", nodeUser: "1000", hostIp: "203.0.113.10" };
const tagged = { nodeImage: "registry.example/node:community_v0.12.2_f301031a_0422", hostIp: "203.0.113.10" };

afterAll(() => rmSync(directory, { recursive: true }));

function problemsOf(raw: Readonly<Record<string, string>>): readonly string[] {
  try {
    parseConfig(raw);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(({ key, message }) => `${key}: ${message}`);
    throw error;
  }
}

const missing = (raw: Readonly<Record<string, string>>) => findMissingValues(parseConfig(raw)).map(({ key }) => key);

describe("the image of a stack's node", () => {
  it("is of the family that the stack names, else of the one that its tag looks like, and runs as that one's user", () => {
    expect(chooseNodeFamily(parseConfig(generic)).name).toBe("generic");
    expect(chooseNodeFamily(parseConfig(tagged)).name).toBe("pharos");
    expect(chooseNodeFamily(parseConfig({ ...generic, nodeFamily: "pharos" })).name).toBe("pharos");
    expect(parseConfig(tagged).nodeUser).toBe(1_000);
    expect(parseConfig({ ...tagged, nodeUser: "2000" }).nodeUser).toBe(2_000);
    expect(problemsOf({ ...generic, nodeUser: "" })).toEqual([expect.stringMatching(/^nodeUser: missing/)]);
  });

  it("needs its keys' password and a genesis, unless its data are restored", () => {
    expect(missing(tagged)).toEqual(expect.arrayContaining(["nodeKeysPassword", "nodeGenesis"]));
    const restore = JSON.stringify({ url: "https://snapshots.example/chain.tar", sha256: "ab".repeat(32) });
    expect(missing({ ...tagged, nodeKeysPassword: "x", restore })).not.toContain("nodeGenesis");
    expect(missing(generic)).not.toContain("nodeKeysPassword");
  });

  it("takes files as text, or from this machine", () => {
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
  });

  it("uses or rejects every setting, and ignores none", () => {
    const settings = JSON.stringify({ node: { chain: { blockMs: 5 } } });
    expect(problemsOf({ settings })).toEqual([]);
    for (const image of [generic, tagged]) {
      expect(problemsOf({ ...image, settings })).toEqual([
        "settings.node.chain: found together with nodeImage, but they apply to the devnet. Configure a real node in its node.conf, nodeEnvironment and limits.node. Remove it with `pulumi config rm --path settings.node.chain`.",
      ]);
    }
    const entryPoint = { nodeKeysPassword: "hidden", nodeGenesis: "{}", nodeForks: "{}", nodeFiles: '{"a": "b"}' };
    expect(problemsOf({ ...generic, ...entryPoint }).map((line) => line.split(":")[0])).toEqual(
      Object.keys(entryPoint),
    );
    expect(problemsOf({ ...entryPoint, nodeFamily: "pharos" })).toHaveLength(5);
    const cluster = { target: "kubernetes", gatehouseImage: "g", devnetImage: "d" };
    expect(problemsOf({ ...tagged, ...cluster, nodeUlimits: '{"nofile": 5000}' })).toEqual([
      expect.stringMatching(/^nodeUlimits: found together with target kubernetes/),
    ]);
  });

  it("leaves the stack's own variables and places to the stack", () => {
    const taken = {
      nodeEnvironment: '{"CONSENSUS_KEY_PWD": "hidden", "OTHER": "fine"}',
      nodeFiles: '{"keys/domain.key": "hidden", "bin/VERSION": "x", "pharos.conf": "x", "log.conf": "fine"}',
    };
    const problems = problemsOf({ ...tagged, ...taken });
    expect(problems.map((line) => line.split(": found")[0])).toEqual([
      "nodeEnvironment.CONSENSUS_KEY_PWD",
      'nodeFiles["keys/domain.key"]',
      'nodeFiles["bin/VERSION"]',
      'nodeFiles["pharos.conf"]',
    ]);
    expect(problemsOf({ ...tagged, nodeFiles: '{"../etc/passwd": "hidden"}' }).join()).toMatch(
      /^nodeFiles.*an invalid value/,
    );
    expect(problems.join()).not.toContain("hidden");
  });
});
