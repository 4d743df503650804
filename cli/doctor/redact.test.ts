import { expect, test } from "vitest";
import { createMask } from "#daemon/secrets/mask.ts";
import { Secret } from "#daemon/secrets/secret.ts";
import { redact } from "./redact.ts";
import { measureCpuMs } from "#daemon/testing/thread-cpu.ts";

const key = `0x${"a1b2c3d4".repeat(8)}`;
const token = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl";
const words = "legal winner thank year wave sausage worth useful legal winner thank yellow";
const uuid = "f408412a-e24d-4ca0-99de-8c142223e1b2";
const pem = `-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49\n-----END PRIVATE KEY-----`;

test.each([
  ["a private key", `signer ${key} is used`, key.slice(2)],
  ["a private key without 0x, in upper case", key.slice(2).toUpperCase(), key.slice(2).toUpperCase()],
  ["a signature", `"signature":"0x${"ab".repeat(65)}"`, "abab"],
  ["a token", `Authorization: Bearer ${token}`, "eyJ"],
  ["a bare token", `caller ${token} came`, "eyJ"],
  ["an API key", `x-api-key: sk_live_0123456789abcdef`, "sk_live"],
  ["a key in JSON", `{"apiKey":"sk_live_0123456789abcdef","b":1}`, "sk_live"],
  ["a key in JSON in JSON", String.raw`{"text":"{\"apiKey\":\"sk_live_0123456789\"}"}`, "sk_live"],
  ["a password in a query", `GET /x?password=hunter2-hunter2&a=1`, "hunter2"],
  ["a database password", `postgres://user:hunter2@db/ledger`, "hunter2"],
  ["a variable", `GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY=abcdef`, "abcdef"],
  ["a wallet's seed phrase", `wallet of ${words} is open`, "sausage"],
  ["a PEM key", `key\n${pem}\nend`, "MIGHA"],
  ["a PEM key in JSON", JSON.stringify({ text: pem }), "MIGHA"],
  ["a key in a path", `POST https://rpc.example/v3/0123456789abcdef0123456789abcdef failed`, "0123456789abcdef"],
  ["a key in a path without a host", `GET /v2/Abcd1234Efgh5678Ijkl/x 200`, "Abcd1234"],
  ["a key in a query", `GET /?key=hunter2-hunter2&a=1`, "hunter2"],
  ["a key of dRPC in a query", `https://lb.drpc.example/ogrpc?network=x&dkey=hunter2hunter2`, "hunter2"],
  ["an auth parameter in a query", `wss://rpc.example/ws?auth=hunter2hunter2`, "hunter2"],
  ["a list of keys", `{"keys":["sk_live_0123456789abcdef","b"]}`, "sk_live"],
  ["a second key of a list", `apiKeys: [first-of-them, second-of-them]`, "second-of-them"],
  ["keys in a variable", `GATEHOUSE_FACILITATOR_API_KEYS=first-of-them,second-of-them`, "second-of-them"],
  ["a password on a command line", `exec ./start --password hunter2-hunter2 --port 1`, "hunter2"],
  ["a token of a different authorization scheme", `Authorization: Token hunter2-hunter2`, "hunter2"],
  ["a second key of a list in camel case", `apiKeys=first-of-them,second-of-them`, "second-of-them"],
  ["a second key of a list in YAML", `apiKeys: first-of-them,second-of-them`, "second-of-them"],
  ["a password directly after a short option", `exec mysql -u root -phunter2 ledger`, "hunter2"],
  ["an sshpass password", `sshpass -p hunter2 ssh host`, "hunter2"],
  ["a curl password", `curl -s -u bob:hunter2 https://rpc.example`, "hunter2"],
  ["a passphrase", `unlocked with passphrase hunter-two`, "hunter-two"],
  ["a passphrase on a command line", `gpg --passphrase hunter2 file`, "hunter2"],
  ["a Stripe key", `charged by sk_live_4eC39HqLyjWDarjt`, "4eC39HqLyjWDarjt"],
  ["a GitHub token", `cloned as ghp_16C7e42F292c6912E7710c838347Ae178B4a`, "16C7e42F"],
  ["a GitLab token", `cloned as glpat-16C7e42F292c6912E771`, "16C7e42F"],
  ["a Slack token", `sent by xoxb-1234567890-abcdef`, "1234567890"],
  ["an AWS access key id", `user AKIAIOSFODNN7EXAMPLE`, "IOSFODNN7"],
  ["a truncated PEM key", pem.slice(0, 40), "MIGHA"],
  ["a PEM key without its first line", `${"MIGHAgEAMBMGByqGSM49".repeat(3)}Ag\n-----END PRIVATE KEY-----`, "MIGHA"],
  ["an option with the secret's word first", `./start --token-value hunter2`, "hunter2"],
  ["keys in single quotes", `API_KEYS_PROD='first, second-of-them'`, "second-of-them"],
  ["a second cookie", `Cookie: theme=dark; sid=hunter2`, "hunter2"],
  ["a UUID in a path", `POST https://rpc.example/${uuid}, later`, "f408412a"],
  ["a UUID in a path without a host", `{"path":"/v2/${uuid}"}`, "f408412a"],
  ["a UUID in an encoded path", `{"url":"https:\\/\\/rpc.example\\/${uuid}"} %2F${uuid}`, "f408412a"],
  ["a UUID without letters in a path", `https://rpc.example/11111111-2222-3333-4444-555555555555`, "5555"],
  ["a key in a path before punctuation", `(https://rpc.example/v3/0123456789abcdef0123): timeout`, "0123456789abcdef"],
  ["a secret in the middle of a dotted name", `db.password.value=hunter2`, "hunter2"],
  ["a key in a path of a log entry", `{"path":"/v3/Abcd1234Efgh5678Ijkl"}`, "Abcd1234"],
])("redacts %s", (_, text, secret) => {
  expect(text).toContain(secret);
  expect(redact(text, createMask())).not.toContain(secret);
});

