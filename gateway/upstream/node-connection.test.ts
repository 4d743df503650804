import { expect, it } from "vitest";
import { parseNodeAddress } from "./node-connection.ts";

it.each([
  ["http://user:p%40ss@node", "user:p@ss"],
  ["http://user:50%@node", "user:50%"],
  ["https://:token@node", ":token"],
])("a request to %s carries its credentials", (url, credentials) => {
  const start = parseNodeAddress(url).requestStarts.of(2);
  expect(start).toContain(`\r\nAuthorization: Basic ${btoa(credentials)}\r\n`);
});
