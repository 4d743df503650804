import { expect, test } from "vitest";
import { resolveVersion, type VersionSources } from "./version-resolution.ts";

const createReported = (text: string) => ({ text, isCurrent: true });
const resolveSource = (sources: VersionSources) => resolveVersion(sources).source;
const last = (text: string) => ({ text, isCurrent: false });

test("prefers the node itself to node_cli, the setting and the image, and reports any disagreement", () => {
  const all = {
    binary: createReported("0.15.2"),
    setting: "0.15.3",
    nodeCli: "node_cli 0.15.0",
    image: "node:0.15.1",
    clientVersion: createReported("node/v0.15.4/linux"),
    clientName: "node",
  };
  expect(resolveVersion(all)).toMatchObject({
    source: "debug_protocolVersion",
    version: { release: "0.15.2" },
    disagreements: [
      "web3_clientVersion says 0.15.4",
      "node_cli --version says 0.15.0",
      "node.version says 0.15.3",
      "the image's tag says 0.15.1",
    ],
  });
  const { setting, nodeCli, image, clientVersion, clientName } = all;
  const stale = last("node/v0.15.4/linux");
  expect(resolveSource({ setting, nodeCli, image, clientVersion, clientName })).toBe("web3_clientVersion");
  expect(resolveSource({ setting, nodeCli, image, clientVersion })).toBe("node_cli --version");
  expect(resolveSource({ setting, image, clientVersion: stale, clientName })).toBe("node.version");
  expect(resolveSource({ image, clientVersion: stale, clientName })).toBe("the image's tag");
  expect(resolveSource({ clientVersion: stale, clientName })).toBe(
    "web3_clientVersion, before the node stopped responding",
  );
  expect(resolveSource({ clientVersion })).toBeUndefined();
});

test("prefers the node's own report to a setting left behind by an upgrade", () => {
  const { version, doubt } = resolveVersion({ binary: createReported("0.16.2"), setting: "0.15.0" });
  expect([version?.release, doubt]).toEqual(["0.16.2", undefined]);
});

test("treats key names as uncertain while node_cli and the running node differ in version", () => {
  const stagedSources = { binary: createReported("0.15.2"), nodeCli: "node_cli 0.16.2" };
  expect(resolveVersion(stagedSources).doubt).toBe(
    "debug_protocolVersion reports 0.15.2, but node_cli --version reports 0.16.2; restart the node to finish the upgrade",
  );
  expect(resolveVersion({ ...stagedSources, nodeCli: "node_cli 0.15.9" }).doubt).toBeUndefined();
});

test("trusts the binaries' version although a setting contradicts it", () => {
  expect(resolveVersion({ setting: "0.15.0", nodeCli: "node_cli 0.16.2" })).toMatchObject({
    version: { release: "0.16.2" },
    disagreements: ["node.version says 0.15.0"],
  });
  expect(resolveVersion({ setting: "0.15.0", nodeCli: "node_cli 0.16.2" }).doubt).toBeUndefined();
});

test("uses the last version reported before the node went down, but not for key names", () => {
  expect(resolveVersion({ binary: last("0.15.2"), setting: "0.15.2" })).toMatchObject({
    source: "debug_protocolVersion, before the node stopped responding",
    version: { release: "0.15.2" },
    doubt: expect.stringMatching(
      /^the node reported 0\.15\.2 before it stopped responding, and may restart as another/,
    ),
  });
});

test("if no source reports a usable version, keeps what was reported for the operator who has to set it", () => {
  expect(resolveVersion({})).toEqual({ disagreements: [], heard: [] });
  expect(
    resolveVersion({
      binary: createReported("unknown"),
      nodeCli: "\n",
      image: "evm/node:latest",
      clientVersion: createReported("Reth/v1.3.12-abc/x86_64-linux"),
    }),
  ).toEqual({
    disagreements: [],
    heard: [
      'debug_protocolVersion returns binaryVersion "unknown"',
      'the image is "evm/node:latest"',
      'web3_clientVersion returns "Reth/v1.3.12-abc/x86_64-linux"',
    ],
  });
});
