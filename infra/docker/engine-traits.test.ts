import { once } from "node:events";
import { createServer } from "node:http";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { engineTraits } from "./engine-traits.ts";

/** An engine that says these headers at `/_ping`. */
async function engineSaying(headers: Readonly<Record<string, string>>) {
  const path = join(mkdtempSync(join(tmpdir(), "gatehouse-engine-")), "docker.sock");
  const server = createServer((_request, response) => response.writeHead(200, headers).end("OK"));
  await once(server.listen(path), "listening");
  return {
    dockerEngine: `unix://${path}`,
    [Symbol.asyncDispose]: async () => void (await server[Symbol.asyncDispose]()),
  };
}

it.each([
  { api: "1.41", builder: undefined, expected: { builder: "BuilderV1", startInterval: false } },
  { api: "1.43", builder: "2", expected: { builder: "BuilderBuildKit", startInterval: false } },
  { api: "1.44", builder: "2", expected: { builder: "BuilderBuildKit", startInterval: true } },
  { api: "1.52", builder: "1", expected: { builder: "BuilderV1", startInterval: true } },
])("an engine of API $api is asked for what it knows", async ({ api, builder, expected }) => {
  await using engine = await engineSaying({ "Api-Version": api, ...(builder && { "Builder-Version": builder }) });
  expect(await engineTraits({ imageBuilder: "auto", dockerEngine: engine.dockerEngine })).toEqual(expected);
});

it("a builder that the configuration names is taken whatever the engine recommends", async () => {
  await using engine = await engineSaying({ "Api-Version": "1.44", "Builder-Version": "2" });
  const { builder } = await engineTraits({ imageBuilder: "classic", dockerEngine: engine.dockerEngine });
  expect(builder).toBe("BuilderV1");
});

it("an engine on another machine is not asked, and gets no start interval", async () => {
  expect(await engineTraits({ imageBuilder: "auto", dockerEngine: "ssh://ops@host.example" })).toEqual({
    builder: "BuilderBuildKit",
    startInterval: false,
  });
});
