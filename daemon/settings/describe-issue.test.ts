import { expect, test } from "vitest";
import { z } from "zod";
import { describeExpected } from "./describe-issue.ts";

/** For each of the schema library's issue codes: values that cause it, and the message shown. */
const rejections: Readonly<Record<z.core.$ZodIssue["code"], readonly (readonly [z.ZodType, unknown, string])[]>> = {
  invalid_type: [
    [z.string(), undefined, "missing; expected text"],
    [z.string(), 5, "expected text, not a number"],
    [z.int(), 1.5, "expected a whole number"],
    [z.boolean(), "yes", "expected true or false, not text"],
    [z.array(z.string()), { a: 1 }, "expected a list, not an object { … }"],
    [z.object({}), [], "expected an object { … }, not a list"],
    [z.record(z.string(), z.string()), null, "expected an object { … }, not null"],
  ],
  invalid_value: [
    [z.enum(["a", "b"]), "c", 'expected "a" or "b"'],
    [z.enum(["a", "b", "c"]), "d", 'expected one of "a", "b", "c"'],
    [z.literal(2), 3, "expected 2"],
  ],
  too_small: [
    [z.string().min(1), "", "expected text that is not empty"],
    [z.string().length(3), "a", "expected exactly 3 characters"],
    [z.array(z.string()).min(2), [], "expected at least 2 items"],
    [z.array(z.string()).min(1), [], "expected at least 1 item"],
    [z.number().min(3), 2, "expected 3 or more"],
    [z.number().positive(), 0, "expected more than 0"],
  ],
  too_big: [
    [z.string().max(2), "abc", "expected at most 2 characters"],
    [z.array(z.string()).max(1), ["a", "b"], "expected at most 1 item"],
    [z.number().max(3), 4, "expected 3 or less"],
    [z.number().lt(3), 3, "expected less than 3"],
  ],
  not_multiple_of: [[z.number().multipleOf(5), 3, "expected a multiple of 5"]],
  invalid_format: [
    [z.url(), "x", "expected a URL"],
    [z.cidrv4(), "x", "expected an IPv4 range such as 10.0.0.0/8"],
    [z.string().startsWith("/"), "x", 'expected text that begins with "/"'],
    [z.string().endsWith("/"), "x", 'expected text that ends with "/"'],
    [z.string().includes("/"), "x", 'expected text with "/" in it'],
    [z.string().regex(/^a+$/), "x", "expected text of the form /^a+$/"],
  ],
  unrecognized_keys: [[z.strictObject({}), { a: 1, b: 2 }, 'no such key: "a", "b"; correct or remove it']],
  invalid_key: [[z.record(z.string().min(2), z.string()), { a: "x" }, "expected at least 2 characters"]],
  invalid_element: [
    [z.map(z.object({}), z.string()), new Map([[{}, 1]]), "expected text"],
    [z.set(z.string()), new Set([1]), "expected text, not a number"],
  ],
  invalid_union: [
    [z.union([z.string(), z.array(z.string())]), 5, "expected text or a list"],
    [z.discriminatedUnion("kind", [z.object({ kind: z.literal("a") })]), { kind: "b" }, 'expected "a"'],
    [z.union([z.object({ a: z.string() }), z.number()]), { a: 1 }, "expected text at a or a number"],
    [
      z.union([z.strictObject({}), z.strictObject({ b: z.int().optional() })]),
      { a: 1 },
      'expected no such key: "a"; correct or remove it',
    ],
    [z.union([z.string().refine(() => false, { abort: true }), z.int()]), "x", "expected another value or a number"],
    [
      z.union([z.string().refine(() => false, { abort: true, error: "not now" }), z.int()]),
      "x",
      "expected not now or a number",
    ],
    [z.union([z.union([z.string(), z.boolean()]), z.null()]), 5, "expected text or true or false or null"],
  ],
  custom: [
    [z.string().refine(() => false), "x", "expected another value"],
    [z.string().refine(() => false, "expected a cron expression"), "x", "expected a cron expression"],
  ],
};

const all = Object.entries(rejections).flatMap(([code, cases]) =>
  cases.map(([schema, value, words]) => ({ code, schema, value, words })),
);

test.each(all)("$code: $words", ({ schema, value, words }) => {
  const [issue] = schema.safeParse(value).error?.issues ?? [];
  expect(issue?.message).toBe(words);
  expect(describeExpected(issue!)).not.toMatch(/invalid|received|undefined|unrecognized|too (small|big)|ZodError/i);
});
