import { expect, test } from "vitest";
import { createAllowedHostCheck } from "./address.ts";

test.each([
  ["127.0.0.1:9600", true],
  ["127.0.0.1", true],
  ["[::1]:9600", true],
  ["localhost:9600", true],
  ["LOCALHOST", true],
  ["10.1.2.3:9600", true],
  ["status.example", true],
  ["Status.Example:443", true],
  ["evil.example:9600", false],
  ["localhost.evil.example", false],
  ["127.0.0.1.evil.example", false],
  ["", false],
  [undefined, false],
])("a loopback listener accepts only listed names: Host %s: %s", (header, isAllowed) => {
  expect(createAllowedHostCheck({ host: "127.0.0.1", allowedHosts: ["status.example"] })(header)).toBe(isAllowed);
});

test("any other listener accepts all names unless some are listed", () => {
  expect(createAllowedHostCheck({ host: "0.0.0.0", allowedHosts: [] })("node-0.gatehouse.svc:9600")).toBe(true);
  expect(createAllowedHostCheck({ host: "0.0.0.0", allowedHosts: ["status.example"] })("node-0.gatehouse.svc")).toBe(
    false,
  );
});
