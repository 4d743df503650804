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

/** Findings as \`line:column rule message\`, for a valid file with one change. */
function findings(from: string | RegExp, to: string, version = "0.16.2"): readonly string[] {
  const text = right.replace(from, to);
  return lintConfig(Buffer.from(text), parseNodeVersion(version)).map(
    ({ line, column, rule, path, message, fix }) => `${line}:${column} ${rule} ${path} ${message} ${fix}`,
  );
}

describe("gatehouse config lint", () => {
  test("finds nothing in a valid file", () => {
    expect(findings("", "")).toEqual([]);
  });

  test("reports a file that the sidecar would not read", () => {
    expect(findings(/$/, " ".repeat(65_537 - right.length))).toEqual([
      "1:1 too-large  is larger than the sidecar's limit of 65536 bytes. make it smaller.",
    ]);
    expect(findings(/$/, " ".repeat(65_536 - right.length))).toEqual([]);
  });

  test("reports each error with line, column and fix", () => {
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
    expect(findings('"host_ip": "127.0.0.1",', "")).toEqual([
      `6:22 missing-key ${init}.host_ip is missing. add "host_ip" with the IP address to listen on, e.g. "127.0.0.1".`,
    ]);
    expect(findings('"mygrid_conf": {}, ', "")).toEqual([
      '12:14 missing-key storage.mygrid_conf is missing. add "mygrid_conf" with an object, e.g. {}.',
    ]);
    expect(findings('"10.0.0.1"', '"http://10.0.0.1:9091"')).toEqual([
      '3:87 push-address chain.monitor_config.storage_cetina_push_address is "http://10.0.0.1:9091"; expected a host name or IP address without protocol, port or path. write "10.0.0.1". Set storage_cetina_push_port to 9091.',
    ]);
    expect(findings('cetina": true', 'cetina": "true"')).toEqual([
      '3:50 wrong-type chain.monitor_config.storage_enable_cetina is "true"; expected true or false. write true.',
    ]);
    expect(findings("storage_enable_cetina", "storage_enabel_cetina")).toEqual([
      "3:25 unknown-key chain.monitor_config.storage_enabel_cetina is not a key that any node version uses. correct the spelling, or remove it.",
    ]);
    expect(findings('"meta_path": "meta",', '"meta_path": "meta", "meta_path": "other",')[0]).toBe(
      `7:30 duplicate-key ${init}.meta_path duplicate key in one object (first on line 7); parsers differ in which value they use. remove one of the two.`,
    );
  });

  test("reports keys of another version with the names that this version reads", () => {
    expect(findings("", "", "0.15.0")[0]).toBe(
      "3:25 other-version chain.monitor_config.storage_enable_cetina is silently ignored: node 0.15.0 reads the pamir names (before 0.16.0). rename it to enable_pamir_cetina.",
    );
  });

  test("reports a secret without printing it", () => {
    const key = "a".repeat(64);
    const found = findings("keys/domain.key", key);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain("4:43 secret chain.secret_config.domain_key_path looks like a secret");
    expect(found.join()).not.toContain(key);
  });

  test("reports a URL password without printing it, and ports that are not plain decimals", () => {
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

  test.each(["", "{", "[]", "{}", "\0", Uint8Array.of(0xff), "[".repeat(200)])(
    "names the fix of unusable content once: %j",
    (content) => {
      const [finding] = lintConfig(Buffer.from(content), undefined);
      expect(finding?.message).not.toMatch(/write|restore|correct|convert|make|reduce/i);
      expect(finding?.fix).toMatch(/\bbackup\b|write the whole file again\./);
    },
  );

  test("reports truncated JSON and JSON5", () => {
    expect(findings(/}\n$/, "")[0]).toMatch(/^13:1 unreadable  is incomplete JSON/);
    expect(findings('"chain"', "chain")[0]).toMatch(/^1:1 json5 {2}is JSON5, which can't be corrected in place\./);
  });

  test("reports errors in a JSON5 file with line and column", () => {
    const json5 = right.replace('"chain"', "chain").replace(/"(init_config|rpc_port)"/g, "$1");
    const found = lintConfig(Buffer.from(json5.replace('"20000"', "'18100'")), parseNodeVersion("0.16.2"));
    expect(found.map(({ line, column, rule }) => `${line}:${column} ${rule}`)).toEqual([
      "1:1 json5",
      "8:41 port-clash",
    ]);
  });

  test("reports errors at line 1, column 1 if JSON5 has a reserved word as a key", () => {
    const text = right.replace('"meta_path": "meta"', "true: +.5");
    const found = lintConfig(Buffer.from(text), parseNodeVersion("0.16.2"));
    expect(found.map(({ line, column, rule }) => `${line}:${column} ${rule}`)).toEqual([
      "1:1 json5",
      "1:1 missing-key",
    ]);
  });

  test("reports a secret in a comment without printing it", () => {
    const found = findings('"storage": {', `// was "api_key": "k3y-of-ours"\n  "storage": {`);
    expect(found).toEqual([
      "12:3 secret  a comment contains what looks like a secret. remove it from the comment, and rotate the exposed secret.",
    ]);
  });

  test("reports the right line after 20,000 comments", () => {
    const found = lintConfig(Buffer.from("//\n".repeat(20_000) + right.replace('"20000"', '"18100"')), undefined);
    expect(found.map(({ line, column, rule }) => `${line}:${column} ${rule}`)).toEqual(["20008:43 port-clash"]);
  });
});

/** A file in the published form of the public node's files, without monitor_config. */
const published = (parameters: object, mygrid: unknown): string =>
  JSON.stringify({
    chain: {
      secret_config: { domain_key_path: "../keys/domain.key", stabilizing_key_path: "../keys/stabilizing.key" },
      startup_config: {
        ...parameters,
        init_config: {
          meta_path: "../data",
          host_ip: "127.0.0.1",
          http_port: "18100",
          rpc_port: "20000",
          tcp_port: "19000",
          ws_port: "18200",
        },
      },
    },
    storage: { mygrid_conf: mygrid, mygrid_env: { storage_data_path: "../data" } },
  });

const lint = (text: string, version?: string) =>
  lintConfig(Buffer.from(text), version === undefined ? undefined : parseNodeVersion(version)).map(
    ({ rule, path, message, fix }) => `${rule} ${path} ${message} ${fix}`,
  );

const fullState = (value: unknown) => ({
  config: { mygrid: { expert_flags: { mygrid_client_enable_full_state_kv_db: value } } },
});

const flag = (value: unknown) => ({ parameters: { "/GlobalFlag/enable_persist_trace": value } });

const monitor = (keys: object, version?: string) =>
  lint(published({}, {}).replace('"chain":{', `"chain":{"monitor_config":${JSON.stringify(keys)},`), version);

describe("gatehouse config lint of the public family's files", () => {
  test.each([
    ["of a full node", published({}, {})],
    ["of a full cache", published({}, fullState(true))],
    ["that persists traces", published(flag("true"), {})],
    ["with other parameters and storage of any content", published(flag("false"), { what: [{ ever: 1 }] })],
  ])("finds nothing in a file %s", (_, text) => {
    expect(lint(text, "0.16.2")).toEqual([]);
    expect(lint(text)).toEqual([]);
  });

  test("reports flags and storage of the wrong type, and a host address with a port", () => {
    expect(lint(published(flag(true), {}))).toEqual([
      'wrong-type chain.startup_config.parameters./GlobalFlag/enable_persist_trace is true; expected "true" or "false" as a string. write "true" or "false" as a string.',
    ]);
    expect(lint(published({ parameters: { "/GlobalFlag/depth": 3 } }, {}))).toHaveLength(1);
    expect(lint(published({}, fullState("true")))).toEqual([
      'wrong-type storage.mygrid_conf.config.mygrid.expert_flags.mygrid_client_enable_full_state_kv_db is "true"; expected true or false, without quotes. write true or false, without quotes.',
    ]);
    const storage = 'wrong-type storage.mygrid_conf is "what"; expected an object. write an object.';
    expect(lint(published({}, "what"))).toEqual([storage]);
    expect(lint(published({}, ["what"]))).toHaveLength(1);
    expect(lint(published({}, {}).replace("127.0.0.1", "http://10.0.0.1:18100"))).toEqual([
      'wrong-type chain.startup_config.init_config.host_ip is "http://10.0.0.1:18100"; expected an IP address as a string, without protocol or port. write an IP address as a string, without protocol or port.',
    ]);
  });

  test("reports the root keys of an earlier release, and its inline key as a secret", () => {
    const text = published({}, {})
      .replace('"chain"', '"cubenet":{},"aldaba"')
      .replace('"domain_key_path":"../keys/domain.key"', `"domain_key":"${"Mig/7b+T".repeat(8)}=="`);
    const found = lint(text);
    expect(found.map((finding) => finding.slice(0, 70))).toEqual([
      "older-release cubenet is a root key of releases of about December 2025",
      "older-release aldaba is the root key that releases of about December 2",
      "secret aldaba.secret_config.domain_key looks like a secret; the node e",
    ]);
    expect(found.join()).not.toContain("Mig");
    expect(lint(published({}, {}).replace('"storage"', '"aldaba":{},"storage"'))).toHaveLength(1);
    expect(lint("{}")[0]).toContain("unreadable  has no chain. make chain an object");
  });

  test("reports metrics keys at the top level as the monitor.conf of an earlier release", () => {
    const flat = { enable_pamir_cetina: true, pamir_cetina_job_name: "n", pamir_cetina_push_address: "10.0.0.1" };
    expect(lint(JSON.stringify({ ...flat, pamir_cetina_push_interval: 5, pamir_cetina_push_port: 9091 }))).toEqual([
      "older-release enable_pamir_cetina is at the top level, as in the monitor.conf of releases before 0.11, which contains only the metrics keys. move the metrics keys into chain.monitor_config of the configuration file.",
    ]);
  });
});

describe("gatehouse config lint of monitor_config", () => {
  const rest = { pamir_cetina_job_name: "n", pamir_cetina_push_address: "10.0.0.1" };

  test("reports enabled metrics without a push address and job name", () => {
    for (const version of ["0.16.2", undefined]) {
      expect(monitor({ storage_enable_cetina: true }, version)).toEqual([
        "lone-switch chain.monitor_config.storage_enable_cetina is enabled, but the keys for the push address and job name are missing. add storage_cetina_job_name, storage_cetina_push_address, storage_cetina_push_interval, storage_cetina_push_port, or let `gatehouse config plan --write` do it.",
      ]);
    }
    expect(monitor({ storage_enable_cetina: false }, "0.16.2")).toEqual([]);
    expect(monitor({ storage_enable_cetina: true, storage_cetina_push_port: 9091 }, "0.16.2")).toEqual([]);
    expect(monitor({ enable_pamir_cetina: true }, "0.16.2")).toHaveLength(1);
  });

  test("reports the instance name only from release 0.16 on", () => {
    const named = { enable_pamir_cetina: true, ...rest, pamir_cetina_instance_name: "node-7" };
    expect(monitor(named, "0.15.9")).toEqual([]);
    expect(monitor(named)).toEqual([]);
    expect(monitor({ pamir_cetina_instance_name: "node-7" }, "0.16.2")).toEqual([
      "other-version chain.monitor_config.pamir_cetina_instance_name is silently ignored: node 0.16.2 reads the storage_* names (0.16.0 and later), which have no instance key. remove it, and give each node of the job its own job name.",
    ]);
  });

  test("suggests the pasted port for push_port, unless push_port differs", () => {
    const pasted = { ...rest, pamir_cetina_push_address: "http://10.0.0.5:9091" };
    expect(monitor(pasted)[0]).toContain('write "10.0.0.5". Set pamir_cetina_push_port to 9091.');
    expect(monitor({ ...pasted, pamir_cetina_push_port: 9091 })[0]).toMatch(/write "10\.0\.0\.5"\.$/);
    expect(monitor({ ...pasted, pamir_cetina_push_port: 9092 })[0]).toContain(
      "pamir_cetina_push_port is 9092, not the port 9091 in this address; correct the one that is wrong.",
    );
  });
});

test.each([
  ["domain_key", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7/JTUt9Us8cKj+w=="],
  ["key_passwd", "hunter2"],
  ["pwd", "hunter2!"],
  ["key_pwd", "p.a.s.s"],
  ["key_pwd", 123_456],
  ["credentials", "bob:hunter2"],
  ["pass", "hunter2"],
  ["note", "AKIAIOSFODNN7EXAMPLE"],
])("reports an inline %s as a secret", (key, value) => {
  const found = lint(published({}, { [key]: value }));
  expect(found).toHaveLength(1);
  expect(found[0]).toContain(`secret storage.mygrid_conf.${key} looks like a secret`);
  expect(found[0]).not.toContain(String(value));
});

test.each([
  ["domain_key", "../keys/domain.key"],
  ["key_pwd", ".password"],
  ["key_pwd", ""],
  ["max_token", 5],
  ["access_key", "../keys/access.key"],
  ["credentials", "/run/secrets/credentials"],
  ["pass", 3],
])("accepts %s set to %j", (key, value) => {
  expect(lint(published({}, { [key]: value }))).toEqual([]);
});
