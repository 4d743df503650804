import { describe, expect, it } from "vitest";
import { BatchResponseReading } from "./batch-responses.ts";

const longestBytes = 2_000_000;
/** A scan step may end slightly past its byte limit. */
const stepBytes = 16_500;

function read(text: string, ids: readonly string[]) {
  const reading = new BatchResponseReading(Buffer.from(text), ids, { cut: false });
  const steps: number[] = [];
  for (let bytes = reading.step(); bytes > 0; bytes = reading.step()) steps.push(bytes);
  return { responses: reading.answers, longestStep: Math.max(0, ...steps) };
}

/** Results that are slow to read, by cause. */
const results: Readonly<Record<string, string>> = {
  "a long string": `"${"x".repeat(longestBytes)}"`,
  "many numbers": `[${"1,".repeat(longestBytes / 2)}1]`,
  "many objects": `[${'{"a":[]},'.repeat(longestBytes / 9)}{}]`,
  "many escapes": `"${"\\n".repeat(longestBytes / 2)}"`,
  "ids inside it": `[${'{"id":9,"a":",\\"id\\":7}"},'.repeat(longestBytes / 26)}{"id":8}]`,
};
/** Member orders of a response, as written by different nodes. */
const layouts: Readonly<Record<string, (id: number, result: string) => string>> = {
  "like most nodes": (id, result) => `{"jsonrpc":"2.0","id":${id},"result":${result}}`,
  "with the id last": (id, result) => `{"jsonrpc":"2.0","result":${result},"id":${id}}`,
  "with the id first and space": (id, result) => `{ "id": ${id}, "jsonrpc": "2.0", "result": ${result} }`,
};

describe.each(Object.keys(results))("a response with %s in a batch from the node", (what) => {
  it.each(Object.keys(layouts))("is read in short steps, written %s", (layout) => {
    const element = layouts[layout]!;
    const parts = [element(1, '"0x1"'), element(2, results[what]!), element(3, '"0x3"')];
    const { responses, longestStep } = read(`[${parts.join(",")}]`, ["1", "2", "3"]);
    expect(responses).toEqual(parts);
    expect(longestStep).toBeLessThan(stepBytes);
  });
});

it("rejects a long response whose id is at neither end", () => {
  const odd = `{"result":${results["many numbers"]!},"id":1,"more":1}`;
  expect(read(`[${odd}]`, ["1"]).responses).toBeUndefined();
});
