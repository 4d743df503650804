import { expect, it } from "vitest";
import { formatValue } from "./shown-value.ts";

it("shows a value short, and without the credentials of a URL", () => {
  expect(formatValue("a".repeat(100))).toBe(`"${"a".repeat(79)}…`);
  expect(formatValue({ url: "http://user:pass:word@h", at: "user:pw@h", plain: "a:b" })).toBe(
    '{"url":"http://[secret]@h","at":"[secret]@h","plain":"a:b"}',
  );
});

it("shows no password or key that is part of a value", () => {
  expect(formatValue({ key_pwd: "hunter2", pwd: 1234, domain_key: `0x${"ab".repeat(34)}`, at: "10.0.0.1" })).toBe(
    '{"key_pwd":"[secret]","pwd":"[secret]","domain_key":"[secret]","at":"10.0.0.1"}',
  );
});

it("takes a time by a value's length alone", () => {
  const beganMs = performance.now();
  for (const part of [":", "//", "a:", "//:"]) formatValue(part.repeat(65_536 / part.length));
  // This many colons took ten seconds when each was tried as the one between user and password.
  expect(performance.now() - beganMs).toBeLessThan(2_000);
});
