import { expect, test } from "vitest";
import { addFacts, createLog } from "./log.ts";
import { version } from "../version.ts";

function written() {
  const lines: Readonly<Record<string, unknown>>[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>);
  return { lines, log: createLog({ service: "test", level: "debug" }, { write }) };
}

test("a line has the fields of the Elastic Common Schema and its own facts", () => {
  const { lines, log } = written();
  log.info({ event: "service-ready", url: "http://127.0.0.1:1", requestId: "r-1", nothing: undefined }, "ready");
  const [{ "@timestamp": at, ...line } = {}] = lines;
  expect(at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(line).toEqual({
    "log.level": "info",
    "ecs.version": "8.17.0",
    "service.name": "test",
    "service.version": version,
    "event.action": "service-ready",
    "http.request.id": "r-1",
    gatehouse: { url: "http://127.0.0.1:1" },
    message: "ready",
  });
});

test("an event with a runbook links to it", () => {
  const { lines, log } = written();
  log.error({ event: "ledger-mismatch" }, "not on the chain");
  expect(lines[0]).toMatchObject({ "event.reference": "docs/runbooks/ledger-mismatch.md" });
});

test("an error, or any other thrown value, is logged with its causes", () => {
  const { lines, log } = written();
  const cause = Object.assign(new RangeError("torn"), { signature: "planted-secret" });
  const err = Object.assign(new TypeError("not read", { cause }), { code: "ENOENT" });
  log.warn({ event: "call-slow", err }, "failed");
  log.debug({ err: "a text" }, "failed");
  expect(lines[0]).toMatchObject({
    "error.type": "TypeError",
    "error.message": "not read: torn",
    "error.code": "ENOENT",
    "error.stack_trace": expect.stringMatching(/TypeError: not read\n[^]*caused by: RangeError: torn/) as string,
  });
  expect(lines[1]).toMatchObject({ "error.message": "a text", message: "failed" });
  expect(JSON.stringify(lines)).not.toContain("planted-secret");
});

test("a line contains no key and no signature at any depth", () => {
  const { lines, log } = written();
  const secret = "planted-secret";
  log.info(
    { signature: secret, payment: { signature: secret, of: { privateKey: secret } }, all: [{ secret }] },
    "shown",
  );
  expect(lines[0]?.["gatehouse"]).toEqual({
    signature: "[secret]",
    payment: { signature: "[secret]", of: { privateKey: "[secret]" } },
    all: [{ secret: "[secret]" }],
  });
  expect(JSON.stringify(lines)).not.toContain(secret);
});

test("facts added to a log appear on each of its lines, with or without their own facts", () => {
  const { lines, log } = written();
  const network = addFacts(log, { network: "eip155:1672" });
  network.info({ event: "service-ready", url: "http://127.0.0.1:1" }, "ready");
  network.info("alone");
  log.info("another's");
  expect(lines.map(({ gatehouse }) => gatehouse)).toEqual([
    { network: "eip155:1672", url: "http://127.0.0.1:1" },
    { network: "eip155:1672" },
    undefined,
  ]);
  expect(lines[0]).toMatchObject({ "event.action": "service-ready", message: "ready" });
});

test("links the runbook that a line specifies", () => {
  const { lines, log } = written();
  log.warn({ event: "condition-failed", runbook: "docs/runbooks/paused.md" }, "paused");
  expect(lines[0]).toMatchObject({ "event.reference": "docs/runbooks/paused.md" });
});
