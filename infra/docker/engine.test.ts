import { once } from "node:events";
import { createServer } from "node:http";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, describe } from "vitest";
import { readEngineTraits, formatEngineCpus, formatEngineDuration } from "./engine.ts";

/** An engine that returns these headers at `/_ping`, and this document at `/version`. */
async function engineSaying(headers: Readonly<Record<string, string>>, version: unknown = {}) {
  const path = join(mkdtempSync(join(tmpdir(), "gatehouse-engine-")), "docker.sock");
  const server = createServer(({ url }, response) =>
    response.writeHead(200, headers).end(url === "/version" ? JSON.stringify(version) : "OK"),
  );
  await once(server.listen(path), "listening");
  return {
    dockerEngine: `unix://${path}`,
    [Symbol.asyncDispose]: async () => void (await server[Symbol.asyncDispose]()),
  };
}

const configured = { imageArchitecture: "auto" } as const;

it.each([
  { api: "1.41", builder: undefined, expected: { builder: "BuilderV1", startInterval: false } },
  { api: "1.43", builder: "2", expected: { builder: "BuilderBuildKit", startInterval: false } },
  { api: "1.44", builder: "2", expected: { builder: "BuilderBuildKit", startInterval: true } },
  { api: "1.52", builder: "1", expected: { builder: "BuilderV1", startInterval: true } },
])("detects the builder and start interval of an engine with API $api", async ({ api, builder, expected }) => {
  await using engine = await engineSaying({ "Api-Version": api, ...(builder && { "Builder-Version": builder }) });
  expect(await readEngineTraits({ ...configured, dockerEngine: engine.dockerEngine })).toMatchObject(expected);
});

it("assumes BuildKit, amd64 and no start interval for a remote engine", async () => {
  expect(await readEngineTraits({ ...configured, dockerEngine: "ssh://ops@host.example" })).toEqual({
    builder: "BuilderBuildKit",
    architecture: "amd64",
    startInterval: false,
  });
});

describe("the image architecture", () => {
  it.each([
    { answers: "arm64", expected: "arm64" },
    { answers: "amd64", expected: "amd64" },
    { answers: "s390x", expected: "amd64" },
  ] as const)("is $expected for an $answers engine", async ({ answers, expected }) => {
    await using engine = await engineSaying({}, { Arch: answers });
    const { architecture } = await readEngineTraits({ ...configured, dockerEngine: engine.dockerEngine });
    expect(architecture).toBe(expected);
  });

  it("is the configured one, even for a remote engine", async () => {
    await using engine = await engineSaying({}, { Arch: "s390x" });
    for (const dockerEngine of [engine.dockerEngine, "ssh://ops@host.example"]) {
      const { architecture } = await readEngineTraits({ ...configured, imageArchitecture: "arm64", dockerEngine });
      expect(architecture).toBe("arm64");
    }
  });
});

describe("values in the engine's own format", () => {
  it.each([
    [1, "1.0"],
    [2, "2.0"],
    [0.5, "0.5"],
    [0.25, "0.25"],
    [1.5, "1.5"],
  ])("represent %d CPUs as %s", (cpus, text) => {
    expect(formatEngineCpus(cpus)).toBe(text);
  });

  it.each([
    [5, "5s"],
    [60, "1m0s"],
    [90, "1m30s"],
    [300, "5m0s"],
    [3_661, "1h1m1s"],
  ])("represent %d seconds as %s", (seconds, text) => {
    expect(formatEngineDuration(seconds)).toBe(text);
  });
});
