import { expect, test } from "vitest";
import { nodeReleases, parseNodeVersion, type NodeRelease } from "../versions.ts";
import { matchesFingerprint, fingerprintConfig } from "./config-fingerprint.ts";
import { withRows } from "../testing/table-rows.ts";
import { readDocument } from "../testing/read-document.ts";

/** Whether replacing one text with the other requires a node restart. */
function needsRestart(before: string, after: string, version = "0.16.2"): boolean {
  return !matchesFingerprint(fingerprintConfig(readDocument(before)), readDocument(after), parseNodeVersion(version));
}

const config =
  '{"chain":{"monitor_config":{"storage_cetina_push_port":1,"own":2},"a":[1,2]},"big":12345678901234567890}';

test.each([
  ["comments and whitespace", "// words\n{ ", "{"],
  ["the order of keys", '"storage_cetina_push_port":1,"own":2', '"own":2,"storage_cetina_push_port":1'],
  ["a trailing comma", "[1,2]", "[1,2,]"],
  ["the escaping of a string", '"own"', '"\\u006fwn"'],
  ["keys of another version", '"own":2', '"own":2,"enable_pamir_cetina":true'],
])("ignores %s", (_, to, from) => {
  expect(needsRestart(config, config.replace(from, to))).toBe(false);
  expect(needsRestart(config, config.replace(to, from))).toBe(false);
});

test.each([
  ["a value", '_port":1', '_port":2'],
  ["the last digit of a number above 2^53", "12345678901234567890", "12345678901234567891"],
  ["the order of a list", "[1,2]", "[2,1]"],
  ["an unknown key", '"own":2', '"own":3'],
  ["the presence of a key", ',"own":2', ""],
  ["the effective one of two duplicate keys", '"a":[1,2]', '"a":[3],"a":[1,2]'],
])("detects a change of %s", (_, from, to) => {
  expect(needsRestart(config, config.replace(from, to))).toBe(true);
});

test("compares the metrics keys that the version reads, and all of them for an unknown version", () => {
  const other = config.replace('"own":2', '"own":2,"pamir_cetina_push_port":3');
  expect(needsRestart(config, other, "0.16.0")).toBe(false);
  expect(needsRestart(config, other, "0.15.0")).toBe(true);
  expect(needsRestart(config, other, "unknown")).toBe(true);
});

/** Fingerprints as stored by version 0.1.0, recorded from its code: storage_* keys, pamir keys, all others. */
const firstFormat: readonly (readonly [string, string, readonly string[]])[] = [
  [
    "storage_* keys and an unknown one",
    '{"chain":{"monitor_config":{"storage_enable_cetina":true,"storage_cetina_push_port":9091,"own":2},"a":[1,2]},"big":12345678901234567890}',
    [
      "c69f88141f3481e7af1d6dbc710130e9889bca9169cfe600521650538b4e7472",
      "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
      "9aa97f2cde22f79e51057e243a0a324c857d2b30a89fe63472a3641debb88d19",
    ],
  ],
  [
    "keys of both namings",
    '{"chain":{"monitor_config":{"storage_cetina_push_port":1,"pamir_cetina_push_port":2}}}',
    [
      "27f3ef77ea2aafae263edc350899e5c7da47252fcec6fd124200f7c5dd7db7ac",
      "7c38d833912c5ec0b5f404c79e59997cf1184d2dcd75b65deaffcc3fc8e5c9cc",
      "5140a4f4b6ea2a3d4a376f4edf223bcc4d95b1657d49f26caa4a1c7ba39055a0",
    ],
  ],
  [
    "no monitor_config",
    '{"chain":{}}',
    [
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
      "e141a13d49948a00e7ef50bf36a0990fc639e2e2764edf5f793405a5a5a48441",
    ],
  ],
  [
    "JSON5",
    "{chain:{monitor_config:{storage_enable_cetina:true}}}",
    [
      "bbcebd3780e1a63055d7f49bcde33a84bbe8a1982c6b7bd29d2864f6d89ed53e",
      "bbcebd3780e1a63055d7f49bcde33a84bbe8a1982c6b7bd29d2864f6d89ed53e",
      "bbcebd3780e1a63055d7f49bcde33a84bbe8a1982c6b7bd29d2864f6d89ed53e",
    ],
  ],
];

