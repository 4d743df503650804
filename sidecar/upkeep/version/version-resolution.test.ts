import { expect, test } from "vitest";
import { resolveVersion, type VersionSources } from "./version-resolution.ts";

const reported = (text: string) => ({ text, isCurrent: true });
const sourceOf = (sources: VersionSources) => resolveVersion(sources).source;
const last = (text: string) => ({ text, isCurrent: false });

test("the node itself counts before the setting, node_cli and the image; who disagrees is named", () => {
  const all = {
    binary: reported("0.15.2"),
    setting: "0.15.3",
    nodeCli: "node_cli 0.15.0",
    image: "node:0.15.1",
    clientVersion: "node/v0.15.4/linux",
    clientName: "node",
  };
  expect(resolveVersion(all)).toMatchObject({
    source: "debug_protocolVersion",
    version: { release: "0.15.2" },
    disagreements: [
      "node.version says 0.15.3",
      "node_cli --version says 0.15.0",
      "the image's tag says 0.15.1",
      "web3_clientVersion says 0.15.4",
    ],
  });
  const { setting, nodeCli, image, clientVersion, clientName } = all;
  expect(sourceOf({ setting, nodeCli, image, clientVersion, clientName })).toBe("node.version");
  expect(sourceOf({ nodeCli, image, clientVersion, clientName })).toBe("node_cli --version");
  expect(sourceOf({ image, clientVersion, clientName })).toBe("the image's tag");
  expect(sourceOf({ clientVersion, clientName })).toBe("web3_clientVersion");
  expect(sourceOf({ clientVersion })).toBeUndefined();
});

test("a setting that was left behind by an upgrade does not keep the node's own word from counting", () => {
  const { version, doubt } = resolveVersion({ binary: reported("0.16.2"), setting: "0.15.0" });
  expect([version?.release, doubt]).toEqual(["0.16.2", undefined]);
});

test("while node_cli is another version than the node that runs, no names are certain", () => {
  const staged = { binary: reported("0.15.2"), nodeCli: "node_cli 0.16.2" };
  expect(resolveVersion(staged).doubt).toBe(
    "debug_protocolVersion says 0.15.2, and node_cli --version says 0.16.2; restart the node to finish the upgrade",
  );
  expect(resolveVersion({ ...staged, nodeCli: "node_cli 0.15.9" }).doubt).toBeUndefined();
  expect(resolveVersion({ setting: "0.16.2", nodeCli: "node_cli 0.15.0" }).doubt).toBe(
    "node.version says 0.16.2, and node_cli --version says 0.15.0; correct node.version, or start the node",
  );
});

test("what the node said before it went down counts, but not for names", () => {
  expect(resolveVersion({ binary: last("0.15.2"), setting: "0.15.2" })).toMatchObject({
    source: "debug_protocolVersion, before the node stopped answering it",
    version: { release: "0.15.2" },
    doubt: expect.stringMatching(/^the node said 0\.15\.2 before it stopped answering, and may come back as another/),
  });
});

test("where nothing is a version of this node, what was heard is kept for the person who has to set it", () => {
  expect(resolveVersion({})).toEqual({ disagreements: [], heard: [] });
  expect(
    resolveVersion({
      binary: reported("unknown"),
      nodeCli: "\n",
      image: "evm/node:latest",
      clientVersion: "Reth/v1.3.12-abc/x86_64-linux",
    }),
  ).toEqual({
    disagreements: [],
    heard: [
      'debug_protocolVersion answers binaryVersion "unknown"',
      'the image is "evm/node:latest"',
      'web3_clientVersion answers "Reth/v1.3.12-abc/x86_64-linux"',
    ],
  });
});
