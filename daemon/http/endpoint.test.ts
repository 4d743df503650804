import { expect, test } from "vitest";
import { parseHttpEndpoint } from "./endpoint.ts";

test("removes credentials from the URL and sends them as Basic authentication", () => {
  const { url, headers } = parseHttpEndpoint("https://user:p%40ss@node.example/rpc?key=1");
  expect(url).toBe("https://node.example/rpc?key=1");
  expect(headers).toEqual({ Authorization: `Basic ${btoa("user:p@ss")}` });
});

test("keeps a percent sign that isn't an escape", () => {
  expect(parseHttpEndpoint("http://user:50%@node").headers).toEqual({ Authorization: `Basic ${btoa("user:50%")}` });
});

test("keeps a URL without credentials", () => {
  expect(parseHttpEndpoint("http://node:18100")).toEqual({ url: "http://node:18100", headers: {} });
});
