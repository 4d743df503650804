import { expect, test } from "vitest";
import { formatValue, withoutSecretShapes } from "./secret-shapes.ts";
import { measureCpuMs } from "#daemon/testing/thread-cpu.ts";

const pemLine = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";

test.each([
  [`// old key 0x${"ab".repeat(32)}, not used`, "// old key [secret], not used"],
  ["// push to https://bob:hunter2@push.example", "// push to https://[secret]@push.example"],
  ['// "api_key": "abcdefgh",', '// "api_key": [secret],'],
  ["/* password = hunter22 */", "/* password = [secret] */"],
  [`-----BEGIN PRIVATE KEY-----\n${pemLine}\n-----END PRIVATE KEY-----`, "[secret]"],
  [` ${pemLine}`, " [secret]"],
  ["// token_value: hunter22", "// token_value: [secret]"],
  ["// sent as ghp_16C7e42F292c6912E771", "// sent as [secret]"],
  ["// legal winner thank year wave sausage worth useful legal winner thank yellow", "// [secret]"],
])("masks the secret in %j", (text, masked) => {
  expect(withoutSecretShapes(text)).toBe(masked);
});

test.each([
  "// the operator's own words, which say where the token is kept and who may read it",
  "// password: stored in the vault",
  '"domain_key_path": "/data/node/keys/production/validators/0001/domain/keys/of/this/machine/X1"',
  '"secret_config": { "domain_key_path": "keys/domain.key" }',
  "// api key: /run/secrets/key1",
])("masks nothing in %j", (text) => {
  expect(withoutSecretShapes(text)).toBe(text);
});

test("truncates a long value and masks URL credentials", () => {
  expect(formatValue("a".repeat(100))).toBe(`"${"a".repeat(79)}…`);
  expect(formatValue({ url: "http://user:pass:word@h", at: "user:pw@h", plain: "a:b" })).toBe(
    '{"url":"http://[secret]@h","at":"[secret]@h","plain":"a:b"}',
  );
});

test("masks passwords and keys inside a value", () => {
  expect(formatValue({ key_pwd: "hunter2", pwd: 1234, domain_key: `0x${"ab".repeat(34)}`, at: "10.0.0.1" })).toBe(
    '{"key_pwd":"[secret]","pwd":"[secret]","domain_key":"[secret]","at":"10.0.0.1"}',
  );
});

test("takes time proportional to the text's length", () => {
  const texts = [":", "//", "a:", "//:", "A-", "=a", 'key="', "eyJaaaa-"].map((part) =>
    part.repeat(65_536 / part.length),
  );
  // A text this long takes ten seconds if the search scans to the end from each character.
  expect(measureCpuMs(() => texts.forEach((text) => [formatValue(text), withoutSecretShapes(text)]))).toBeLessThan(
    2_000,
  );
});
