import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { secret } from "../secrets/secret.ts";
import { filePath, host, httpUrl, milliseconds, port, privateKey } from "./types.ts";
import { SettingsError } from "./problem.ts";
import { fixed, section } from "./section.ts";
import { defineSettings, readSettings } from "./settings.ts";

const address = z.string().min(42).meta({ expected: "an address" });
const shape = {
  listen: section({ port: port.default(3000).describe("Port of the till"), host: host.default("127.0.0.1") }),
  books: section({ path: filePath.optional().describe("File of the books") }),
  signer: section({ privateKey: secret(privateKey).describe("Key that pays") }),
  chain: section({ rpcUrl: httpUrl.describe("The node"), timeoutMs: milliseconds.default(30_000), attempts: fixed(3) }),
  assets: z.array(address).default([]).describe("Tokens taken").meta({ expected: "a list of addresses" }),
};
const definition = defineSettings("till", [], shape);

const key = `0x${"11".repeat(32)}`;
const right = { GATEHOUSE_TILL_SIGNER_PRIVATE_KEY: key, GATEHOUSE_TILL_CHAIN_RPC_URL: "http://127.0.0.1:18100" };

function temporaryFile(content: string): string {
  const folder = mkdtempSync(join(tmpdir(), "gatehouse-settings-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "settings.json5");
  writeFileSync(path, content);
  return path;
}

function problemsOf(env: Record<string, string>, file?: string): readonly string[] {
  try {
    readSettings(definition, { env, file });
  } catch (error) {
    if (error instanceof SettingsError) return error.lines;
    throw error;
  }
  return [];
}

describe("readSettings", () => {
  it.each(["~/books", "~", "~clerk/books"])(
    "rejects %s, which only a shell expands, and says what to write",
    (path) => {
      const line = `found "${path}"; only a shell expands "~", at the start of a word; write the whole path, from "/" on (File of the books).`;
      const file = temporaryFile(JSON.stringify({ books: { path } }));
      expect(problemsOf({ ...right, GATEHOUSE_TILL_BOOKS_PATH: path })).toEqual([
        `till: GATEHOUSE_TILL_BOOKS_PATH: ${line}`,
      ]);
      expect(problemsOf(right, file)).toEqual([`till: ${file}: line 1: books.path: ${line}`]);
      expect(problemsOf({ ...right, GATEHOUSE_TILL_BOOKS_PATH: `./${path}` })).toEqual([]);
    },
  );

  it("applies defaults and parses text from the environment by the schema types", () => {
    const settings = readSettings(definition, {
      env: {
        ...right,
        GATEHOUSE_TILL_LISTEN_PORT: "0",
        GATEHOUSE_TILL_ASSETS: `0x${"a".repeat(40)}, 0x${"b".repeat(40)}`,
      },
    });
    expect(settings.listen.port).toBe(0);
    expect(settings.chain.timeoutMs).toBe(30_000);
    expect(settings.assets).toEqual([`0x${"a".repeat(40)}`, `0x${"b".repeat(40)}`]);
    expect(settings.log.level).toBe("info");
    expect(Object.isFrozen(settings.listen)).toBe(true);
  });

  it.each([
    ["[::1]", "an IPv6 address has no brackets here; write ::1"],
    ["[::1]:80", "expected an IP address or host name to listen on, without a port"],
    ["127.0.0.1:80", "expected an IP address or host name to listen on, without a port"],
    ["http://a", "expected an IP address or host name to listen on, without a port"],
    ["a b", "expected an IP address or host name to listen on, without a port"],
  ])("rejects the host %s with advice", (text, message) => {
    const problems = problemsOf({ ...right, GATEHOUSE_TILL_LISTEN_HOST: text });
    expect(problems).toEqual([expect.stringContaining(message)]);
  });

  it.each(["::1", "fe80::1%eth0", "0.0.0.0", "localhost", "node-0.gatehouse.svc"])("accepts the host %s", (text) => {
    const settings = readSettings(definition, { env: { ...right, GATEHOUSE_TILL_LISTEN_HOST: text } });
    expect(settings.listen.host).toBe(text);
  });

  it("prefers the environment to the file, and the file to the defaults", () => {
    const file = temporaryFile("{ listen: { port: 4000 }, chain: { timeoutMs: 5, /* ms */ } }");
    const settings = readSettings(definition, { env: { ...right, GATEHOUSE_TILL_CHAIN_TIMEOUT_MS: "7" }, file });
    expect([settings.listen.port, settings.chain.timeoutMs]).toEqual([4000, 7]);
  });

  it("treats an empty variable as absent", () => {
    expect(readSettings(definition, { env: { ...right, GATEHOUSE_TILL_LISTEN_PORT: "" } }).listen.port).toBe(3000);
  });

  it("reads a secret from the file in <NAME>_FILE and never shows it", () => {
    const path = temporaryFile(`${key}\n`);
    const settings = readSettings(definition, {
      env: { GATEHOUSE_TILL_CHAIN_RPC_URL: "http://a", GATEHOUSE_TILL_SIGNER_PRIVATE_KEY_FILE: path },
    });
    expect(settings.signer.privateKey.reveal()).toBe(key);
    expect(`${settings.signer.privateKey}${JSON.stringify(settings)}${inspect(settings, { depth: 9 })}`).not.toContain(
      "1111",
    );
  });

  it("shows no secret in an error about other settings, however it is printed", () => {
    const env = { ...right, GATEHOUSE_TILL_SIGNER_PRIVATE_KEY: key, GATEHOUSE_TILL_LISTEN_PORT: "abc" };
    let thrown: unknown;
    try {
      readSettings(definition, { env });
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(SettingsError);
    expect(`${inspect(thrown, { depth: 9 })}${JSON.stringify(thrown)}`).not.toContain("1111");
  });

  it("accepts a key without 0x, as exported by wallets", () => {
    const env = { ...right, GATEHOUSE_TILL_SIGNER_PRIVATE_KEY: key.slice(2) };
    expect(readSettings(definition, { env }).signer.privateKey.reveal()).toBe(key);
  });

  it("reports all problems at once, each with name, found value and expected form", () => {
    expect(problemsOf({ GATEHOUSE_TILL_LISTEN_PORT: "abc", GATEHOUSE_TILL_SIGNER_PRIVATE_KEY: "0xsecret" })).toEqual([
      'till: GATEHOUSE_TILL_LISTEN_PORT: found "abc"; expected a port number from 0 to 65535 (0: any free port) (Port of the till).',
      "till: GATEHOUSE_TILL_SIGNER_PRIVATE_KEY: found an invalid value; expected a private key: 64 hexadecimal digits (0x optional) (Key that pays).",
      "till: GATEHOUSE_TILL_CHAIN_RPC_URL: missing; expected an http:// or https:// URL (The node). Set GATEHOUSE_TILL_CHAIN_RPC_URL.",
    ]);
  });

  it("explains how to supply a missing secret", () => {
    expect(problemsOf({ GATEHOUSE_TILL_CHAIN_RPC_URL: "http://a" })).toEqual([
      "till: GATEHOUSE_TILL_SIGNER_PRIVATE_KEY: missing; expected a private key: 64 hexadecimal digits (0x optional) (Key that pays). Set GATEHOUSE_TILL_SIGNER_PRIVATE_KEY, or GATEHOUSE_TILL_SIGNER_PRIVATE_KEY_FILE with the path of a file with it.",
    ]);
  });

  it("rejects a secret given twice and an unreadable secret file", () => {
    expect(problemsOf({ ...right, GATEHOUSE_TILL_SIGNER_PRIVATE_KEY_FILE: "/nowhere" })[0]).toBe(
      "till: GATEHOUSE_TILL_SIGNER_PRIVATE_KEY: is set, and so is GATEHOUSE_TILL_SIGNER_PRIVATE_KEY_FILE; keep one of the two.",
    );
    expect(
      problemsOf({ GATEHOUSE_TILL_CHAIN_RPC_URL: "http://a", GATEHOUSE_TILL_SIGNER_PRIVATE_KEY_FILE: "/nowhere" }),
    ).toEqual([
      'till: GATEHOUSE_TILL_SIGNER_PRIVATE_KEY_FILE: can\'t read "/nowhere" (ENOENT); expected a readable file with a private key: 64 hexadecimal digits (0x optional).',
    ]);
  });

  it("names the file of an invalid or empty secret, without its content", () => {
    const found = { "0xsecret\n": "an invalid value in", "\n": "an empty file" };
    for (const [content, description] of Object.entries(found)) {
      const path = temporaryFile(content);
      expect(
        problemsOf({ GATEHOUSE_TILL_CHAIN_RPC_URL: "http://a", GATEHOUSE_TILL_SIGNER_PRIVATE_KEY_FILE: path }),
      ).toEqual([
        `till: GATEHOUSE_TILL_SIGNER_PRIVATE_KEY_FILE: found ${description} "${path}"; expected a private key: 64 hexadecimal digits (0x optional) (Key that pays).`,
      ]);
    }
  });

  it("reports a mistyped variable, and ignores those that Kubernetes adds for a Service of that name", () => {
    expect(problemsOf({ ...right, GATEHOUSE_TILL_LISTEN_PROT: "1" })).toEqual([
      'till: GATEHOUSE_TILL_LISTEN_PROT: no such setting; did you mean GATEHOUSE_TILL_LISTEN_PORT? "gatehouse till --help" lists them. Correct the name or remove it.',
    ]);
    expect(
      problemsOf({
        ...right,
        GATEHOUSE_TILL_SERVICE_HOST: "10.0.0.1",
        GATEHOUSE_TILL_PORT_80_TCP: "x",
        GATEHOUSE_TILL_PORT: "tcp://10.0.0.1:80",
      }),
    ).toEqual([]);
  });

  it.each([
    ["SIGNER_KEY", "SIGNER_PRIVATE_KEY"],
    ["CHAIN_URL", "CHAIN_RPC_URL"],
    ["SIGNER_PRIVATE_KEY_PATH", "SIGNER_PRIVATE_KEY"],
  ])("suggests for %s the setting whose name has the same words", (written, meant) => {
    expect(problemsOf({ ...right, [`GATEHOUSE_TILL_${written}`]: "x" })).toEqual([
      `till: GATEHOUSE_TILL_${written}: no such setting; did you mean GATEHOUSE_TILL_${meant}? "gatehouse till --help" lists them. Correct the name or remove it.`,
    ]);
  });

  it("suggests nothing for a variable that only shares a prefix with a setting", () => {
    expect(problemsOf({ ...right, GATEHOUSE_TILL_CHAIN_FEE: "x" })).toEqual([
      'till: GATEHOUSE_TILL_CHAIN_FEE: no such setting; "gatehouse till --help" lists them. Correct the name or remove it.',
    ]);
  });

  it("reports a misspelt service in a variable, and ignores variables of other services", () => {
    expect(problemsOf({ ...right, GATEHOUSE_TIL_LISTEN_PORT: "1", GATEHOUSE_TELL_CHAIN_RPC_UR: "x" })).toEqual([
      "till: GATEHOUSE_TIL_LISTEN_PORT: no such service as TIL; did you mean GATEHOUSE_TILL_LISTEN_PORT? Correct the name or remove it.",
      "till: GATEHOUSE_TELL_CHAIN_RPC_UR: no such service as TELL; did you mean GATEHOUSE_TILL_CHAIN_RPC_URL? Correct the name or remove it.",
    ]);
    expect(problemsOf({ ...right, GATEHOUSE_TEST_LOG: "1", GATEHOUSE_BANK_LISTEN_PORT: "1" })).toEqual([]);
  });

  it("includes the constants of a section, and rejects attempts to set them", () => {
    expect(readSettings(definition, { env: right }).chain.attempts).toBe(3);
    const file = temporaryFile("{ chain: { attempts: 3 } }");
    expect(problemsOf({ ...right, GATEHOUSE_TILL_CHAIN_ATTEMPTS: "4" })).toEqual([
      'till: GATEHOUSE_TILL_CHAIN_ATTEMPTS: no such setting; "gatehouse till --help" lists them. Correct the name or remove it.',
    ]);
    expect(problemsOf(right, file)).toEqual([
      `till: ${file}: line 1: chain.attempts: is always 3 and can't be set; remove it.`,
    ]);
  });

  it("reports file, line and key of a wrong or unknown value in the settings file, with a suggestion", () => {
    const file = temporaryFile(
      "{\n  listen: {\n    port: 70000 },\n  lisen: {},\n  chain: { 'timeoutms': 1, colour: 2 }, constructor: {} }",
    );
    expect(problemsOf(right, file)).toEqual([
      `till: ${file}: line 3: listen.port: found 70000; expected a port number from 0 to 65535 (0: any free port) (Port of the till).`,
      `till: ${file}: line 5: chain.timeoutms: no such setting; did you mean "timeoutMs"? Correct the key or remove it.`,
      `till: ${file}: line 5: chain.colour: no such setting; correct the key or remove it.`,
      `till: ${file}: line 4: lisen: no such setting; did you mean "listen"? Correct the key or remove it.`,
      `till: ${file}: line 5: constructor: no such setting; correct the key or remove it.`,
    ]);
  });

  it("reports the file and line of a problem inside a value or section, but not of an unset variable", () => {
    const file = temporaryFile('{\n  listen: 5,\n  assets: [\n    "0x1",\n    7,\n  ],\n}');
    expect(problemsOf(right, file)).toEqual([
      `till: ${file}: line 2: listen: expected an object { … }.`,
      `till: ${file}: line 4: assets.0: found "0x1" at 0; expected an address (Tokens taken).`,
      `till: ${file}: line 5: assets.1: found 7 at 1; expected an address (Tokens taken).`,
    ]);
  });

  it("mentions the settings file, if there is one, for a missing setting", () => {
    const file = temporaryFile("{}");
    expect(problemsOf({ GATEHOUSE_TILL_SIGNER_PRIVATE_KEY: key }, file)).toEqual([
      `till: GATEHOUSE_TILL_CHAIN_RPC_URL: missing; expected an http:// or https:// URL (The node). Set GATEHOUSE_TILL_CHAIN_RPC_URL, or chain.rpcUrl in ${file}.`,
    ]);
  });

  it("rejects a secret in the settings file and reports where it belongs", () => {
    const file = temporaryFile(`{ signer: { privateKey: "${key}" }, chain: { rpcUrl: "http://a" } }`);
    expect(problemsOf({}, file)).toEqual([
      `till: ${file}: line 1: signer.privateKey: is a secret, which a settings file may not contain; remove it.`,
      "till: GATEHOUSE_TILL_SIGNER_PRIVATE_KEY: set the secret here, or set GATEHOUSE_TILL_SIGNER_PRIVATE_KEY_FILE to the path of a file with it.",
    ]);
  });

  it("reports a problem on one line even if its key has a line break", () => {
    const file = temporaryFile('{ "lis\\nten": 5 }');
    expect(problemsOf(right, file)).toEqual([
      `till: ${file}: line 1: lis\nten: no such setting; did you mean "listen"? Correct the key or remove it.`,
    ]);
  });

  it("reports line and column if a settings file is not JSON5", () => {
    const file = temporaryFile("{\n  listen: { port: ]\n}");
    expect(problemsOf(right, file)).toEqual([
      `till: ${file}: line 2, column 19: invalid character ']'; expected JSON5.`,
    ]);
    expect(problemsOf({}, file)).toEqual(problemsOf(right, file));
  });

  it.each([
    [
      "{\n  listen: { port: 1 },\n  listen: {} }",
      "line 3, column 3: listen appears twice in one object (first on line 2)",
    ],
    ["{\n  a: [{ 'b': 1, b: 2 }] }", "line 2, column 17: b appears twice in one object (first on line 2)"],
  ])("rejects a duplicate key, whose first value would be ignored: %j", (text, problem) => {
    const file = temporaryFile(text);
    expect(problemsOf(right, file)).toEqual([`till: ${file}: ${problem}; remove one.`]);
  });

  it("rejects a duplicate key in a variable", () => {
    expect(problemsOf({ ...right, GATEHOUSE_TILL_ASSETS: "[{ a: 1, a: 2 }]" })).toContain(
      "till: GATEHOUSE_TILL_ASSETS: line 1, column 10: a appears twice in one object (first on line 1); remove one.",
    );
  });
});
