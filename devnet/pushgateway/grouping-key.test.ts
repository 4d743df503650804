import { expect, test } from "vitest";
import { parseGroupingKey } from "./grouping-key.ts";

test.each([
  ["job/node-1", { job: "node-1" }],
  ["job/a%20b/instance/10.0.0.1%3A9100", { job: "a b", instance: "10.0.0.1:9100" }],
  ["job@base64/YS9i", { job: "a/b" }],
  ["job@base64/YS9i/path@base64/=", { job: "a/b", path: "" }],
  ["job/a/b/c/b/d", { job: "a", b: "d" }],
  ["job/a/job/c", { job: "a" }],
])("%s names a group", (path, labels) => {
  expect(Object.fromEntries(parseGroupingKey(path))).toEqual(labels);
});

test.each([
  ["job/", "job name is required"],
  ["job/a/b", 'odd number of components in label string "/b"'],
  ["job/a%2Fb", 'odd number of components in label string "/b"'],
  ["job/a/b-b/c", 'improper label name "b-b"'],
  ["job/a/__b/c", 'improper label name "__b"'],
  ["job@base64/%21%21", 'invalid base64 encoding in job "!!"'],
  ["job/%ff", 'invalid percent encoding in "job/%ff"'],
])("%s is refused", (path, reason) => {
  expect(() => parseGroupingKey(path)).toThrow(reason);
});
