import { expect, it } from "vitest";
import { configSchema } from "../config/config-schema.ts";
import { findRegistryProblems } from "./registry-images.ts";

const parsed = configSchema.parse({ target: "kubernetes" });
const challenge = 'Bearer realm="https://auth.example/token",service="registry.example",scope="repository:a/b:pull"';

/** A registry that serves one repository with one tag to everyone or, if `guarded`, only to clients with its token. */
function registryOf({ guarded }: Readonly<{ guarded: boolean }>) {
  const asked: string[] = [];
  const fetch = async (input: string | URL | Request, init?: RequestInit) => {
    const url = String(input);
    asked.push(url);
    const isKnown = !guarded || new Headers(init?.headers).get("authorization") === "Bearer everybody";
    if (url.startsWith("https://auth.example/token?service=registry.example&scope=repository")) {
      return Response.json({ token: "everybody" });
    }
    if (!isKnown) return new Response("{}", { status: 401, headers: { "www-authenticate": challenge } });
    if (url === "https://registry.example/v2/a/b/tags/list?n=1") return Response.json({ tags: ["1"] });
    if (url === "https://registry.example/v2/a/b/manifests/1") return Response.json({});
    return Response.json({ errors: [] }, { status: 404 });
  };
  return { fetch, asked };
}

it.each([{ guarded: false }, { guarded: true }])("reports an image missing from its registry: %o", async (kind) => {
  const { fetch } = registryOf(kind);
  const there = await findRegistryProblems({ ...parsed, gatehouseImage: "registry.example/a/b:1" }, { fetch });
  expect(there).toEqual([]);
  const wrong = `registry.example/a/b@sha256:${"1".repeat(64)}`;
  const problems = await findRegistryProblems({ ...parsed, nodeImage: wrong }, { fetch });
  expect(problems.map(({ key, message }) => `${key}: ${message}`)).toEqual([
    `nodeImage: found ${wrong}, but registry.example has no sha256:${"1".repeat(64)} in a/b. Push it, or correct it with \`pulumi config set nodeImage …\`.`,
  ]);
});

it("skips an image that a registry hides from anonymous clients", async () => {
  const { fetch, asked } = registryOf({ guarded: false });
  expect(await findRegistryProblems({ ...parsed, gatehouseImage: "registry.example/hidden/b:1" }, { fetch })).toEqual(
    [],
  );
  expect(await findRegistryProblems({ ...parsed, gatehouseImage: "b:1" }, { fetch })).toEqual([]);
  expect(asked).toEqual(["https://registry.example/v2/hidden/b/tags/list?n=1"]);
});

it("requests no image that the stack does not run", async () => {
  const { fetch, asked } = registryOf({ guarded: false });
  const nodeImage = "registry.example/a/b:1";
  const routes = { "GET /data": { upstream: "http://data.example" } };
  const config = { ...parsed, nodeImage, routes, devnetImage: "registry.example/a/b:2" };
  expect(await findRegistryProblems(config, { fetch })).toEqual([]);
  expect(asked.join()).not.toContain("manifests/2");
});

it("ignores an unreachable registry", async () => {
  const config = { ...parsed, gatehouseImage: "registry.example/a/b:1" };
  expect(await findRegistryProblems(config, { fetch: () => Promise.reject(new TypeError("fetch failed")) })).toEqual(
    [],
  );
});
