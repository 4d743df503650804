import { describe, expect, test } from "vitest";
import {
  compareProgram,
  identifyProgram,
  listImageCommits,
  parseBinaryVersion,
  parseClientVersion,
  parseImageVersion,
  parseNodeCliVersion,
  nodeReleases,
  parseNodeVersion,
  findRelease,
  findReleaseOfText,
} from "./versions.ts";

test.each([
  ["0.16.2", "0.16.2"],
  ["v0.11", "0.11.0"],
  ["0.16.0-rc.1\n", "0.16.0"],
  ["0.16.2+build.7", "0.16.2"],
  ["node_cli 0.16.2", undefined],
  ["linux-5.15.0", undefined],
  ["01.2.3", undefined],
  ["0.16.2.1", undefined],
  ["no version", undefined],
])("parses %j as release %s", (text, release) => {
  expect(parseNodeVersion(text)?.release).toBe(release);
});

test.each([
  ["0.15.2", "0.15.2"],
  ["v0.16.0-rc.1", "0.16.0"],
  ["node v0.16.2 (rustc 1.80.0, linux 5.15.0)", "0.16.2"],
  ["node/linux-5.15.0/v0.15.2", "0.15.2"],
  ["v0.15.2, 0.15.2", "0.15.2"],
  ["0.15.2 5.15.0", undefined],
  ["unknown", undefined],
])("parses binaryVersion %j as release %s", (text, release) => {
  expect(parseBinaryVersion(text)?.release).toBe(release);
});

test.each([
  ["node_cli 0.16.2\n", "0.16.2"],
  ["0.16.2\ngo 1.22.1", "0.16.2"],
  ["node_cli v0.16.0-rc.1 (abc123)", "0.16.0"],
  ["node_cli version 0.15.9, built 2026-01-02", "0.15.9"],
  ["error: unknown option --version, see manual 2.1", undefined],
  ["usage: node_cli prune --c <config_path>", undefined],
  ["version 0.16.2", "0.16.2"],
  ["Version: v0.16.2", "0.16.2"],
  ["v0.16.2", "0.16.2"],
  ["./bin/node-tool version 0.16.2", "0.16.2"],
  ["glibc 2.39", undefined],
  ["openssl version 3.0.13", undefined],
  ["libevmone.so 0.11.0", undefined],
  ["libnode 20.1.0", undefined],
  ["pruner 0.16.2", undefined],
  ["", undefined],
])("parses the node_cli --version output %j as release %s", (output, release) => {
  expect(parseNodeCliVersion(output)?.release).toBe(release);
});

test("accepts the tool's own name before its version", () => {
  expect(parseNodeCliVersion("pruner version 0.16.2", "/opt/bin/pruner")?.release).toBe("0.16.2");
  expect(parseNodeCliVersion("glibc 2.39", "/opt/bin/pruner")).toBeUndefined();
});

describe("parseClientVersion", () => {
  test.each([
    ["Reth/v1.3.12-abc/x86_64-linux", undefined],
    ["Geth/v1.15.0-stable/linux-amd64/go1.23.5", undefined],
    ["node/linux-5.15.0/v0.15.2", undefined],
    ["linux/5.15.0", undefined],
    ["node", undefined],
    ["node/v0.15.2/linux-5.15.0/go1.22", "0.15.2"],
    ["Node/0.15.2", "0.15.2"],
  ])("parses %j of the client named node as release %s", (answer, release) => {
    expect(parseClientVersion(answer, "node")?.release).toBe(release);
  });

  test("returns undefined for an unknown client name", () => {
    expect(parseClientVersion("node/v0.15.2/linux/go1.22", undefined)).toBeUndefined();
  });
});

test.each([
  ["0.10.3", "client-bin", false, "pamir"],
  ["0.10.9", "client-bin", false, "pamir"],
  ["v0.11", "workspace-bin", true, "pamir"],
  ["0.11.0-rc.1", "workspace-bin", true, "pamir"],
  ["0.15.9", "workspace-bin", true, "pamir"],
  ["0.16.0-beta.2", "workspace-bin", true, "storage"],
  ["0.16.2", "workspace-bin", true, "storage"],
  ["1.0.0+build.7", "workspace-bin", true, "storage"],
  ["1.2.3", "workspace-bin", true, "storage"],
])("maps %s to the layout %s, node_cli --c %s and %s keys", (text, layout, nodeCliTakesConfig, naming) => {
  expect(findReleaseOfText(text)).toMatchObject({ layout, nodeCliTakesConfig, naming });
  const version = parseNodeVersion(text);
  expect(version && findRelease(version)).toBe(findReleaseOfText(text));
});

test("rejects a text that is not a version", () => {
  expect(() => findReleaseOfText("latest")).toThrow('"latest" is not a version; expected one such as 0.16.2');
});

test("lists releases in order, with one set of keys per naming", () => {
  const starts = nodeReleases.map(({ since }) => since);
  expect(starts).toEqual(starts.toSorted((a, b) => a.localeCompare(b, "en", { numeric: true })));
  for (const { naming, monitorKeys } of nodeReleases) {
    const same = nodeReleases.filter((release) => release.naming === naming);
    expect(same.map((release) => release.monitorKeys)).toEqual(same.map(() => monitorKeys));
  }
});

test.each([
  ["registry.example:5000/node:0.16.2", "0.16.2"],
  ["registry.example:5000/node", undefined],
  ["node:v0.15.0@sha256:0000", "0.15.0"],
  ["node:0.15.0-ubuntu22.04", "0.15.0"],
  ["node:ubuntu22.04-0.15.0", undefined],
  ["node:2026.11.1", undefined],
  ["registry.example/node:community_v0.12.2_f301031a_0422", "0.12.2"],
  ["registry.example/node:v0.15.1_895c8f87e", "0.15.1"],
  ["node:community_v0.12.2", undefined],
  ["node:latest", undefined],
])("parses the image %s as release %s", (image, release) => {
  expect(parseImageVersion(image)?.release).toBe(release);
});

describe("a program that reports a commit", () => {
  const commits = { f301031a: "0.12.2" };
  const identify = (text: string) => identifyProgram(text, parseBinaryVersion, commits);

  test("is identified by the commit and the commit's release in the table", () => {
    expect(identify("f301031a9-dirty\n")).toMatchObject({ commit: "f301031a9-dirty", version: { release: "0.12.2" } });
    expect(identify("d6d98fd33")).toEqual({ commit: "d6d98fd33", version: undefined });
    expect(identify("node v0.16.2")).toMatchObject({ version: { release: "0.16.2" } });
    for (const text of ["", "unknown", "d6d98", "d6d98fd33 main", "Error: d6d98fd33"])
      expect(identify(text)).toBeUndefined();
  });

  test("equals a program whose commit has the same prefix, unless one is dirty", () => {
    expect(compareProgram({ commit: "f301031a" }, { commit: "f301031a9" })).toBe("same");
    expect(compareProgram({ commit: "f301031a9" }, { commit: "f301031a9-dirty" })).toBe("other");
    expect(compareProgram({ commit: "f301031a9" }, { version: parseNodeVersion("0.12.2") })).toBe("unknown");
  });

  test("gets its release from an image tag with the commit", () => {
    expect(listImageCommits("registry.example/node:community_v0.13.1_1a2b3c4d_0501", undefined, "node:0.16.2")).toEqual(
      {
        "1a2b3c4d": "0.13.1",
      },
    );
  });
});
