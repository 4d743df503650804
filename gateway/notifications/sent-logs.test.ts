import { expect, it } from "vitest";
import { formatRemovedLog, SentLogs } from "./sent-logs.ts";

const log = (block: number, index: number, bytes = 0) =>
  `{"blockHash":"0x${block}","blockNumber":"0x${block.toString(16)}","logIndex":"0x${index}","data":"${"a".repeat(bytes)}","removed":false}`;

const logOf = (transaction: string) => log(1, 0).replace("{", `{"transactionHash":"${transaction}",`);

it("remembers canonical logs within one shared budget, and knows what it has dropped", () => {
  const budget = { spentBytes: 0 };
  const one = new SentLogs(budget);
  const other = new SentLogs(budget);
  for (const entry of [log(1, 0), log(2, 0), log(2, 1)]) one.note(entry);
  one.note(formatRemovedLog(log(2, 1)));
  expect([one.has(log(2, 0)), one.has(log(2, 1))]).toEqual([true, false]);
  expect(one.above(0n)).toEqual([log(2, 0), log(1, 0)]);
  const megabyte = 1_000_000;
  for (let block = 1; block <= 50; block += 1) other.note(log(block, 0, megabyte));
  expect(budget.spentBytes).toBeLessThanOrEqual(33_554_432);
  expect(other.above(1n)).toBeUndefined();
  expect(other.above(49n)).toEqual([log(50, 0, megabyte)]);
  expect(one.above(0n)).toHaveLength(2);
  other.clear();
  one.clear();
  expect(budget.spentBytes).toBe(0);
});

it("marks an entry as removed even if it has no removed field", () => {
  expect(JSON.parse(formatRemovedLog(log(1, 0)))).toMatchObject({ blockNumber: "0x1", removed: true });
  expect(JSON.parse(formatRemovedLog('{"logIndex":"0x0"}'))).toEqual({ logIndex: "0x0", removed: true });
});

it("distinguishes entries of one block whose index is counted per transaction", () => {
  const sent = new SentLogs({ spentBytes: 0 });
  sent.note(logOf("0xa"));
  expect([sent.has(logOf("0xa")), sent.has(logOf("0xb"))]).toEqual([true, false]);
  sent.note(logOf("0xb"));
  sent.note(formatRemovedLog(logOf("0xa")));
  expect([sent.has(logOf("0xa")), sent.has(logOf("0xb"))]).toEqual([false, true]);
});
