import { expect, test } from "vitest";
import { parseConfig } from "./document.ts";
import { editConfig } from "./edit.ts";
import type { ConfigChange } from "./monitor-change.ts";
import { readDocument } from "../testing/read-document.ts";

const reason = "desired";
const set = (value: string): ConfigChange => ({ kind: "set", key: "a", value, from: 1, reason });
const create: ConfigChange = { kind: "create", value: { a: 1 }, reason };

test("replaces a monitor_config that is a list with an object", () => {
  const text = '{"chain": {"monitor_config": [1, 2], "b":  3}} // c\n';
  expect(editConfig(readDocument(text), [create])).toEqual({
    ok: true,
    text: '{"chain": {"monitor_config": {\n  "a": 1\n}, "b":  3}} // c\n',
  });
});

test("applies changes in order, each to the result of the previous one", () => {
  const text = '{"chain": {"monitor_config": {"x": 1, "y": 12345678901234567890}}}';
  const changes: readonly ConfigChange[] = [
    { kind: "rename", key: "x", to: "z", reason },
    { kind: "set", key: "z", value: 2, from: 1, reason },
    { kind: "insert", key: "w", value: "v", reason },
    { kind: "remove", key: "y", reason },
  ];
  expect(editConfig(readDocument(text), changes)).toEqual({
    ok: true,
    text: '{"chain": {"monitor_config": {"z": 2,  "w": "v"}}}',
  });
});

test.each([
  ['{"chain": {}, "chain": {"monitor_config": {}}}', "chain twice (line 1, column 15)"],
  ['{"chain": {"monitor_config": {},\r\n "monitor_config": 1}}', "chain.monitor_config twice (line 2, column 2)"],
  ['{"chain": {"monitor_config": {"a": 1, "\\u0061": 2}}}', "chain.monitor_config.a twice (line 1, column 39)"],
])("rejects %s and reports the position of the duplicate key", (text, words) => {
  expect(editConfig(readDocument(text), [create])).toEqual({
    ok: false,
    message: `has the key ${words}; remove one of the two.`,
  });
});

test("rejects a change to a missing key", () => {
  const remove: ConfigChange = { kind: "remove", key: "a", reason };
  expect(editConfig(readDocument('{"chain": {"monitor_config": {}}}'), [remove])).toMatchObject({ ok: false });
});

test("rejects a value that a file with comments in Latin-1 can't hold", () => {
  const parsed = parseConfig(Buffer.from('{"chain": {"monitor_config": {"a": 1}}} // r\xe9seau', "latin1"));
  if (!parsed.ok) throw new Error(parsed.problem.message);
  expect(editConfig(parsed.document, [set("n\xf8de")])).toMatchObject({ ok: false });
  expect(editConfig(parsed.document, [set("node")])).toMatchObject({ ok: true });
});
