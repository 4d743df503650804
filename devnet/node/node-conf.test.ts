import { execFileSync } from "node:child_process";
import { cp, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { formatNodeConf } from "../workspace/prepare-workspace.ts";
import { prepareSampleWorkspace, sampleConf } from "../testing/sample-workspace.ts";
import { readNodeConf } from "./node-conf.ts";

async function workspace() {
  const version = "0.16.2";
  const made = await prepareSampleWorkspace(version);
  return { made, text: formatNodeConf({ ...sampleConf, version, workspace: made }) };
}

test("reads a new node.conf, also with comments and relative paths", async () => {
  const { made, text } = await workspace();
  const expected = { httpPort: 18_100, webSocketPort: 18_200, dataDirectory: made.dataDirectory };
  expect(readNodeConf(made.configPath)).toMatchObject(expected);
  await writeFile(made.configPath, `// mine\n${text.replaceAll(`"${made.directory}/`, '"../')}`);
  expect(readNodeConf(made.configPath)).toMatchObject(expected);
});

test("reads comments in Latin-1, as a real node does, but no values that are not UTF-8", async () => {
  const { made, text } = await workspace();
  await writeFile(made.configPath, Buffer.from(`// r\xe9seau\n${text}`, "latin1"));
  expect(readNodeConf(made.configPath)).toMatchObject({ httpPort: 18_100 });
  await writeFile(made.configPath, Buffer.from(text.replace("{", '{ "r\xe9seau": 1,'), "latin1"));
  expect(() => readNodeConf(made.configPath)).toThrow(
    `${made.configPath}: can't be read (line 1, byte offset 4, is not UTF-8; save the file as UTF-8); expected a readable node.conf.`,
  );
});

test.each([
  ["copied", (from: string, to: string) => cp(from, to, { recursive: true })],
  ["moved", (from: string, to: string) => rename(from, to)],
])("rejects the old paths of a %s workspace and prints the command that corrects them", async (_, put) => {
  const { made } = await workspace();
  const place = await makeTestDirectory();
  const directory = join(place, "workspace");
  await put(made.directory, directory);
  const configPath = made.configPath.replace(made.directory, directory);
  const reject = () => readNodeConf(configPath);
  let message = "";
  try {
    reject();
  } catch (error) {
    message = String(error);
  }
  const [, command = ""] = /run (sed -i '.*' \S+)$/.exec(message) ?? [];
  execFileSync("sh", ["-c", command]);
  expect(readNodeConf(configPath).dataDirectory).toBe(join(directory, "data"));
});

test.each([
  ["an empty file", () => "", "line 1, column 1: invalid end of input; expected JSON5."],
  ["a truncated file", (text: string) => text.slice(0, 300), "invalid end of input; expected JSON5."],
  ["a list", () => "[]", "(root): expected an object { … }, not a list"],
  [
    "chain as text",
    (text: string) => text.replace(/"chain": \{[\s\S]*?\n {2}\}/, '"chain": "x"'),
    "chain: expected an object { … }, not text",
  ],
  [
    "a port as a number",
    (text: string) => text.replace('"18100"', "18100"),
    "chain.startup_config.init_config.http_port: expected text, not a number",
  ],
  [
    "a port out of range",
    (text: string) => text.replace('"18100"', '"99999"'),
    "http_port: expected a port number from 1 to 65535, as a string",
  ],
  [
    "a missing key file",
    (text: string) => text.replace("domain.key", "none.key"),
    /chain\.secret_config\.domain_key_path: \S+none\.key does not exist/,
  ],
])("reports the file and key of %s", async (_, change, message) => {
  const { made, text } = await workspace();
  await writeFile(made.configPath, change(text));
  expect(() => readNodeConf(made.configPath)).toThrow(`${made.configPath}: `);
  expect(() => readNodeConf(made.configPath)).toThrow(message);
});
