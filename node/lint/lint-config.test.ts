import { describe, expect, test } from "vitest";
import { parseNodeVersion } from "../versions.ts";
import { lintConfig } from "./lint-config.ts";

const right = `{
  "chain": {
    "monitor_config": { "storage_enable_cetina": true, "storage_cetina_push_address": "10.0.0.1" },
    "secret_config": { "domain_key_path": "keys/domain.key", "stabilizing_key_path": "keys/stable.key" },
    "startup_config": {
      "init_config": {
        "meta_path": "meta", "host_ip": "127.0.0.1",
        "http_port": "18100", "rpc_port": "20000", "tcp_port": "19000", "ws_port": "18200"
      }
    }
  },
  "storage": { "mygrid_conf": {}, "mygrid_env": { "storage_data_path": "../data" } }
}
`;

/** Findings as \`line:column rule message\`, for the right file with one thing changed. */
function findings(from: string | RegExp, to: string, version = "0.16.2"): readonly string[] {
  const text = right.replace(from, to);
  return lintConfig(Buffer.from(text), parseNodeVersion(version)).map(
    ({ line, column, rule, path, message, fix }) => `${line}:${column} ${rule} ${path} ${message} ${fix}`,
  );
}

describe("gatehouse lint", () => {
  test("finds nothing in a right file", () => {
    expect(findings("", "")).toEqual([]);
  });

  test("names what is wrong with line, column and fix", () => {
    const init = "chain.startup_config.init_config";
    expect(findings('"20000"', '"18100"')).toEqual([
      `8:43 port-clash ${init}.rpc_port is 18100, as is http_port. give each its own port.`,
    ]);
    expect(findings('"20000"', "20000")).toEqual([
      `8:43 wrong-type ${init}.rpc_port is the number 20000; expected a string. write "20000".`,
    ]);
    expect(findings('"meta_path": "meta", ', "")).toEqual([
      `6:22 missing-key ${init}.meta_path is missing. add "meta_path" with a file system path.`,
    ]);
    expect(findings('"10.0.0.1"', '"http://10.0.0.1:9091"')).toEqual([
      '3:87 push-address chain.monitor_config.storage_cetina_push_address is "http://10.0.0.1:9091"; expected a host name or IP address without protocol, port or path. write "10.0.0.1".',
    ]);
    expect(findings('cetina": true', 'cetina": "true"')).toEqual([
      '3:50 wrong-type chain.monitor_config.storage_enable_cetina is "true"; expected true or false. write true.',
    ]);
    expect(findings("storage_enable_cetina", "storage_enabel_cetina")).toEqual([
      "3:25 unknown-key chain.monitor_config.storage_enabel_cetina is not a key that a node reads. correct the spelling, or remove it.",
    ]);
    expect(findings('"meta_path": "meta",', '"meta_path": "meta", "meta_path": "other",')[0]).toBe(
      `7:30 duplicate-key ${init}.meta_path the key stands twice in one object (first in line 7); readers differ in which one counts. remove one of the two.`,
    );
  });

  test("keys of another version, with the name that the version reads", () => {
    expect(findings("", "", "0.15.0")[0]).toBe(
      "3:25 other-version chain.monitor_config.storage_enable_cetina is silently ignored: node 0.15.0 reads the pamir names (before 0.16.0). rename it to enable_pamir_cetina.",
    );
  });

  test("a secret, without showing it", () => {
    const key = "a".repeat(64);
    const found = findings("keys/domain.key", key);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain("4:43 secret chain.secret_config.domain_key_path looks like a secret");
    expect(found.join()).not.toContain(key);
  });

  test("a password in a URL, without showing it; a port that only a lenient reader takes for one", () => {
    const address = findings('"10.0.0.1"', '"https://bob:hunter2@push.example:9091/"').join();
    expect(address).toContain('is "https://[secret]@push.example:9091/"; expected a host name');
    expect(address).toContain('write "push.example".');
    expect(address).toContain("secret chain.monitor_config.storage_cetina_push_address looks like a secret");
    expect(address).not.toContain("hunter2");
    expect(findings('"10.0.0.1"', '"[2001:db8::1]:9091"').join()).toContain('write "2001:db8::1".');
    for (const port of ["0x4e20", " 18100", "1e3", "070000"]) {
      expect(findings('"20000"', `"${port}"`).join()).toContain("expected a port from 1 to 65535 as a string");
    }
  });

  test("a file that can't be read, or is JSON5", () => {
    expect(findings(/}\n$/, "")[0]).toMatch(/^13:1 unreadable  is not complete JSON/);
    expect(findings('"chain"', "chain")[0]).toMatch(/^1:1 json5 {2}is JSON5, which can't be corrected in place\./);
  });

  test("what is wrong in a JSON5 file, with line and column", () => {
    const json5 = right.replace('"chain"', "chain").replace(/"(init_config|rpc_port)"/g, "$1");
    const found = lintConfig(Buffer.from(json5.replace('"20000"', "'18100'")), parseNodeVersion("0.16.2"));
    expect(found.map(({ line, column, rule }) => `${line}:${column} ${rule}`)).toEqual([
      "1:1 json5",
      "8:41 port-clash",
    ]);
  });

  test("a JSON5 file of a rare form, without places", () => {
    const text = right.replace('"meta_path": "meta"', "true: +.5");
    const found = lintConfig(Buffer.from(text), parseNodeVersion("0.16.2"));
    expect(found.map(({ line, column, rule }) => `${line}:${column} ${rule}`)).toEqual([
      "1:1 json5",
      "1:1 missing-key",
    ]);
  });

  test("a secret in a comment, without showing it", () => {
    const found = findings('"storage": {', `// was "api_key": "k3y-of-ours"\n  "storage": {`);
    expect(found).toEqual([
      "12:3 secret  a comment holds what looks like a secret. remove it from the comment, and replace the secret that was shown.",
    ]);
  });

  test("places behind comments by the thousand", () => {
    const found = lintConfig(Buffer.from("//\n".repeat(20_000) + right.replace('"20000"', '"18100"')), undefined);
    expect(found.map(({ line, column, rule }) => `${line}:${column} ${rule}`)).toEqual(["20008:43 port-clash"]);
  });
});