test.each(firstFormat)("matches a first-format fingerprint of %s only to the same file", (_, text, hashes) => {
  const kept = hashes.join("-");
  for (const version of ["0.15.0", "0.16.2", "unknown"]) {
    expect(matchesFingerprint(kept, readDocument(text), parseNodeVersion(version))).toBe(true);
    const other = text.replace("{", text.startsWith("{chain") ? "{more:1," : '{"more":1,');
    expect(matchesFingerprint(kept, readDocument(other), parseNodeVersion(version))).toBe(false);
  }
});

test("ignores other versions' metrics keys in a first-format fingerprint", () => {
  const [, both = "", hashes = []] = firstFormat[1] ?? [];
  const kept = hashes.join("-");
  const otherPamir = readDocument(both.replace('pamir_cetina_push_port":2', 'pamir_cetina_push_port":3'));
  expect(matchesFingerprint(kept, otherPamir, parseNodeVersion("0.16.2"))).toBe(true);
  expect(matchesFingerprint(kept, otherPamir, parseNodeVersion("0.15.0"))).toBe(false);
  expect(matchesFingerprint(kept, otherPamir, undefined)).toBe(false);
});

const named = (name: string) => readDocument(config.replace('"own":2', `"pamir_cetina_instance_name":"${name}"`));

/** Rows from before the instance's key was known. */
const rowsBeforeInstanceKey = nodeReleases.map(
  (row): NodeRelease => ({ ...row, instanceKey: undefined }) as unknown as NodeRelease,
);

test("compares the instance name only for releases that read it, also in older fingerprints", () => {
  const derive = () => fingerprintConfig(named("a"));
  for (const kept of [derive(), withRows(nodeReleases, rowsBeforeInstanceKey, derive)]) {
    for (const version of ["0.15.0", "0.16.2"].map(parseNodeVersion)) {
      expect(matchesFingerprint(kept, named("a"), version)).toBe(true);
    }
    expect(matchesFingerprint(kept, named("b"), parseNodeVersion("0.15.0"))).toBe(false);
  }
  expect(matchesFingerprint(fingerprintConfig(named("a")), named("b"), parseNodeVersion("0.16.2"))).toBe(true);
});

test("starts a fingerprint with its format number and matches no file to any other text", () => {
  const document = readDocument(config);
  const kept = fingerprintConfig(document);
  expect(kept).toMatch(/^2;storage=[0-9a-f]{64};pamir=[0-9a-f]{64};rest=[0-9a-f]{64}$/);
  for (const text of ["unknown", "", kept.replace("2;", "3;"), kept.replace("pamir=", "lagoon=")]) {
    expect(matchesFingerprint(text, document, parseNodeVersion("0.16.2")), text).toBe(false);
  }
});

test("compares an older fingerprint the same way after a naming of the metrics keys is added", () => {
  const [{ monitorKeys }] = nodeReleases;
  const lagoonKeys = { ...monitorKeys, pushPort: "lagoon_push_port" };
  const newest = { since: "0.99.0", layout: "workspace-bin", nodeCliTakesConfig: true } as const;
  const row: NodeRelease = { ...newest, naming: "lagoon", monitorKeys: lagoonKeys };
  const document = readDocument(config.replace('"own":2', '"lagoon_push_port":2'));
  const other = readDocument(config.replace('"own":2', '"lagoon_push_port":3'));
  const kept = fingerprintConfig(document);
  withRows(nodeReleases, [...nodeReleases, row], () => {
    for (const version of ["0.15.0", "0.16.2", "0.99.0", "unknown"].map(parseNodeVersion)) {
      expect(matchesFingerprint(kept, document, version)).toBe(true);
      expect(matchesFingerprint(kept, other, version)).toBe(false);
    }
    const keptNow = fingerprintConfig(document);
    expect(matchesFingerprint(keptNow, other, parseNodeVersion("0.16.2"))).toBe(true);
    expect(matchesFingerprint(keptNow, other, parseNodeVersion("0.99.0"))).toBe(false);
  });
});