test("redacts secret settings of any shape", () => {
  const mask = createMask();
  mask.hide({ controlToken: new Secret("plain-words-as-a-token") });
  expect(redact("it was plain-words-as-a-token", mask)).toBe("it was [masked]");
});

test("replaces equal hexadecimal numbers with equal marks and others with different marks", () => {
  const other = `0x${"00".repeat(31)}01`;
  const [first, secondHash, third] = redact(`${key} ${key.slice(2).toUpperCase()} ${other}`, createMask()).split(
    /(?<=\]) /,
  );
  expect(first).toMatch(/^\[hex [0-9a-f]{8}\]$/);
  expect(secondHash).toBe(first);
  expect(third).not.toBe(first);
});

test.each([
  "payer 0x70997970C51812dc3A010C7d01b50e0d17dc79C8 at 10.0.0.7:9600",
  "Settlements that are settled in the ledger but missing on the chain, found in the last hour",
  '{"key":"token.address","value":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8"}',
  '{"secret":{"a":1},"tokens":["USDC"]}',
  "GET /status/history?since=2026-11-22 200, key of the metric: gatehouse_condition",
  "gatehouse doctor --url http://127.0.0.1:9600 --json",
  "the key file /srv/node/keys/domain.key is not there",
  "missing keys: storage_cetina_push_port, storage_cetina_job_name",
  '{"domain_key_path":"keys/domain.key","primaryKey":"id"}',
  "the passphrase is wrong; mysql -p asks for it, on port -P 3306",
  "npm_config_cache is set, and node_cli prune -p exists",
  `${uuid} GET /data 200`,
  "TOKEN_ADDRESS=0x70997970C51812dc3A010C7d01b50e0d17dc79C8 SIGNER_PRIVATE_KEY_FILE=/run/secrets/signer",
  '{"tokenDecimals":6,"secretive":"no"} --key-file keys/domain.key --token-name USDC',
  "at /srv/gatehouse-mainnet-0/cli/read-token.ts:14:5, secrets.json: damaged; correct signer.privateKey.file: missing",
])('keeps "%s"', (text) => {
  expect(redact(text, createMask())).toBe(text);
});

test.each(["eyJaaaa-", "TOKEN", "TOKEN_", 'token:"', "-----BEGIN PRIVATE KEY-----", "/a", "a/", "Zz0-", "cookie: "])(
  "takes time proportional to the length of a text of %s",
  (part) => {
    // The first text took two minutes when each pattern searched to its end.
    expect(measureCpuMs(() => redact(part.repeat(400_000 / part.length), createMask()))).toBeLessThan(2_000);
  },
);
